// SPDX-License-Identifier: MIT
import LarderTestSupport

extension Dice {
  /// Those of a case; another `salt` gives others.
  init(_ orders: Orders, caseIndex: Int, salt: UInt64) {
    var state = orders.seed
    for letter in "\(orders.family.area) \(orders.family.name)".utf8 {
      state = state &* 31 &+ UInt64(letter)
    }
    let ofCase = UInt64(truncatingIfNeeded: caseIndex) &* 0x9FB2_1C65_1E98_DF25
    self.init(state ^ ofCase, salt: salt)
  }

  /// Some of the numbers below `count`, ascending, at least one.
  mutating func some(below count: Int) -> [Int] {
    var chosen = (0..<count).filter { _ in oneIn(2) }
    if chosen.isEmpty { chosen = [below(count)] }
    return chosen
  }

  /// Microseconds, in nanoseconds: short ones more often.
  mutating func microseconds(_ least: Int, _ most: Int) -> UInt64 {
    let part = Double(below(1 << 20)) / Double(1 << 20)
    return UInt64((Double(least) + Double(most - least) * part * part) * 1000)
  }
}
