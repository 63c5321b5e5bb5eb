// SPDX-License-Identifier: MIT
import LarderCore

extension RingReader {
  /// Goes to before the last `count` messages up to number `newest`, but not to before number
  /// `oldest`. Counts messages and not numbers, which may have gaps.
  ///
  /// - Complexity: O(bytes of those messages).
  func stepBack(
    _ count: UInt64, from newest: UInt64, notBefore oldest: UInt64 = 0
  ) throws(LarderError) {
    try seek(to: newest.adding(clamping: 1))
    var remaining = count
    while remaining > 0 {
      guard let record = try previous() else { return }
      guard record.sequence >= oldest else { return try seek(to: oldest) }
      remaining -= 1
    }
  }
}
