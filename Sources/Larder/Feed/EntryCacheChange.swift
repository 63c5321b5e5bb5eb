// SPDX-License-Identifier: MIT

public import Foundation
import LarderCore

/// A change of an ``EntryCache``.
///
/// **Concurrency.** A value; safe to pass between threads.
public enum EntryCacheChange<Key: Sendable>: Sendable {
  /// The values under a key were stored; nil if they are not of the cache's form.
  case put(key: Key, values: [Data]?)
  /// The entry under a key was removed, if there was one.
  case removed(key: Key)
  /// Everything was removed.
  case removedAll
}

extension EntryCacheChange: Equatable where Key: Equatable {}
extension EntryCacheChange: Hashable where Key: Hashable {}

extension EntryCache {
  /// The changes of the cache: snapshots, and named cursors with how far they lag.
  ///
  /// - Complexity: O(1).
  public var changeLog: ChangeLog<EntryCacheChange<Key>> {
    ChangeLog(store: store.handle) { [keyCoder, valueCount] change in
      switch change.kind {
      case .put:
        let key = try keyCoder.decode(change.key)
        return .put(key: key, values: EntryHead.values(of: change, valueCount))
      case .removed: return .removed(key: try keyCoder.decode(change.key))
      case .removedAll: return .removedAll
      }
    }
  }

  /// Follows the changes behind a token, whichever process writes them.
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
  ) throws -> ChangeFeed<EntryCacheChange<Key>> {
    try changeLog.feed(since: token, named: name, options: options)
  }
}

extension EntryHead {
  /// The values of an entry that was stored; nil if it is not one of so many.
  fileprivate static func values(of change: StoreChange, _ valueCount: Int) -> [Data]? {
    let size = UInt64(change.value.count)
    guard let head = EntryHead(change.extended, valueCount: valueCount, size: size) else {
      return nil
    }
    var offset = 0
    return (0..<valueCount).map { index in
      let end = offset + Int(head.length(at: index))
      defer { offset = end }
      return Data(copied: UnsafeRawBufferPointer(rebasing: change.value[offset..<end]))
    }
  }
}
