// SPDX-License-Identifier: MIT

import CLarderStore
import LarderCore
import Synchronization

/// Whether the indexes in an archive's folder are those that the archive was opened with.
final class ArchiveIndexState: Sendable {
  /// If not, queries do without.
  let areCurrent = Atomic(false)
  /// Whether there may be elements that are in no index because they cannot be decoded. Only a
  /// rebuild adds some.
  let haveUnindexed = Atomic(false)
  /// A content format whose indexes turned out to be somebody else's; 0 for none.
  let rejected = Atomic<UInt64>(0)
  /// Held while they are built, adopted or verified.
  let lock = Mutex(())
}

extension Archive {
  /// What elements are found by besides their primary key: what the archive was opened
  /// with. Nothing as long as the folder has other indexes, be it that the archive only reads, or
  /// that a `reindex(progress:)` is under way or was stopped: then queries look at every element.
  ///
  /// - Complexity: O(1); a look at the folder while that is so.
  public var indexes: [ArchiveIndex<Element>] { indexesAreCurrent ? declaredIndexes : [] }

  /// Whether queries may use indexes.
  @usableFromInline
  var indexesAreCurrent: Bool {
    if indexState.areCurrent.load(ordering: .acquiring) { return true }
    return isReadOnly && !declaredIndexes.isEmpty && adoptIndexes()
  }

  /// Runs a query, and again if it met indexes that somebody else has built meanwhile, or damage in
  /// them: then without them.
  ///
  /// A cursor by index only opens on a snapshot of the content format that was adopted. So what
  /// another process, or a rebuild, has begun to write is never taken for what it was.
  @inlinable
  func withCurrentIndexes<R>(_ body: (_ usesIndexes: Bool) throws -> R) throws -> R {
    var attempt = 0
    var areDamaged = false
    while true {
      attempt += 1
      do {
        let result = try body(!areDamaged && indexesAreCurrent)
        try checkVersion()
        return result
      } catch {
        areDamaged = try passOver(error, attempt) || areDamaged
      }
    }
  }

  /// Throws any other error than that of indexes that are somebody else's.
  ///
  /// - Returns: Whether they are damaged.
  @usableFromInline
  func passOver(_ error: any Error, _ attempt: Int) throws -> Bool {
    guard let cause = (error as? LarderError)?.cause as? StoreHasOtherIndexes else { throw error }
    if cause.areDamaged { return true }
    // A writer knows itself: its rebuild began, or ended, when the cursor was opened.
    if isReadOnly || attempt > 3 { indexState.areCurrent.store(false, ordering: .releasing) }
    return false
  }

  /// Throws `.incompatibleVersion` if another process has migrated the folder to a later version
  /// than the archive's: what was not found may have another primary key now.
  ///
  /// - Complexity: O(segments of the log) for an archive that only reads; O(1) for others, which no
  ///   other process writes to.
  @usableFromInline
  func checkVersion() throws {
    guard isReadOnly, !schema.readsLaterVersions,
      // What else is wrong, the call itself has met.
      let number = try? store.statistics(waits: false).content_format,
      let there = ArchiveFormat(number: number), there.version > schema.version
    else { return }
    throw LarderError(
      .incompatibleVersion,
      """
      The elements of \(path) were migrated to schema version \(there.version) by another process, \
      and this one knows version \(schema.version).
      """)
  }

  /// Uses the indexes in the folder if they are certainly those that were declared.
  private func adoptIndexes() -> Bool {
    indexState.lock.withLock { _ in
      if indexState.areCurrent.load(ordering: .acquiring) { return true }
      // Whatever is wrong, the query that follows meets it, too.
      guard let number = try? store.statistics().content_format else { return false }
      return (try? adoptIndexes(number)) ?? false
    }
  }

  /// - Parameter number: The content format of the folder.
  func adoptIndexes(_ number: UInt64, _ sample: ArchiveSample? = nil) throws -> Bool {
    let isDeclared = ArchiveFormat(number: number)?.hasElements(as: format) == true
    if !isDeclared || number == indexState.rejected.load(ordering: .acquiring) { return false }
    var isOurs = try (sample ?? takeSample()).differing == 0
    if isOurs {
      // Fails if the format has changed since the sample was taken.
      try forEachUnindexed(number) { entry in
        if (try? decode(entry)) != nil { isOurs = false }
        return isOurs
      }
    }
    if isOurs {
      try useIndexes(number)
    } else {
      indexState.rejected.store(number, ordering: .releasing)
    }
    return isOurs
  }

  /// From now on queries use the indexes, which were built or checked.
  ///
  /// A query that is under way then meets another format than it began with, and begins again.
  func useIndexes(_ number: UInt64) throws {
    var haveUnindexed = false
    try forEachUnindexed(number) { _ in
      haveUnindexed = true
      return false
    }
    indexState.haveUnindexed.store(haveUnindexed, ordering: .releasing)
    store.indexFormat.store(number, ordering: .releasing)
    indexState.areCurrent.store(!declaredIndexes.isEmpty, ordering: .releasing)
  }
}
