// SPDX-License-Identifier: MIT

extension DiskCache {
  /// The keys of entries whose time is not over, listed on a thread of the cache's own.
  ///
  /// - Parameters:
  ///   - selection: Which entries; all by default.
  ///   - order: In which order.
  ///   - limit: How many at most. 0 and less: none.
  /// - Returns: The keys.
  /// - Throws: `.invalidArgument` (the key coder keeps no order or no prefixes),
  ///   `.decoding` (there are keys of another type), `.closed`, `.damaged`, `.io`.
  /// - Complexity: O(log n + entries listed).
  public func keys(
    _ selection: DiskCacheSelection<Key> = .all, order: StoreOrder = .byKey,
    limit: Int = .max
  ) async throws -> [Key] {
    try await executor.run { try self.keys(selection, order: order, limit: limit) }
  }

  /// What there is to know of entries besides their values, listed on a thread of the
  /// cache's own.
  ///
  /// - Parameters:
  ///   - selection: Which entries; all by default.
  ///   - order: In which order.
  ///   - limit: How many at most. 0 and less: none.
  /// - Returns: Keys, sizes, versions, times and extended data.
  /// - Throws: `.invalidArgument` (the key coder keeps no order or no prefixes),
  ///   `.decoding` (there are keys of another type), `.closed`, `.damaged`, `.io`.
  /// - Complexity: O(log n + entries listed).
  public func infos(
    _ selection: DiskCacheSelection<Key> = .all, order: StoreOrder = .byKey,
    limit: Int = .max
  ) async throws -> [DiskCacheInfo<Key>] {
    try await executor.run { try self.infos(selection, order: order, limit: limit) }
  }

  /// Entries with their values, read on a thread of the cache's own.
  ///
  /// - Parameters:
  ///   - selection: Which entries; all by default.
  ///   - order: In which order.
  ///   - limit: How many at most. 0 and less: none.
  /// - Returns: The entries.
  /// - Throws: `.invalidArgument` (the key coder keeps no order or no prefixes),
  ///   `.decoding`, `.closed`, `.damaged`, `.io`.
  /// - Complexity: O(log n + entries listed), and what decoding takes.
  public func entries(
    _ selection: DiskCacheSelection<Key> = .all, order: StoreOrder = .byKey,
    limit: Int = .max
  ) async throws -> [DiskCacheEntry<Key, Value>] {
    try await executor.run { try self.entries(selection, order: order, limit: limit) }
  }

  /// Calls a closure with one entry after the other, on a thread of the cache's own.
  ///
  /// - Parameters:
  ///   - selection: Which entries; all by default.
  ///   - order: In which order.
  ///   - body: Gets an entry, and says whether to go on; it is not asked any more when the
  ///     task is cancelled.
  /// - Throws: `CancellationError`; `.invalidArgument`, `.decoding`, `.closed`, `.io`; what the
  ///   closure throws; `.damaged` behind the last entry that is intact.
  /// - Complexity: O(log n + entries), and what decoding takes.
  public func forEachEntry(
    _ selection: DiskCacheSelection<Key> = .all, order: StoreOrder = .byKey,
    _ body: @escaping @Sendable (DiskCacheEntry<Key, Value>) throws -> Bool
  ) async throws {
    try await executor.runCancellable { goesOn in
      try self.forEachEntry(selection, order: order) { entry in
        if !goesOn() { throw CancellationError() }
        return try body(entry)
      }
    }
  }

  /// What there is to know of one entry besides its value; leaves no trace.
  ///
  /// - Parameter key: The key.
  /// - Returns: Size, version, times and extended data; nil if there is no entry, or
  ///   it has expired.
  /// - Throws: `.encoding` (of the key), `.damaged`, `.closed`, `.io`.
  /// - Complexity: O(log n), and a change of threads.
  public func info(forKey key: Key) async throws -> DiskCacheInfo<Key>? {
    try await executor.run { try self.info(forKey: key) }
  }
}
