// SPDX-License-Identifier: MIT

import CLarderStore
import LarderCore
import Synchronization

extension Archive {
  /// Runs a checkpoint: brings what was written into the index, removes expired elements,
  /// and cleans the log.
  ///
  /// Happens by itself too: see ``ArchiveConfiguration/flushInterval``.
  ///
  /// - Throws: `.readOnly`, `.closed`, `.damaged`; `.diskFull`, `.io` and `.replaced` (its folder
  ///   does not lie there any more), when everything stays in the log and a later flush tries
  ///   again.
  /// - Complexity: O(writes that wait · log n), and some syncs of the device.
  public func flush() throws { try store.flush() }

  /// Makes everything written so far survive a power cut.
  ///
  /// Concurrent callers share one sync of the device.
  ///
  /// - Throws: `.diskFull` and `.io` if the device failed; `.replaced`, `.readOnly`, `.closed`.
  /// - Complexity: One sync of the device.
  public func sync() throws { try store.sync() }

  /// Ends the use of the archive: flushes it, syncs it and lets others write to it.
  ///
  /// Calls under way finish first; later ones throw `.closed`. Closing twice is harmless. An
  /// archive that nobody refers to any more closes itself.
  ///
  /// - Throws: `.diskFull`, `.io` or `.replaced` if the flush failed; the archive is closed all the
  ///   same, and the log keeps what is not in the index.
  /// - Complexity: As `flush()`.
  public func close() throws { try shutdown() }

  /// Whether the archive was closed or destroyed.
  ///
  /// - Complexity: O(1).
  public var isClosed: Bool { wasClosed.load(ordering: .acquiring) }

  /// Closes the archive and deletes its files, and the folder if nothing else is in it.
  ///
  /// Files that are none of the archive's stay. So does whatever lies at its path once its own
  /// folder was moved or deleted. Destroying twice is harmless.
  ///
  /// - Throws: `.readOnly`, and `.replaced` (the folder that was opened does not lie there any
  ///   more), and then nothing has changed; `.busy` (it was closed before, and somebody else has it
  ///   open for writing: nothing was deleted); `.io`.
  /// - Complexity: O(segments of the log).
  public func destroy() throws {
    if isReadOnly {
      throw LarderError(.readOnly, "\(path) is not deleted: it was opened for reading only.")
    }
    // What could not be flushed is to go, too.
    try store.delete { try shutdown() }
  }

  /// What opening found in the log: see ``DiskCacheReport/taken``.
  ///
  /// - Throws: `.closed`.
  /// - Complexity: O(1).
  public var recovery: DiskCacheReport {
    get throws {
      let report = try store.recovery()
      return DiskCacheReport(recovery: report)
    }
  }

  /// The archive's figures on disk, all of the same moment.
  ///
  /// - Throws: `.closed`.
  /// - Complexity: O(1).
  public var statistics: DiskCacheStatistics {
    get throws { DiskCacheStatistics(try store.statistics()) }
  }

  private func shutdown() throws {
    wasClosed.store(true, ordering: .releasing)
    memory.removeAll()
    // Those who observe a query run into `.closed`, and end.
    defer { changes.notify() }
    try store.shutdown()
  }
}
