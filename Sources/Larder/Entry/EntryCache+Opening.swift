// SPDX-License-Identifier: MIT

extension EntryCache {
  /// Opens a cache on another thread, so that the caller's does not read the log that a
  /// killed process left.
  ///
  /// - Parameter make: Opens the cache.
  /// - Returns: The cache.
  /// - Throws: What the closure throws.
  /// - Complexity: As ``init(path:valueCount:version:keyCoder:configuration:)``.
  public static func opening(
    _ make: @escaping @Sendable () throws -> EntryCache
  ) async throws -> EntryCache {
    try await DiskExecutor("larder.entries.opening").run(make)
  }

  /// Opens the cache of that name in the user's caches folder, and creates it if it is
  /// missing.
  ///
  /// That is `Library/Caches` on Apple systems, else `$XDG_CACHE_HOME` or `~/.cache`. In it the
  /// program has a folder that is named by the identifier of its bundle, or without a bundle by
  /// its executable; the cache lies in that one. All of them are created if they are missing.
  ///
  /// - Parameters:
  ///   - name: The name of a folder: not empty, without slashes.
  ///   - valueCount: How many values each entry has, 1 to 4096.
  ///   - version: What the values mean to the program; 1 by default.
  ///   - keyCoder: Makes bytes of keys.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``init(path:valueCount:version:keyCoder:configuration:)``.
  /// - Complexity: As ``init(path:valueCount:version:keyCoder:configuration:)``.
  public convenience init(
    name: String, valueCount: Int, version: Int = 1, keyCoder: KeyCoder<Key>,
    configuration: EntryCacheConfiguration = .init()
  ) throws {
    try self.init(
      path: try DiskFolder.caches(name), valueCount: valueCount, version: version,
      keyCoder: keyCoder, configuration: configuration)
  }
}

extension EntryCache where Key: Codable & SendableMetatype {
  /// Opens the cache in a folder with ``KeyCoder/standard`` for its keys.
  ///
  /// - Parameters:
  ///   - path: The folder.
  ///   - valueCount: How many values each entry has, 1 to 4096.
  ///   - version: What the values mean to the program; 1 by default.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``init(path:valueCount:version:keyCoder:configuration:)``.
  /// - Complexity: As ``init(path:valueCount:version:keyCoder:configuration:)``.
  public convenience init(
    path: String, valueCount: Int, version: Int = 1,
    configuration: EntryCacheConfiguration = .init()
  ) throws {
    try self.init(
      path: path, valueCount: valueCount, version: version, keyCoder: .standard,
      configuration: configuration)
  }

  /// Opens the cache of that name in the user's caches folder with ``KeyCoder/standard``
  /// for its keys.
  ///
  /// - Parameters:
  ///   - name: The name of a folder: not empty, without slashes.
  ///   - valueCount: How many values each entry has, 1 to 4096.
  ///   - version: What the values mean to the program; 1 by default.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``init(path:valueCount:version:keyCoder:configuration:)``.
  /// - Complexity: As ``init(path:valueCount:version:keyCoder:configuration:)``.
  public convenience init(
    name: String, valueCount: Int, version: Int = 1,
    configuration: EntryCacheConfiguration = .init()
  ) throws {
    try self.init(
      name: name, valueCount: valueCount, version: version, keyCoder: .standard,
      configuration: configuration)
  }
}
