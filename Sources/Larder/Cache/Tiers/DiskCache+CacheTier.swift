// SPDX-License-Identifier: MIT

public import LarderCore

/// A disk as a tier of a ``Cache``: each entry in one lookup, with the cost that the cache
/// gave it and the life that it has left.
extension DiskCache: CacheTier {
  /// Reads the entry under a key, which counts as a use, as the awaited `value(forKey:)` does.
  ///
  /// - Parameter key: The key.
  /// - Returns: The entry, with its remaining time to live; nil if there is none, or it has
  ///   expired.
  /// - Throws: As `value(forKey:)`.
  /// - Complexity: As `value(forKey:)`.
  public func entry(forKey key: Key) async throws -> CacheTierEntry<Value>? {
    try await executor.inPlace { try self.tierEntry(forKey: key, $0) }
  }

  /// Stores an entry under a key, on a thread of the cache's own.
  ///
  /// - Parameters:
  ///   - entry: What to store. An expiration of nil stands for ``expiration``.
  ///   - key: The key.
  /// - Throws: As `set(_:forKey:extendedData:expiration:durability:)`.
  /// - Complexity: As `set(_:forKey:extendedData:expiration:durability:)`.
  public func set(_ entry: CacheTierEntry<Value>, forKey key: Key) async throws {
    try await set(entry, forKey: key, durability: nil)
  }

  /// Stores an entry under a key, on a thread of the cache's own.
  ///
  /// - Parameters:
  ///   - entry: What to store. An expiration of nil stands for ``expiration``.
  ///   - key: The key.
  ///   - durability: What it survives once the call returns; nil: as the configuration
  ///     said.
  /// - Throws: As `set(_:forKey:extendedData:expiration:durability:)`.
  /// - Complexity: As `set(_:forKey:extendedData:expiration:durability:)`.
  public func set(
    _ entry: CacheTierEntry<Value>, forKey key: Key, durability: Durability?
  ) async throws {
    // What is unchanged is looked up first.
    let isInPlace = encodesShortly && !entry.isUnchanged && !waitsForDevice(durability)
    try await executor.inPlace(if: isInPlace) {
      try self.setTier(entry, key, durability, $0)
    }
  }

  /// Removes the entry under a key, if there is one, on a thread of the cache's own.
  ///
  /// - Parameter key: The key.
  /// - Throws: As `remove(forKey:durability:)`.
  /// - Complexity: As `remove(forKey:durability:)`.
  public func remove(forKey key: Key) async throws {
    try await remove(forKey: key, durability: nil)
  }

  /// Removes everything, at once, on a thread of the cache's own.
  ///
  /// - Parameter progress: Told of segments of the log that are deleted; nil leaves them
  ///   to the background.
  /// - Throws: As `removeAll()`; `CancellationError` if `progress` said so.
  /// - Complexity: O(1), as a write; with progress O(segments).
  public func removeAll(progress: CacheProgress?) async throws {
    try await executor.run { try self.blockingRemoveAll(progress: progress) }
  }
}

// As any store in a folder; a tier without one of its own would do nothing.
extension DiskCache {
  /// As the synchronous form, on a thread of the cache's own.
  public func sync() async throws { try await executor.run { try self.sync() } }

  /// As the synchronous form, on a thread of its own.
  public func suspend(calls: SuspendedCalls = .fail) async throws {
    try await executor.runAnyway { try self.suspend(calls: calls) }
  }

  /// As the synchronous form, on a thread of its own.
  public func resume() async throws { try await executor.runAnyway { try self.resume() } }

  /// As the synchronous form, on a thread of the cache's own.
  public func close() async throws { try await executor.runAnyway { try self.close() } }
}

extension DiskCache: BlockingCacheTier {
  func blockingEntry(forKey key: Key) throws -> CacheTierEntry<Value>? {
    try tierEntry(forKey: key)
  }

  @inlinable
  func blockingSet(
    _ entry: CacheTierEntry<Value>, forKey key: Key, durability: Durability?
  ) throws {
    try setTier(entry, key, durability)
  }

  @inlinable
  func blockingRemove(forKey key: Key, durability: Durability?) throws {
    try remove(key, durability)
  }

  func blockingRemoveAll(progress: CacheProgress?) throws {
    if let progress { try removeAll { progress($0, $1) } } else { try removeAll() }
  }

  func blockingContains(_ key: Key) throws -> Bool { try contains(key) }

  func blockingRemove(prefix: Key) throws -> Int { try remove(prefix: prefix) }
}
