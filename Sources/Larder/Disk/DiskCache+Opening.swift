// SPDX-License-Identifier: MIT

public import Foundation
public import LarderCore

extension DiskCache {
  /// Opens a cache on another thread, so that the caller's does not read the log that a
  /// killed process left.
  ///
  /// ```swift
  /// let users = try await DiskCache<User.ID, User>.opening { try DiskCache(name: "users") }
  /// ```
  ///
  /// - Parameter make: Opens the cache.
  /// - Returns: The cache.
  /// - Throws: What the closure throws.
  /// - Complexity: As ``init(path:coder:keyCoder:configuration:)``.
  public static func opening(
    _ make: @escaping @Sendable () throws -> DiskCache
  ) async throws -> DiskCache {
    try await DiskExecutor("larder.disk.opening").run(make)
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
  ///   - coder: Makes bytes of values.
  ///   - keyCoder: Makes bytes of keys.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``init(path:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``init(path:coder:keyCoder:configuration:)``.
  public convenience init(
    name: String, coder: Coder<Value>, keyCoder: KeyCoder<Key>,
    configuration: DiskCacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(
      path: try DiskFolder.caches(name), coder: coder, keyCoder: keyCoder,
      configuration: configuration)
  }
}

extension DiskCache where Key: Codable & SendableMetatype {
  /// Opens the cache in a folder with ``KeyCoder/standard`` for its keys.
  ///
  /// - Parameters:
  ///   - path: The folder.
  ///   - coder: Makes bytes of values.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``init(path:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``init(path:coder:keyCoder:configuration:)``.
  public convenience init(
    path: String, coder: Coder<Value>, configuration: DiskCacheConfiguration<Key, Value> = .init()
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
  /// - Throws: As ``init(path:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``init(path:coder:keyCoder:configuration:)``.
  public convenience init(
    name: String, coder: Coder<Value>, configuration: DiskCacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(name: name, coder: coder, keyCoder: .standard, configuration: configuration)
  }
}

extension DiskCache where Key: Codable & SendableMetatype, Value: Codable & SendableMetatype {
  /// Opens the cache in a folder, with values as CBOR and ``KeyCoder/standard`` for keys.
  ///
  /// - Parameters:
  ///   - path: The folder.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``init(path:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``init(path:coder:keyCoder:configuration:)``.
  @_disfavoredOverload
  public convenience init(
    path: String, configuration: DiskCacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(path: path, coder: .cbor, keyCoder: .standard, configuration: configuration)
  }

  /// Opens the cache of that name in the user's caches folder, with values as CBOR and
  /// ``KeyCoder/standard`` for keys.
  ///
  /// - Parameters:
  ///   - name: The name of a folder: not empty, without slashes.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``init(path:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``init(path:coder:keyCoder:configuration:)``.
  @_disfavoredOverload
  public convenience init(
    name: String, configuration: DiskCacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(name: name, coder: .cbor, keyCoder: .standard, configuration: configuration)
  }
}

extension DiskCache where Key: Codable & SendableMetatype, Value == Data {
  /// Opens the cache in a folder, with values as they are and ``KeyCoder/standard`` for
  /// keys.
  ///
  /// - Parameters:
  ///   - path: The folder.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``init(path:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``init(path:coder:keyCoder:configuration:)``.
  public convenience init(
    path: String, configuration: DiskCacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(path: path, coder: .data, keyCoder: .standard, configuration: configuration)
  }

  /// Opens the cache of that name in the user's caches folder, with values as they are
  /// and ``KeyCoder/standard`` for keys.
  ///
  /// - Parameters:
  ///   - name: The name of a folder: not empty, without slashes.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``init(path:coder:keyCoder:configuration:)``.
  /// - Complexity: As ``init(path:coder:keyCoder:configuration:)``.
  public convenience init(
    name: String, configuration: DiskCacheConfiguration<Key, Value> = .init()
  ) throws {
    try self.init(name: name, coder: .data, keyCoder: .standard, configuration: configuration)
  }
}
