// SPDX-License-Identifier: MIT

/// SplitMix64 (Steele, Lea, Flood 2014), with the ways of drawing that are needed here.
struct Dice: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  /// Those of a case; another `salt` gives others.
  init(_ orders: Orders, caseIndex: Int, salt: UInt64) {
    var state = orders.seed
    for letter in "\(orders.family.area) \(orders.family.name)".utf8 {
      state = state &* 31 &+ UInt64(letter)
    }
    var mixer = Dice(seed: state)
    mixer.state ^= UInt64(truncatingIfNeeded: caseIndex) &* 0x9FB2_1C65_1E98_DF25
    mixer.state = mixer.next() ^ (salt &* 0xD6E8_FEB8_6659_FD93)
    self.init(seed: mixer.next())
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// From 0 up to, but not, `limit`, which is not 0.
  mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

  mutating func between(_ least: Int, _ most: Int) -> Int { least + below(most - least + 1) }

  mutating func oneIn(_ times: Int) -> Bool { below(times) == 0 }

  mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }

  /// Some of the numbers below `count`, ascending, at least one.
  mutating func some(below count: Int) -> [Int] {
    var chosen = (0..<count).filter { _ in oneIn(2) }
    if chosen.isEmpty { chosen = [below(count)] }
    return chosen
  }
}
