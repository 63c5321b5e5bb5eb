// SPDX-License-Identifier: MIT

extension DiskCache {
  /// Removes everything, at once; the segments of the log are deleted after that, in the
  /// background.
  ///
  /// - Throws: `.readOnly`, `.closed`, `.diskFull`, `.io`, `.damaged`.
  /// - Complexity: O(1), as a write.
  public func removeAll() throws {
    try store.removeAll(progress: nil)
  }

  /// Removes everything, at once, and deletes the segments of the log before it returns.
  ///
  /// - Parameter progress: Receives how many segments are deleted and how many there were,
  ///   now and then, and gives back whether to go on. The entries are gone before it is
  ///   called first; segments that are left are deleted in the background.
  /// - Throws: `CancellationError` if `progress` said so; as `removeAll()`.
  /// - Complexity: O(segments), and as `checkpoint()`.
  public func removeAll(progress: (_ done: UInt64, _ total: UInt64) -> Bool) throws {
    try withoutActuallyEscaping(progress) { try store.removeAll(progress: $0) }
  }

  /// Removes many keys and their values, all of them or none.
  ///
  /// - Parameter keys: The keys.
  /// - Throws: `.encoding`, `.tooLarge` (the keys have together more than half of
  ///   ``StoreConfiguration/journalCapacity``), and as `removeAll()`.
  /// - Complexity: O(bytes of the keys).
  public func remove(forKeys keys: some Sequence<Key>) throws {
    try batch { batch in
      for key in keys { try batch.remove(forKey: key) }
    }
  }

  /// Removes all entries whose keys begin with another key, some thousand at a time.
  ///
  /// - Parameter prefix: What the keys begin with; an empty one begins every key.
  /// - Returns: How many entries went; one that had expired and was still there is one.
  /// - Throws: `.invalidArgument` (the key coder does not keep prefixes), and as
  ///   `removeAll()`.
  /// - Complexity: O(entries that go).
  @discardableResult
  public func remove(prefix: Key) throws -> Int {
    try DiskCacheSelection.prefix(prefix).raw(keyCoder, .byKey).reduce(0) { removed, raw in
      try removed + raw.prefix.withUnsafeBytes { try store.remove(prefix: $0) }
    }
  }
}
