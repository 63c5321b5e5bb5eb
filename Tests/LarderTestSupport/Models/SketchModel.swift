// SPDX-License-Identifier: MIT

/// About how often each hash was used: four counters for each, of which the smallest
/// counts.
///
/// The arithmetic is that of `index/policy/sketch.c`: which counters a hash has decides what
/// is admitted, and so what the index holds.
struct SketchModel {
  private static let most: UInt8 = 15
  /// 128 for each block, in four rows of 32.
  private var counters: [UInt8] = []
  /// For how many entries it is made.
  private(set) var entries: UInt64 = 0
  private var uses: UInt64 = 0

  private var blocks: UInt64 { UInt64(counters.count / 128) }

  /// Forgets everything.
  mutating func clear() { self = SketchModel() }

  private func places(_ hash: UInt32) -> [Int] {
    let block = Int((UInt64(hash) * blocks) >> 32)
    let bits = UInt64(hash) &* 0x9E37_79B9_7F4A_7C15
    return (0..<4).map { row in
      block * 128 + row * 32 + Int((bits >> UInt64(64 - 5 * (row + 1))) & 31)
    }
  }

  /// Counts a use.
  mutating func add(_ hash: UInt32) {
    if counters.isEmpty { return }
    for place in places(hash) where counters[place] < Self.most { counters[place] += 1 }
    uses += 1
    halveIfDue()
  }

  private mutating func halveIfDue() {
    if uses < entries * 20 { return }
    counters = counters.map { $0 / 2 }
    uses = 0
  }

  /// How often it was used, up to 15.
  func estimate(_ hash: UInt32) -> UInt8 {
    if counters.isEmpty { return 0 }
    return places(hash).map { counters[$0] }.min() ?? 0
  }

  /// Makes it fit for so many entries: each block becomes several, or one of several
  /// is kept.
  mutating func resize(_ wanted: UInt64) {
    let wanted = max(1, wanted)
    if wanted == entries { return }
    let before = blocks
    let after = max(64, (wanted * 24 + 127) / 128)
    if after != before {
      var other = [UInt8](repeating: 0, count: Int(after) * 128)
      for block in 0..<after where before > 0 {
        let from = Int(block * before / after) * 128
        other.replaceSubrange(
          Int(block) * 128..<Int(block + 1) * 128, with: counters[from..<from + 128])
      }
      counters = other
    }
    entries = wanted
    halveIfDue()
  }
}
