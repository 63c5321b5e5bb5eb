// SPDX-License-Identifier: MIT

public import Foundation
public import LarderCore

extension Cache {
  /// Opens a cache in a folder, and creates it if it is missing.
  ///
  /// - Parameters:
  ///   - location: The folder, by its path, its URL or a name: see ``LarderCore/StoreLocation``.
  ///   - coder: Makes bytes of values. Its format is kept in the folder: a coder of another
  ///     one is refused.
  ///   - keyCoder: Makes bytes of keys.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``DiskCache/init(at:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``DiskCache/init(at:coder:keyCoder:configuration:)``.
  public convenience init(
    at location: StoreLocation, coder: Coder<Value>, keyCoder: KeyCoder<Key>,
    configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    let disk = try DiskCache(
      at: location, coder: coder, keyCoder: keyCoder, configuration: configuration.diskOfCache)
    let teller = configuration.furtherTiers.first { $0.copyLifetime != nil && !$0.confirmsCopies }
    if disk.isReadOnly, let teller {
      throw LarderError(
        .invalidArgument,
        """
        The disk cache \(disk.path) is only read, so copies cannot be removed from it when others \
        change them in the tier \(teller.name): have them confirmed, by a tier that can \
        (RemoteDisconnection.revalidate).
        """)
    }
    var tiers: [any CacheTier<Key, Value>] = [disk]
    tiers += configuration.furtherTiers
    self.init(name: configuration.name ?? disk.name, tiers: tiers, configuration: configuration)
  }
}

extension Cache where Key: Codable & SendableMetatype {
  /// Opens a cache with ``KeyCoder/standard`` for its keys, and creates it if it is missing.
  ///
  /// - Parameters:
  ///   - location: The folder, by its path, its URL or a name: see ``LarderCore/StoreLocation``.
  ///   - coder: Makes bytes of values.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``DiskCache/init(at:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``DiskCache/init(at:coder:keyCoder:configuration:)``.
  public convenience init(
    at location: StoreLocation, coder: Coder<Value>,
    configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: location, coder: coder, keyCoder: .standard, configuration: configuration)
  }
}

extension Cache where Key: Codable & SendableMetatype, Value: Codable & SendableMetatype {
  /// Opens a cache with values as CBOR and ``KeyCoder/standard`` for keys, and creates it if it is
  /// missing.
  ///
  /// - Parameters:
  ///   - location: The folder, by its path, its URL or a name: see ``LarderCore/StoreLocation``.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``DiskCache/init(at:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``DiskCache/init(at:coder:keyCoder:configuration:)``.
  @_disfavoredOverload
  public convenience init(
    at location: StoreLocation, configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: location, coder: .cbor, keyCoder: .standard, configuration: configuration)
  }
}

extension Cache where Key: Codable & SendableMetatype, Value == Data {
  /// Opens a cache with values as they are and ``KeyCoder/standard`` for keys, and creates it if it
  /// is missing.
  ///
  /// - Parameters:
  ///   - location: The folder, by its path, its URL or a name: see ``LarderCore/StoreLocation``.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``DiskCache/init(at:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``DiskCache/init(at:coder:keyCoder:configuration:)``.
  public convenience init(
    at location: StoreLocation, configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: location, coder: .data, keyCoder: .standard, configuration: configuration)
  }
}
