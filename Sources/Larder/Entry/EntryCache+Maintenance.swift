// SPDX-License-Identifier: MIT

import CLarderStore
import LarderCore
import Synchronization

extension EntryCache {
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
  ) throws -> StoreReport {
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
    return StoreReport(report, isIntact: isIntact)
  }
}
