// SPDX-License-Identifier: MIT

public import Foundation
import LarderCore
import Synchronization

/// A change of one entry that nobody sees before it is committed, and then all at once.
///
/// ```swift
/// if let editor = try pages.edit("home") {
///   try editor.set(head, at: 0)
///   let body = try editor.writer(at: 1)
///   for chunk in chunks { try body.write(chunk) }
///   try editor.commit()
/// }
/// ```
///
/// Values that are not set stay as they are; a new entry wants all of them. While an editor
/// is open, its key has no other, and nobody else stores anything under it. It ends with
/// exactly one `commit(expiration:durability:)` or ``abort()``; one that nobody refers to
/// any more, that a `kill` interrupts or whose cache is closed is aborted, and the entry
/// stays as it was.
///
/// **Concurrency.** Safe to use from any number of threads and tasks at a time.
///
/// **Durability.** Nothing of an editor is on disk before the commit, except in a file
/// without a name for what a writer takes above 256 KiB. The commit is atomic: after a
/// crash, the entry is the old one or the new one.
public final class EntryEditor: Sendable {
  struct State {
    var values: [EntryPiece?]
    /// The entry as it was, once it has been looked at.
    var old: EntrySnapshot?
    /// What made a stream fail, and makes the commit fail.
    var failure: LarderError?
    var isOver = false
  }

  let store: EntryStore
  let key: StoreOwnKey
  /// The version of the entry as it was; 0 if there was none.
  let seen: UInt64
  let state: Mutex<State>

  /// Makes an editor of a key whose edit has begun.
  init(_ store: EntryStore, _ key: StoreOwnKey, seen: UInt64, old: EntrySnapshot?) {
    self.store = store
    self.key = key
    self.seen = seen
    state = Mutex(State(values: [EntryPiece?](repeating: nil, count: store.valueCount), old: old))
  }

  deinit {
    abortUnlessCommitted()
  }

  /// How many values an entry has.
  ///
  /// - Complexity: O(1).
  public var valueCount: Int { store.valueCount }

  /// Sets a value.
  ///
  /// - Parameters:
  ///   - data: Its bytes; they may be none.
  ///   - index: Which one, from 0.
  /// - Throws: `.invalidArgument` (no such value), `.conflict` (the editor is committed or
  ///   aborted), `.closed`.
  /// - Complexity: O(1).
  public func set(_ data: Data, at index: Int) throws { try put(.data(data), index) }

  /// Sets a value to text, as UTF-8.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - index: Which one, from 0.
  /// - Throws: As ``set(_:at:)-(Data,_)``.
  /// - Complexity: O(bytes).
  public func set(_ text: String, at index: Int) throws { try put(.data(Data(text.utf8)), index) }

  /// Begins to write a value piece by piece, from nothing.
  ///
  /// - Parameter index: Which one, from 0.
  /// - Returns: A writer. A value that is set, or another writer that is asked for, at the
  ///   same index takes its place.
  /// - Throws: As ``set(_:at:)-(Data,_)``.
  /// - Complexity: O(1).
  public func writer(at index: Int) throws -> EntryWriter {
    let spool = EntrySpool(folder: store.handle.folder)
    try put(.spool(spool), index)
    return EntryWriter(self, spool, index)
  }

  /// Ends the edit, and leaves the entry as it was.
  ///
  /// - Throws: `.conflict` if the editor was committed or aborted before.
  /// - Complexity: O(1).
  public func abort() throws {
    if end() == nil { throw overFailure }
    store.endEdit(key)
  }

  /// Ends the edit, unless it has ended; for a `defer` that follows `edit`.
  ///
  /// - Complexity: O(1).
  public func abortUnlessCommitted() {
    if end() != nil { store.endEdit(key) }
  }

  /// Notes that a stream failed.
  func fail(_ failure: LarderError) {
    state.withLock { if $0.failure == nil { $0.failure = failure } }
  }

  private func put(_ piece: EntryPiece, _ index: Int) throws(LarderError) {
    try store.check(index)
    if store.isClosed { throw store.closedFailure }
    let result = state.withLock { state in
      Result { () throws(LarderError) in
        if state.isOver { throw overFailure }
        let before = state.values[index]
        state.values[index] = piece
        return before
      }
    }
    if case .spool(let spool)? = try result.get() { spool.seal() }
  }

  /// Takes what was set, once; nil if the editor has ended before. Then the key is the
  /// caller's, to be given back by `endEdit`.
  func end() -> State? {
    let state = state.withLock { state -> State? in
      if state.isOver { return nil }
      let taken = state
      state.isOver = true
      state.values = []
      state.old = nil
      return taken
    }
    guard let state else { return nil }
    for case .spool(let spool)? in state.values { spool.seal() }
    return state
  }

  var overFailure: LarderError {
    LarderError(
      .conflict, "The editor was committed or aborted before; an entry is edited by a new one.")
  }
}
