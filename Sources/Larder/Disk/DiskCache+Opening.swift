// SPDX-License-Identifier: MIT

public import Foundation
public import LarderCore

extension DiskCache where Key: Codable & SendableMetatype {
  /// Opens a cache with ``KeyCoder/standard`` for its keys, and creates it if it is missing.
  ///
  /// - Parameters:
  ///   - location: The folder, by its path, its URL or a name: see ``LarderCore/StoreLocation``.
  ///   - coder: Makes bytes of values.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``init(at:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``init(at:coder:keyCoder:configuration:)``.
  public convenience init(
    at location: StoreLocation, coder: Coder<Value>,
    configuration: DiskCacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: location, coder: coder, keyCoder: .standard, configuration: configuration)
  }
}

extension DiskCache where Key: Codable & SendableMetatype, Value: Codable & SendableMetatype {
  /// Opens a cache with values as CBOR and ``KeyCoder/standard`` for keys, and creates it if it is
  /// missing.
  ///
  /// - Parameters:
  ///   - location: The folder, by its path, its URL or a name: see ``LarderCore/StoreLocation``.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``init(at:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``init(at:coder:keyCoder:configuration:)``.
  @_disfavoredOverload
  public convenience init(
    at location: StoreLocation, configuration: DiskCacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: location, coder: .cbor, keyCoder: .standard, configuration: configuration)
  }
}

extension DiskCache where Key: Codable & SendableMetatype, Value == Data {
  /// Opens a cache with values as they are and ``KeyCoder/standard`` for keys, and creates it if it
  /// is missing.
  ///
  /// - Parameters:
  ///   - location: The folder, by its path, its URL or a name: see ``LarderCore/StoreLocation``.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``init(at:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``init(at:coder:keyCoder:configuration:)``.
  public convenience init(
    at location: StoreLocation, configuration: DiskCacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: location, coder: .data, keyCoder: .standard, configuration: configuration)
  }
}
