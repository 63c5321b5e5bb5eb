// SPDX-License-Identifier: MIT

import CLarderStore
import LarderCore
import Synchronization

extension EntryCache {
  /// Runs a checkpoint: brings what was written into the index, enforces limits and ages,
  /// and cleans the log.
  ///
  /// Happens by itself too: see ``EntryCacheConfiguration/flushInterval``.
  ///
  /// - Throws: `.readOnly`, `.closed`, `.damaged`; `.diskFull`, `.io` and `.replaced` (its folder
  ///   does not lie there any more), when everything stays in the log and a later flush tries
  ///   again.
  /// - Complexity: O(writes that wait · log n), and some syncs of the device.
  public func flush() throws { try store.handle.flush() }

  /// Makes everything written so far survive a power cut.
  ///
  /// - Throws: `.diskFull` and `.io` if the device failed; `.replaced`, `.readOnly`, `.closed`.
  /// - Complexity: One sync of the device, shared with concurrent callers.
  public func sync() throws { try store.handle.sync() }

  /// Ends the use of the cache: aborts open edits, flushes, syncs and lets others write to
  /// it.
  ///
  /// Calls under way finish first; later ones throw `.closed`. Snapshots stay good. Closing
  /// twice is harmless. A cache that nobody refers to any more closes itself, when its last
  /// editor is gone too.
  ///
  /// - Throws: `.diskFull`, `.io` or `.replaced` if the flush failed; the cache is closed all the
  ///   same, and the log keeps what is not in the index.
  /// - Complexity: As `flush()`.
  public func close() throws { try store.close() }

  /// Whether the cache was closed or deleted.
  ///
  /// - Complexity: O(1).
  public var isClosed: Bool { store.isClosed }

  /// Verifies everything: the files, every entry's checksum and form, that limits and
  /// counts agree with the entries.
  ///
  /// - Parameter progress: Receives the entries done and their total from time to time, and
  ///   gives back whether to go on; nil, the default, if nobody wants to know.
  /// - Returns: What was found; damage is not an error here.
  /// - Throws: `CancellationError` if `progress` said so; `.replaced`, `.closed`, `.io`.
  /// - Complexity: O(bytes of everything). Writes may go on meanwhile.
  public func verify(
    progress: ((_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) throws -> DiskCacheReport {
    var (isIntact, report) = try store.handle.verify(progress: progress)
    var selection = StoreSelection()
    selection.isWithoutValues = true
    var cursor = try StoreCursor(store.handle, selection)
    while try cursor.next({ entry in
      let head = EntryHead(entry.extended, valueCount: valueCount, size: entry.valueCount)
      if head != nil { return }
      report.damaged += 1
      isIntact = false
    }) {}
    return DiskCacheReport(report, isIntact: isIntact)
  }

  /// What opening found in the log: see ``DiskCacheReport/taken``.
  ///
  /// - Throws: `.closed`.
  /// - Complexity: O(1).
  public var recovery: DiskCacheReport {
    get throws {
      let report = try store.handle.recovery()
      return DiskCacheReport(recovery: report)
    }
  }

  /// The cache's figures, all of the same moment; ``DiskCacheStatistics/damaged`` counts
  /// the reads that gave nil because of damage.
  ///
  /// - Throws: `.closed`.
  /// - Complexity: O(1).
  public var statistics: DiskCacheStatistics {
    get throws {
      var raw = try store.handle.statistics()
      raw.damaged &+= store.unreadable.load(ordering: .relaxed)
      return DiskCacheStatistics(raw)
    }
  }

  // MARK: - On a thread of the cache's own

  /// As the synchronous form, on a thread of the cache's own: runs a checkpoint.
  ///
  /// - Throws: `.readOnly`, `.closed`, `.damaged`, `.diskFull`, `.io`.
  /// - Complexity: O(writes that wait · log n), and some syncs of the device.
  public func flush() async throws { try await store.executor.run { try self.flush() } }

  /// As the synchronous form, on a thread of the cache's own: makes everything written so
  /// far survive a power cut.
  ///
  /// - Throws: `.diskFull`, `.io`, `.readOnly`, `.closed`.
  /// - Complexity: One sync of the device.
  public func sync() async throws { try await store.executor.run { try self.sync() } }

  /// As the synchronous form, on a thread of the cache's own: ends the use of the cache.
  ///
  /// - Throws: `.diskFull` or `.io` if the flush failed; the cache is closed all the same.
  /// - Complexity: O(writes that wait · log n), and some syncs of the device.
  public func close() async throws { try await store.executor.runAnyway { try self.close() } }

  /// As the synchronous form, on a thread of the cache's own: verifies everything.
  ///
  /// - Parameter progress: Receives the entries done and their total from time to time, and
  ///   gives back whether to go on; nil, the default, if nobody wants to know. Nor does it
  ///   go on when the task is cancelled.
  /// - Returns: What was found; damage is not an error here.
  /// - Throws: `CancellationError`, `.closed`, `.io`.
  /// - Complexity: O(bytes of everything). Writes may go on meanwhile.
  public func verify(
    progress: (@Sendable (_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) async throws -> DiskCacheReport {
    try await store.executor.runCancellable { goesOn in
      try self.verify { goesOn() && (progress?($0, $1) ?? true) }
    }
  }
}
