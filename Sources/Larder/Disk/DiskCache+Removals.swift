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
  /// - Returns: How many entries went.
  /// - Throws: `.invalidArgument` (the key coder does not keep prefixes), and as
  ///   `removeAll()`.
  /// - Complexity: O(entries that go).
  @discardableResult
  public func remove(prefix: Key) throws -> Int {
    try DiskCacheSelection.prefix(prefix).raw(keyCoder, .byKey).reduce(0) { removed, raw in
      try removed + raw.prefix.withUnsafeBytes { try store.remove(prefix: $0) }
    }
  }

  // MARK: - On a thread of the cache's own

  /// As the synchronous form, on a thread of the cache's own: removes everything, at once.
  ///
  /// - Throws: `.readOnly`, `.closed`, `.diskFull`, `.io`, `.damaged`.
  /// - Complexity: O(1), as a write, and a change of threads.
  public func removeAll() async throws {
    try await executor.run { try self.removeAll() }
  }

  /// As the synchronous form, on a thread of the cache's own: removes everything, at once,
  /// and deletes the segments of the log before it returns.
  ///
  /// - Parameter progress: Receives how many segments are deleted and how many there were,
  ///   now and then, and gives back whether to go on. It is not asked any more when the
  ///   task is cancelled.
  /// - Throws: `CancellationError`; `.readOnly`, `.closed`, `.diskFull`, `.io`, `.damaged`.
  /// - Complexity: O(segments), and as `checkpoint()`.
  public func removeAll(
    progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) -> Bool
  ) async throws {
    try await executor.runCancellable { goesOn in
      try self.removeAll { goesOn() && progress($0, $1) }
    }
  }

  /// As the synchronous form, on a thread of the cache's own: removes many keys and their
  /// values, all of them or none.
  ///
  /// - Parameter keys: The keys.
  /// - Throws: `.encoding`, `.tooLarge`, `.readOnly`, `.closed`, `.diskFull`, `.io`,
  ///   `.damaged`.
  /// - Complexity: O(bytes of the keys).
  public func remove(forKeys keys: some Sequence<Key> & Sendable) async throws {
    try await executor.run { try self.remove(forKeys: keys) }
  }

  /// As the synchronous form, on a thread of the cache's own: removes all entries whose
  /// keys begin with another key.
  ///
  /// - Parameter prefix: What the keys begin with; an empty one begins every key.
  /// - Returns: How many entries went.
  /// - Throws: `.invalidArgument` (the key coder does not keep prefixes), `.readOnly`,
  ///   `.closed`, `.diskFull`, `.io`, `.damaged`.
  /// - Complexity: O(entries that go).
  @discardableResult
  public func remove(prefix: Key) async throws -> Int {
    try await executor.run { try self.remove(prefix: prefix) }
  }
}
