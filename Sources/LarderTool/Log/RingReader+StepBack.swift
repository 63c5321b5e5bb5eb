// SPDX-License-Identifier: MIT
import LarderCore

extension RingReader {
  /// Goes to before the last `count` messages up to number `newest`, but not to before number
  /// `oldest`. Counts messages and not numbers, which may have gaps.
  ///
  /// - Parameter printer: Says which messages count, if that is not all.
  /// - Complexity: O(bytes of those messages, and of those between them).
  func stepBack(
    _ count: UInt64, from newest: UInt64, notBefore oldest: UInt64 = 0,
    printedBy printer: inout MessagePrinter
  ) throws(LarderError) {
    // All: nothing to count.
    if count == .max { return try seek(to: oldest) }
    try seek(to: newest.adding(clamping: 1))
    var remaining = count
    while remaining > 0 {
      guard let record = try previous() else { return }
      guard record.sequence >= oldest else { return try seek(to: oldest) }
      if !printer.selects || printer.isSelected(record) { remaining -= 1 }
    }
  }
}
