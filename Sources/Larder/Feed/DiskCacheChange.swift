// SPDX-License-Identifier: MIT

import LarderCore

/// A change of a ``DiskCache``.
///
/// **Concurrency.** A value; safe to pass between threads.
public enum DiskCacheChange<Key: Sendable, Value: Sendable>: Sendable {
  /// A value was stored under a key; nil if the cache's coder cannot decode it.
  case put(key: Key, value: Value?)
  /// The value under a key was removed, if there was one.
  case removed(key: Key)
  /// Everything was removed.
  case removedAll
}

extension DiskCacheChange: Equatable where Key: Equatable, Value: Equatable {}
extension DiskCacheChange: Hashable where Key: Hashable, Value: Hashable {}

extension DiskCache {
  /// The changes of the cache: snapshots, and named cursors with how far they lag.
  ///
  /// - Complexity: O(1).
  public var changeLog: ChangeLog<DiskCacheChange<Key, Value>> {
    ChangeLog(store: store) { [keyCoder, coder] change in
      switch change.kind {
      case .put:
        let key = try keyCoder.decode(change.key)
        return .put(key: key, value: try? coder.decode(change.value))
      case .removed: return .removed(key: try keyCoder.decode(change.key))
      case .removedAll: return .removedAll
      }
    }
  }

  /// Follows the changes behind a token, whichever process writes them.
  ///
  /// ```swift
  /// for try await event in try cache.changes(since: token) {
  ///   for change in event.changes { print(change) }
  /// }
  /// ```
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
  ) throws -> ChangeFeed<DiskCacheChange<Key, Value>> {
    try changeLog.feed(since: token, named: name, options: options)
  }
}
