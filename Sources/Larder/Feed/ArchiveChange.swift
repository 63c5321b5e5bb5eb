// SPDX-License-Identifier: MIT

import LarderCore

/// A change of an ``Archive``.
///
/// **Concurrency.** A value; safe to pass between threads.
public enum ArchiveChange<Element: Identifiable & Sendable>: Sendable
where Element.ID: Sendable {
  /// An element was inserted or replaced, which the log does not tell apart; nil if it cannot be
  /// decoded. One of an earlier schema version is told as one of the archive's.
  case upserted(id: Element.ID, element: Element?)
  /// The element of that id was deleted, if there was one.
  case removed(id: Element.ID)
  /// Everything was deleted.
  case removedAll
}

extension ArchiveChange: Equatable where Element: Equatable {}

extension Archive {
  /// The changes of the archive: snapshots, and named cursors with how far they lag.
  ///
  /// - Complexity: O(1).
  public var changeLog: ChangeLog<ArchiveChange<Element>> {
    ChangeLog(store: store) { [keyCoder, coder, schema, isReadOnly] change in
      switch change.kind {
      case .put:
        let id = try keyCoder.decode(change.key)
        let element = try? schema.decode(
          change.value, tag: change.extended, coder, isReadOnly: isReadOnly)
        return .upserted(id: id, element: element)
      case .removed: return .removed(id: try keyCoder.decode(change.key))
      case .removedAll: return .removedAll
      }
    }
  }

  /// Follows the changes behind a token, whichever process writes them.
  ///
  /// An element that a reindexing or a migration writes again is told again.
  ///
  /// - Parameters:
  ///   - token: Where to begin; nil, the default, for the next write. Of a named cursor that
  ///     exists, what it acknowledged counts instead.
  ///   - name: 1 to 32 bytes of UTF-8: the named cursor to go on with, or to make. nil, the
  ///     default, for none.
  ///   - options: When writes are told, and how far a named cursor may lag.
  /// - Returns: The feed.
  /// - Throws: As ``ChangeLog/feed(since:named:options:)``.
  /// - Complexity: O(1); O(segments) for the first event. A named cursor syncs a file.
  public func changes(
    since token: ChangeToken? = nil, named name: String? = nil,
    options: ChangeFeedOptions = .init()
  ) throws -> ChangeFeed<ArchiveChange<Element>> {
    try changeLog.feed(since: token, named: name, options: options)
  }
}
