// SPDX-License-Identifier: MIT

public import Foundation
public import Larder
public import LarderCore

// Opening by `path:` or `name:`, which is `at:` by now.

extension DiskCache {
  /// Opens the store in a folder.
  ///
  /// - Throws: As `init(at:coder:keyCoder:configuration:)`.
  /// - Complexity: As `init(at:coder:keyCoder:configuration:)`.
  @available(*, deprecated, renamed: "init(at:coder:keyCoder:configuration:)")
  public convenience init(
    path: String, coder: Coder<Value>, keyCoder: KeyCoder<Key>,
    configuration: DiskCacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: .path(path), coder: coder, keyCoder: keyCoder, configuration: configuration)
  }

  /// Opens the store of that name.
  ///
  /// - Throws: As `init(at:coder:keyCoder:configuration:)`.
  /// - Complexity: As `init(at:coder:keyCoder:configuration:)`.
  @available(*, deprecated, renamed: "init(at:coder:keyCoder:configuration:)")
  public convenience init(
    name: String, coder: Coder<Value>, keyCoder: KeyCoder<Key>,
    configuration: DiskCacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: .named(name), coder: coder, keyCoder: keyCoder, configuration: configuration)
  }
}

extension DiskCache where Key: Codable & SendableMetatype {
  /// Opens the store in a folder.
  ///
  /// - Throws: As `init(at:coder:configuration:)`.
  /// - Complexity: As `init(at:coder:configuration:)`.
  @available(*, deprecated, renamed: "init(at:coder:configuration:)")
  public convenience init(
    path: String, coder: Coder<Value>, configuration: DiskCacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: .path(path), coder: coder, configuration: configuration)
  }

  /// Opens the store of that name.
  ///
  /// - Throws: As `init(at:coder:configuration:)`.
  /// - Complexity: As `init(at:coder:configuration:)`.
  @available(*, deprecated, renamed: "init(at:coder:configuration:)")
  public convenience init(
    name: String, coder: Coder<Value>, configuration: DiskCacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: .named(name), coder: coder, configuration: configuration)
  }
}

extension DiskCache where Key: Codable & SendableMetatype, Value: Codable & SendableMetatype {
  /// Opens the store in a folder.
  ///
  /// - Throws: As `init(at:configuration:)`.
  /// - Complexity: As `init(at:configuration:)`.
  @available(*, deprecated, renamed: "init(at:configuration:)")
  @_disfavoredOverload
  public convenience init(
    path: String, configuration: DiskCacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: .path(path), configuration: configuration)
  }

  /// Opens the store of that name.
  ///
  /// - Throws: As `init(at:configuration:)`.
  /// - Complexity: As `init(at:configuration:)`.
  @available(*, deprecated, renamed: "init(at:configuration:)")
  @_disfavoredOverload
  public convenience init(
    name: String, configuration: DiskCacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: .named(name), configuration: configuration)
  }
}

extension DiskCache where Key: Codable & SendableMetatype, Value == Data {
  /// Opens the store in a folder.
  ///
  /// - Throws: As `init(at:configuration:)`.
  /// - Complexity: As `init(at:configuration:)`.
  @available(*, deprecated, renamed: "init(at:configuration:)")
  public convenience init(
    path: String, configuration: DiskCacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: .path(path), configuration: configuration)
  }

  /// Opens the store of that name.
  ///
  /// - Throws: As `init(at:configuration:)`.
  /// - Complexity: As `init(at:configuration:)`.
  @available(*, deprecated, renamed: "init(at:configuration:)")
  public convenience init(
    name: String, configuration: DiskCacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: .named(name), configuration: configuration)
  }
}

extension Cache {
  /// Opens the store in a folder.
  ///
  /// - Throws: As `init(at:coder:keyCoder:configuration:)`.
  /// - Complexity: As `init(at:coder:keyCoder:configuration:)`.
  @available(*, deprecated, renamed: "init(at:coder:keyCoder:configuration:)")
  public convenience init(
    path: String, coder: Coder<Value>, keyCoder: KeyCoder<Key>,
    configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: .path(path), coder: coder, keyCoder: keyCoder, configuration: configuration)
  }

  /// Opens the store of that name.
  ///
  /// - Throws: As `init(at:coder:keyCoder:configuration:)`.
  /// - Complexity: As `init(at:coder:keyCoder:configuration:)`.
  @available(*, deprecated, renamed: "init(at:coder:keyCoder:configuration:)")
  public convenience init(
    name: String, coder: Coder<Value>, keyCoder: KeyCoder<Key>,
    configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: .named(name), coder: coder, keyCoder: keyCoder, configuration: configuration)
  }
}

extension Cache where Key: Codable & SendableMetatype {
  /// Opens the store in a folder.
  ///
  /// - Throws: As `init(at:coder:configuration:)`.
  /// - Complexity: As `init(at:coder:configuration:)`.
  @available(*, deprecated, renamed: "init(at:coder:configuration:)")
  public convenience init(
    path: String, coder: Coder<Value>, configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: .path(path), coder: coder, configuration: configuration)
  }

  /// Opens the store of that name.
  ///
  /// - Throws: As `init(at:coder:configuration:)`.
  /// - Complexity: As `init(at:coder:configuration:)`.
  @available(*, deprecated, renamed: "init(at:coder:configuration:)")
  public convenience init(
    name: String, coder: Coder<Value>, configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: .named(name), coder: coder, configuration: configuration)
  }
}

extension Cache where Key: Codable & SendableMetatype, Value: Codable & SendableMetatype {
  /// Opens the store in a folder.
  ///
  /// - Throws: As `init(at:configuration:)`.
  /// - Complexity: As `init(at:configuration:)`.
  @available(*, deprecated, renamed: "init(at:configuration:)")
  @_disfavoredOverload
  public convenience init(
    path: String, configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: .path(path), configuration: configuration)
  }

  /// Opens the store of that name.
  ///
  /// - Throws: As `init(at:configuration:)`.
  /// - Complexity: As `init(at:configuration:)`.
  @available(*, deprecated, renamed: "init(at:configuration:)")
  @_disfavoredOverload
  public convenience init(
    name: String, configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: .named(name), configuration: configuration)
  }
}

extension Cache where Key: Codable & SendableMetatype, Value == Data {
  /// Opens the store in a folder.
  ///
  /// - Throws: As `init(at:configuration:)`.
  /// - Complexity: As `init(at:configuration:)`.
  @available(*, deprecated, renamed: "init(at:configuration:)")
  public convenience init(
    path: String, configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: .path(path), configuration: configuration)
  }

  /// Opens the store of that name.
  ///
  /// - Throws: As `init(at:configuration:)`.
  /// - Complexity: As `init(at:configuration:)`.
  @available(*, deprecated, renamed: "init(at:configuration:)")
  public convenience init(
    name: String, configuration: CacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(at: .named(name), configuration: configuration)
  }
}

extension EntryCache {
  /// Opens the store in a folder.
  ///
  /// - Throws: As `init(at:valueCount:version:keyCoder:configuration:)`.
  /// - Complexity: As `init(at:valueCount:version:keyCoder:configuration:)`.
  @available(*, deprecated, renamed: "init(at:valueCount:version:keyCoder:configuration:)")
  public convenience init(
    path: String, valueCount: Int, version: Int = 1, keyCoder: KeyCoder<Key>,
    configuration: EntryCacheConfiguration = .init()
  ) throws {
    try self.init(
      at: .path(path), valueCount: valueCount, version: version, keyCoder: keyCoder,
      configuration: configuration)
  }

  /// Opens the store of that name.
  ///
  /// - Throws: As `init(at:valueCount:version:keyCoder:configuration:)`.
  /// - Complexity: As `init(at:valueCount:version:keyCoder:configuration:)`.
  @available(*, deprecated, renamed: "init(at:valueCount:version:keyCoder:configuration:)")
  public convenience init(
    name: String, valueCount: Int, version: Int = 1, keyCoder: KeyCoder<Key>,
    configuration: EntryCacheConfiguration = .init()
  ) throws {
    try self.init(
      at: .named(name), valueCount: valueCount, version: version, keyCoder: keyCoder,
      configuration: configuration)
  }
}

extension EntryCache where Key: Codable & SendableMetatype {
  /// Opens the store in a folder.
  ///
  /// - Throws: As `init(at:valueCount:version:configuration:)`.
  /// - Complexity: As `init(at:valueCount:version:configuration:)`.
  @available(*, deprecated, renamed: "init(at:valueCount:version:configuration:)")
  public convenience init(
    path: String, valueCount: Int, version: Int = 1,
    configuration: EntryCacheConfiguration = .init()
  ) throws {
    try self.init(
      at: .path(path), valueCount: valueCount, version: version, configuration: configuration)
  }

  /// Opens the store of that name.
  ///
  /// - Throws: As `init(at:valueCount:version:configuration:)`.
  /// - Complexity: As `init(at:valueCount:version:configuration:)`.
  @available(*, deprecated, renamed: "init(at:valueCount:version:configuration:)")
  public convenience init(
    name: String, valueCount: Int, version: Int = 1,
    configuration: EntryCacheConfiguration = .init()
  ) throws {
    try self.init(
      at: .named(name), valueCount: valueCount, version: version, configuration: configuration)
  }
}

extension Archive {
  /// Opens the store in a folder.
  ///
  /// - Throws: As `init(at:coder:indexes:schema:configuration:)`.
  /// - Complexity: As `init(at:coder:indexes:schema:configuration:)`.
  @available(*, deprecated, renamed: "init(at:coder:indexes:schema:configuration:)")
  public convenience init(
    path: String, coder: Coder<Element>, indexes: [ArchiveIndex<Element>] = [],
    schema: ArchiveSchema<Element> = .init(), configuration: ArchiveConfiguration = .init()
  ) throws {
    try self.init(
      at: .path(path), coder: coder, indexes: indexes, schema: schema, configuration: configuration)
  }

  /// Opens the store of that name.
  ///
  /// - Throws: As `init(at:coder:indexes:schema:configuration:)`.
  /// - Complexity: As `init(at:coder:indexes:schema:configuration:)`.
  @available(*, deprecated, renamed: "init(at:coder:indexes:schema:configuration:)")
  public convenience init(
    name: String, coder: Coder<Element>, indexes: [ArchiveIndex<Element>] = [],
    schema: ArchiveSchema<Element> = .init(), configuration: ArchiveConfiguration = .init()
  ) throws {
    try self.init(
      at: .named(name), coder: coder, indexes: indexes, schema: schema, configuration: configuration
    )
  }
}

extension Archive where Element: Codable {
  /// Opens the store in a folder.
  ///
  /// - Throws: As `init(at:indexes:schema:configuration:)`.
  /// - Complexity: As `init(at:indexes:schema:configuration:)`.
  @available(*, deprecated, renamed: "init(at:indexes:schema:configuration:)")
  @_disfavoredOverload
  public convenience init(
    path: String, indexes: [ArchiveIndex<Element>] = [], schema: ArchiveSchema<Element> = .init(),
    configuration: ArchiveConfiguration = .init()
  ) throws {
    try self.init(at: .path(path), indexes: indexes, schema: schema, configuration: configuration)
  }

  /// Opens the store of that name.
  ///
  /// - Throws: As `init(at:indexes:schema:configuration:)`.
  /// - Complexity: As `init(at:indexes:schema:configuration:)`.
  @available(*, deprecated, renamed: "init(at:indexes:schema:configuration:)")
  @_disfavoredOverload
  public convenience init(
    name: String, indexes: [ArchiveIndex<Element>] = [], schema: ArchiveSchema<Element> = .init(),
    configuration: ArchiveConfiguration = .init()
  ) throws {
    try self.init(at: .named(name), indexes: indexes, schema: schema, configuration: configuration)
  }
}

extension Archive where Element: Archivable {
  /// Opens the store in a folder.
  ///
  /// - Throws: As `init(at:configuration:)`.
  /// - Complexity: As `init(at:configuration:)`.
  @available(*, deprecated, renamed: "init(at:configuration:)")
  public convenience init(
    path: String, configuration: ArchiveConfiguration = .init()
  ) throws {
    try self.init(at: .path(path), configuration: configuration)
  }

  /// Opens the store of that name.
  ///
  /// - Throws: As `init(at:configuration:)`.
  /// - Complexity: As `init(at:configuration:)`.
  @available(*, deprecated, renamed: "init(at:configuration:)")
  public convenience init(
    name: String, configuration: ArchiveConfiguration = .init()
  ) throws {
    try self.init(at: .named(name), configuration: configuration)
  }
}

extension DiskCache {
  /// Frees all room that replaced and removed entries left.
  ///
  /// - Throws: As `compact(at:trustsOtherUsers:progress:)`.
  /// - Complexity: As `compact(at:trustsOtherUsers:progress:)`.
  @available(*, deprecated, renamed: "compact(at:trustsOtherUsers:progress:)")
  @discardableResult
  public static func compact(
    path: String, trustsOtherUsers: Bool = false,
    progress: ((_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) throws -> StoreCompaction {
    try compact(at: .path(path), trustsOtherUsers: trustsOtherUsers, progress: progress)
  }

  /// Rebuilds the index of a closed cache.
  ///
  /// - Throws: As `rebuild(at:trustsOtherUsers:keepsUncertain:progress:)`.
  /// - Complexity: As `rebuild(at:trustsOtherUsers:keepsUncertain:progress:)`.
  @available(*, deprecated, renamed: "rebuild(at:trustsOtherUsers:keepsUncertain:progress:)")
  public static func rebuild(
    path: String, trustsOtherUsers: Bool = false,
    progress: ((_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) throws -> StoreReport {
    try rebuild(at: .path(path), trustsOtherUsers: trustsOtherUsers, progress: progress)
  }

  /// Copies every intact entry of a folder into a new cache.
  ///
  /// - Throws: As `salvage(from:to:keepsUncertain:progress:)`.
  /// - Complexity: As `salvage(from:to:keepsUncertain:progress:)`.
  @available(*, deprecated, message: "Say where: .path(source), .path(target).")
  @_disfavoredOverload
  public static func salvage(
    from source: String, to target: String,
    progress: ((_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) throws -> StoreReport {
    try salvage(from: .path(source), to: .path(target), progress: progress)
  }

  /// Deletes the cache in a folder that is closed.
  ///
  /// - Throws: As `delete(at:)`.
  /// - Complexity: As `delete(at:)`.
  @available(*, deprecated, renamed: "delete(at:)")
  public static func delete(path: String) throws { try delete(at: .path(path)) }
}
