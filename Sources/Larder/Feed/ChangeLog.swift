// SPDX-License-Identifier: MIT

import LarderCore

/// The changes of a store: every write in order, for any process that may read its folder.
///
/// ```swift
/// var token = try cache.changeLog.snapshot { mirror.apply($0) }
/// for try await event in try cache.changes(since: token) {
///   mirror.apply(event)
///   token = event.token
/// }
/// ```
///
/// See <doc:ChangeFeed>. It keeps the store open that it belongs to.
///
/// **Concurrency.** Safe to use from any number of threads and tasks at a time.
///
/// **Durability.** A feed tells of a write as soon as it is made, or once it is synced; see
/// ``ChangeFeedOptions/Certainty``.
public struct ChangeLog<Change: Sendable>: Sendable {
  let store: StoreHandle
  let decode: @Sendable (StoreChange) throws -> Change

  /// Follows the changes behind a token.
  ///
  /// - Parameters:
  ///   - token: Where to begin; nil, the default, for the next write. Of a named cursor that
  ///     exists, what it acknowledged counts instead.
  ///   - name: 1 to 32 bytes of UTF-8: the named cursor to go on with, or to make, which takes
  ///     permission to write, also of a cache that is read only. nil, the default, for none.
  ///   - options: When writes are told, and how far a named cursor may lag.
  /// - Returns: The feed.
  /// - Throws: `.invalidArgument` (a name of another length, a token that is none), `.busy`
  ///   (another feed, in any process, has the named cursor), `.full` (there are 30 named
  ///   cursors), `.closed`, `.suspended`, `.notALarderFile`, `.untrusted`, `.diskFull`, `.io`.
  /// - Complexity: O(1); O(segments) for the first event. A named cursor syncs a file.
  public func feed(
    since token: ChangeToken? = nil, named name: String? = nil,
    options: ChangeFeedOptions = .init()
  ) throws -> ChangeFeed<Change> {
    ChangeFeed(try StoreFeed(store, since: token, name: name, options), decode)
  }

  /// Goes over everything that is there now, each as the change that stored it.
  ///
  /// What the caller knows of and the snapshot does not name is gone. What is written meanwhile
  /// is not in the snapshot, and is told by a feed since its token.
  ///
  /// - Parameter body: Gets one entry after the other, in the order of their keys' bytes.
  /// - Returns: The token of that state.
  /// - Throws: `.decoding` (of a key), `.suspended`, `.closed`, `.damaged`, `.io`; and what the
  ///   closure throws.
  /// - Complexity: O(log n + entries), and what decoding takes.
  public func snapshot(_ body: (Change) throws -> Void) throws -> ChangeToken {
    var token: ChangeToken?
    var cursor = try StoreCursor(snapshotOf: store, token: &token)
    while try cursor.next({ try body(decode(StoreChange($0))) }) {}
    if let damage = cursor.damage { throw damage }
    guard let token else { throw store.failure(0, "list the entries of \(store.path)") }
    return token
  }

  /// Behind the newest write, as this store sees it.
  ///
  /// - Throws: `.closed`, `.suspended`, `.damaged`, `.io`.
  /// - Complexity: O(1).
  public var now: ChangeToken {
    get throws { try store.latestChange() }
  }

  /// The named cursors, with how far each lags.
  ///
  /// - Throws: `.closed`, `.suspended`, `.untrusted`, `.io`.
  /// - Complexity: O(segments), and a read of each one's head.
  public var cursors: [ChangeCursor] {
    get throws { try store.changeCursors() }
  }

  /// Deletes a named cursor, which keeps nothing from then on.
  ///
  /// - Parameter name: Its name.
  /// - Returns: false if there is none.
  /// - Throws: `.busy` (a feed has it), `.closed`, `.suspended`, `.untrusted`, `.io`.
  /// - Complexity: O(1).
  @discardableResult
  public func removeCursor(named name: String) throws -> Bool {
    try store.removeChangeCursor(named: name)
  }
}
