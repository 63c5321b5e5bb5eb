// SPDX-License-Identifier: MIT

import LarderCore

extension EntryCache {
  /// Begins to change an entry, or to make a new one.
  ///
  /// - Parameter key: The key.
  /// - Returns: An editor; nil if another one is open on the key, or the key is being
  ///   written to at this moment.
  /// - Throws: `.encoding` (of the key), `.invalidArgument` (against the ``keyRule``),
  ///   `.readOnly`, `.closed`, `.io`.
  /// - Complexity: O(log n).
  public func edit(_ key: Key) throws -> EntryEditor? {
    var editor: EntryEditor?
    try keyCoder.borrow(key) { editor = try store.edit(StoreOwnKey($0), of: nil) }
    return editor
  }

  /// Begins to change an entry that has not changed since it was read.
  ///
  /// - Parameter snapshot: The entry as it was read from this cache.
  /// - Returns: An editor; nil if the entry has been overwritten, removed or evicted
  ///   since, another editor is open on its key, or the key is being written to at this
  ///   moment.
  /// - Throws: `.invalidArgument` (a snapshot of another cache), `.readOnly`, `.closed`,
  ///   `.io`.
  /// - Complexity: O(log n).
  public func edit(_ snapshot: EntrySnapshot) throws -> EntryEditor? {
    guard snapshot.bytes.header.reference === store.reference else {
      throw LarderError(.invalidArgument, "The snapshot does not come from the cache at \(path).")
    }
    return try store.edit(snapshot.bytes.key, of: snapshot)
  }
}

extension EntrySnapshot {
  /// Begins to change the entry, if it has not changed since it was read.
  ///
  /// - Returns: An editor; nil if the entry has been overwritten, removed or evicted
  ///   since, another editor is open on its key, or the key is being written to at this
  ///   moment.
  /// - Throws: `.closed` (also if the cache is gone), `.readOnly`, `.io`.
  /// - Complexity: O(log n).
  public func edit() throws -> EntryEditor? {
    try openStore().edit(bytes.key, of: self)
  }

  func openStore() throws(LarderError) -> EntryStore {
    if let store = bytes.header.reference.store { return store }
    throw LarderError(.closed, "The snapshot's cache no longer exists; read the entry again.")
  }
}

extension EntryStore {
  /// Begins an edit.
  ///
  /// - Parameter snapshot: What the entry must still be; nil if that does not matter.
  func edit(_ key: StoreOwnKey, of snapshot: EntrySnapshot?) throws -> EntryEditor? {
    try key.withKey { try keyRule.check($0) }
    guard try beginEdit(key) else { return nil }
    do {
      // Looked at only now, when nobody else writes under the key.
      let seen = try key.withKey { try version($0) } ?? 0
      if snapshot == nil || snapshot?.version == seen {
        let old = snapshot.flatMap { $0.isWhole ? $0 : nil }
        return EntryEditor(self, key, seen: seen, old: old)
      }
    } catch {
      endEdit(key)
      throw error
    }
    endEdit(key)
    return nil
  }
}
