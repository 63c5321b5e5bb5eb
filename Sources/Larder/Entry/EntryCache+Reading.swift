// SPDX-License-Identifier: MIT

import LarderCore

extension EntryCache {
  /// Reads all values of an entry, of one version, which counts as a use.
  ///
  /// Nothing is written by it. Values of more than 20 KiB together are not copied.
  ///
  /// - Parameter key: The key.
  /// - Returns: The values; nil if there is no entry, or it is expired.
  /// - Throws: `.encoding` (of the key), `.invalidArgument` (against the ``keyRule``),
  ///   `.damaged` (as ``EntryCacheConfiguration/readingDamage`` says), `.closed`, `.io`.
  /// - Complexity: O(log n + bytes), one allocation. No disk read if the system has the
  ///   pages in memory.
  public func snapshot(forKey key: Key) throws -> EntrySnapshot? {
    var snapshot: EntrySnapshot?
    try keyCoder.borrow(key) { snapshot = try store.snapshot($0) }
    return snapshot
  }

  /// Reads some values of an entry, of one version, which counts as a use.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - values: Which ones, from 0. The snapshot knows the lengths of the others.
  /// - Returns: As `snapshot(forKey:)`.
  /// - Throws: `.invalidArgument` (no such value), and as `snapshot(forKey:)`.
  /// - Complexity: O(log n + bytes).
  public func snapshot(
    forKey key: Key, values: some Sequence<Int>
  ) throws -> EntrySnapshot? {
    let chosen = try store.choice(values)
    var snapshot: EntrySnapshot?
    try keyCoder.borrow(key) { snapshot = try store.snapshot($0, chosen: chosen) }
    return snapshot
  }

  /// Whether there is an entry under a key; leaves no trace.
  ///
  /// - Parameter key: The key.
  /// - Returns: False also if the entry has expired. Its values are not looked at.
  /// - Throws: `.encoding` (of the key), `.invalidArgument` (against the ``keyRule``),
  ///   `.damaged` (as ``EntryCacheConfiguration/readingDamage`` says), `.closed`, `.io`.
  /// - Complexity: O(log n).
  public func contains(_ key: Key) throws -> Bool {
    var isThere = false
    try keyCoder.borrow(key) { isThere = try store.contains($0) }
    return isThere
  }

  // MARK: - On a thread of the cache's own

  /// As the synchronous form: reads all values of an entry, of one version; on a thread of the
  /// cache's own unless they are in memory.
  ///
  /// - Parameter key: The key.
  /// - Returns: The values; nil if there is no entry, or it is expired.
  /// - Throws: `.encoding` (of the key), `.invalidArgument`, `.damaged`, `.closed`, `.io`.
  /// - Complexity: O(log n + bytes); a change of threads where a device or a lock may have to be
  ///   waited for, and of more than 16 KiB.
  public nonisolated(nonsending) func snapshot(forKey key: Key) async throws -> EntrySnapshot? {
    try await store.executor.read { how in
      var snapshot: EntrySnapshot?
      try self.keyCoder.borrow(key) { snapshot = try self.store.snapshot($0, how) }
      return snapshot
    }
  }

  /// As the synchronous form, on a thread of the cache's own: reads some values of an
  /// entry, of one version.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - values: Which ones, from 0. The snapshot knows the lengths of the others.
  /// - Returns: As `snapshot(forKey:)`.
  /// - Throws: `.encoding` (of the key), `.invalidArgument`, `.damaged`, `.closed`, `.io`.
  /// - Complexity: O(log n + bytes), and a change of threads.
  public func snapshot(
    forKey key: Key, values: some Sequence<Int>
  ) async throws -> EntrySnapshot? {
    let values = Array(values)
    return try await store.executor.run { try self.snapshot(forKey: key, values: values) }
  }

  /// As the synchronous form, on a thread of the cache's own: whether there is an entry
  /// under a key.
  ///
  /// - Parameter key: The key.
  /// - Returns: False also if the entry has expired.
  /// - Throws: `.encoding` (of the key), `.invalidArgument`, `.damaged`, `.closed`, `.io`.
  /// - Complexity: O(log n), and a change of threads.
  public func contains(_ key: Key) async throws -> Bool {
    try await store.executor.run { try self.contains(key) }
  }
}
