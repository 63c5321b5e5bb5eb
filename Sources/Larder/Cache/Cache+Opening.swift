// SPDX-License-Identifier: MIT

public import Foundation
public import LarderCore

extension Cache {
  /// Opens a cache in a folder, and creates it if it is missing; not the folders above.
  ///
  /// - Parameters:
  ///   - path: The folder.
  ///   - coder: Makes bytes of values. Its format is kept in the folder: a coder of another
  ///     one is refused.
  ///   - keyCoder: Makes bytes of keys.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``DiskCache/init(path:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``DiskCache/init(path:coder:keyCoder:configuration:)``.
  public convenience init(
    path: String, coder: Coder<Value>, keyCoder: KeyCoder<Key>,
    configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    let disk = try DiskCache(
      path: path, coder: coder, keyCoder: keyCoder, configuration: configuration.diskOfCache)
    try self.init(over: disk, configuration)
  }

  /// Opens the cache of that name in the user's caches folder, and creates it if it is
  /// missing.
  ///
  /// - Parameters:
  ///   - name: The name of a folder: not empty, without slashes.
  ///   - coder: Makes bytes of values.
  ///   - keyCoder: Makes bytes of keys.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``DiskCache/init(path:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``DiskCache/init(path:coder:keyCoder:configuration:)``.
  public convenience init(
    name: String, coder: Coder<Value>, keyCoder: KeyCoder<Key>,
    configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    let disk = try DiskCache(
      name: name, coder: coder, keyCoder: keyCoder, configuration: configuration.diskOfCache)
    try self.init(over: disk, configuration)
  }

  private convenience init(
    over disk: DiskCache<Key, Value>, _ configuration: CacheConfiguration<Key, Value>
  ) throws {
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
  /// Opens a cache in a folder with ``KeyCoder/standard`` for its keys.
  ///
  /// - Parameters:
  ///   - path: The folder.
  ///   - coder: Makes bytes of values.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``DiskCache/init(path:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``DiskCache/init(path:coder:keyCoder:configuration:)``.
  public convenience init(
    path: String, coder: Coder<Value>, configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(path: path, coder: coder, keyCoder: .standard, configuration: configuration)
  }

  /// Opens the cache of that name in the user's caches folder with ``KeyCoder/standard``
  /// for its keys.
  ///
  /// - Parameters:
  ///   - name: The name of a folder: not empty, without slashes.
  ///   - coder: Makes bytes of values.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``DiskCache/init(path:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``DiskCache/init(path:coder:keyCoder:configuration:)``.
  public convenience init(
    name: String, coder: Coder<Value>, configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(name: name, coder: coder, keyCoder: .standard, configuration: configuration)
  }
}

extension Cache where Key: Codable & SendableMetatype, Value: Codable & SendableMetatype {
  /// Opens a cache in a folder, with values as CBOR and ``KeyCoder/standard`` for keys.
  ///
  /// - Parameters:
  ///   - path: The folder.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``DiskCache/init(path:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``DiskCache/init(path:coder:keyCoder:configuration:)``.
  @_disfavoredOverload
  public convenience init(
    path: String, configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(path: path, coder: .cbor, keyCoder: .standard, configuration: configuration)
  }

  /// Opens the cache of that name in the user's caches folder, with values as CBOR and
  /// ``KeyCoder/standard`` for keys.
  ///
  /// - Parameters:
  ///   - name: The name of a folder: not empty, without slashes.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``DiskCache/init(path:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``DiskCache/init(path:coder:keyCoder:configuration:)``.
  @_disfavoredOverload
  public convenience init(
    name: String, configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(name: name, coder: .cbor, keyCoder: .standard, configuration: configuration)
  }
}

extension Cache where Key: Codable & SendableMetatype, Value == Data {
  /// Opens a cache in a folder, with values as they are and ``KeyCoder/standard`` for keys.
  ///
  /// - Parameters:
  ///   - path: The folder.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``DiskCache/init(path:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``DiskCache/init(path:coder:keyCoder:configuration:)``.
  public convenience init(
    path: String, configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(path: path, coder: .data, keyCoder: .standard, configuration: configuration)
  }

  /// Opens the cache of that name in the user's caches folder, with values as they are and
  /// ``KeyCoder/standard`` for keys.
  ///
  /// - Parameters:
  ///   - name: The name of a folder: not empty, without slashes.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``DiskCache/init(path:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``DiskCache/init(path:coder:keyCoder:configuration:)``.
  public convenience init(
    name: String, configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(name: name, coder: .data, keyCoder: .standard, configuration: configuration)
  }
}
