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
}
