// SPDX-License-Identifier: MIT

/// One side of a row of growth: how much longer something takes at a large size than at a small
/// one. Remembers what it took at the small size, without which a growth says little.
final class Growth {
  private var atSmall: [Double] = []

  /// One sample: the larger figure divided by the smaller one's.
  func sample(small: () throws -> Double, large: () throws -> Double) rethrows -> Double {
    let slow = try large()
    let fast = try small()
    atSmall.append(fast)
    return slow / fast
  }

  /// Notes a small size's figure that was taken elsewhere.
  func note(small: Double) { atSmall.append(small) }

  static func remarks(_ size: String, _ ours: Growth, _ theirs: Growth) -> [String] {
    guard !ours.atSmall.isEmpty else { return [] }
    let small = median(ours.atSmall)
    guard !theirs.atSmall.isEmpty else { return ["at \(size): ours \(duration(small))"] }
    let rival = median(theirs.atSmall)
    return [
      """
      at \(size): ours \(duration(small)), rival \(duration(rival)), ratio \
      \(significant(small / rival))
      """
    ]
  }
}
