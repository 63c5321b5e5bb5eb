// SPDX-License-Identifier: MIT

import LarderCore
import Synchronization

/// What `verify(progress:)` found.
///
/// ```swift
/// let report = try archive.verify()
/// if report.differing + report.unindexed > 0 { try archive.reindex() }
/// ```
///
/// The members of ``files`` can be had from the report itself, too.
///
/// **Concurrency.** A value; safe to pass between threads.
@dynamicMemberLookup
public struct ArchiveReport: Sendable, Hashable {
  /// Whether the files are intact, and every element that can be decoded is found by its `id`, and
  /// by what the indexes give for it.
  public let isIntact: Bool
  /// What was found in the files: elements with their checksums, the index, the log.
  public let files: StoreReport
  /// Whether the indexes in the folder are those that the archive was opened with, and were
  /// compared with the elements.
  public let comparedIndexes: Bool
  /// Elements that are found by something else than what the indexes give for them:
  /// `reindex(progress:)` mends that.
  public let differing: Int
  /// Elements that can be decoded and are in no index; likewise.
  public let unindexed: Int
  /// Elements that lie under another key than that of their `id`, which does not find them: the
  /// type's `id` is another one than when they were inserted.
  public let misplaced: Int
  /// Elements that cannot be decoded. That is no damage; `element(forID:)` says why.
  public let undecodable: Int

  /// What was found in the files.
  ///
  /// - Parameter member: A member of ``files``.
  /// - Complexity: O(1).
  public subscript<Value>(dynamicMember member: KeyPath<StoreReport, Value>) -> Value {
    files[keyPath: member]
  }
}

extension Archive {
  /// Verifies everything: the files, every element's checksum, that limits and
  /// counts agree with the elements, and that each element is found by what the indexes give for
  /// it.
  ///
  /// - Parameter progress: Receives what is done and the total from time to time, and
  ///   gives back whether to go on; nil, the default, if nobody wants to know. Each element counts
  ///   twice: once for its bytes, once for its indexes.
  /// - Returns: What was found; damage is not an error here.
  /// - Throws: `CancellationError` if `progress` said so; `.closed`, `.io`.
  /// - Complexity: O(bytes of everything), and what decoding takes. Writes may go on meanwhile.
  public func verify(
    progress: ((_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) throws -> ArchiveReport {
    var total: UInt64 = 0
    let (isIntact, raw) = try store.verify { done, all in
      total = all
      return progress?(done, 2 * all) ?? true
    }
    let isCurrent = indexesAreCurrent
    return try indexState.lock.withLock { _ in
      var (done, differing, unindexed, undecodable) = (UInt64(0), 0, 0, 0)
      var misplaced = 0
      var cursor = try StoreCursor(store, StoreSelection())
      while try cursor.next({ entry in
        switch compare(entry) {
        case .same: break
        case .differing: differing += 1
        case .unindexed: unindexed += 1
        // One of an earlier version was left out by a migration that moves it.
        case .misplaced where self.isCurrent(entry.extended): misplaced += 1
        case .misplaced: undecodable += 1
        case .undecodable: undecodable += 1
        }
        done += 1
        total = max(total, done)
        if done % 256 == 0, let progress, !progress(total + done, 2 * total) {
          throw CancellationError()
        }
      }) {}
      // Somebody may have begun to build others meanwhile.
      let compares = declaredIndexes.isEmpty || isCurrent && areStillCurrent()
      if !compares { (differing, unindexed) = (0, 0) }
      return ArchiveReport(
        isIntact: isIntact && differing == 0 && unindexed == 0 && misplaced == 0,
        files: StoreReport(raw, isIntact: isIntact), comparedIndexes: compares,
        differing: differing, unindexed: unindexed, misplaced: misplaced,
        undecodable: undecodable)
    }
  }

  private func areStillCurrent() -> Bool {
    // Opening a cursor by index is what tells.
    (try? forEachUnindexed { _ in false }) != nil
  }
}
