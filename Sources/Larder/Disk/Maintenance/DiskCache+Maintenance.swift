// SPDX-License-Identifier: MIT

import CLarderStore
import LarderCore

extension DiskCache {
  /// Verifies everything: the files, every entry's checksum, that limits and counts agree
  /// with the entries.
  ///
  /// - Parameter progress: Receives the entries done and their total from time to time, and
  ///   gives back whether to go on; nil, the default, if nobody wants to know.
  /// - Returns: What was found; damage is not an error here.
  /// - Throws: `CancellationError` if `progress` said so; `.replaced`, `.closed`, `.io`.
  /// - Complexity: O(bytes of everything). Writes may go on meanwhile.
  public func verify(
    progress: ((_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) throws -> StoreReport {
    let (isIntact, report) = try store.verify(progress: progress)
    return StoreReport(report, isIntact: isIntact)
  }
}
