// SPDX-License-Identifier: MIT

/// SplitMix64 (Steele, Lea, Flood 2014), with the ways of drawing that tests need: the same numbers
/// for the same seed, everywhere and for ever.
public struct Dice: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// The seed is where they begin.
  public init(seed: UInt64) { state = seed }

  /// Another salt gives other numbers.
  public init(_ seed: UInt64, salt: UInt64 = 0) {
    var seeded = Dice(seed: seed)
    var salted = Dice(seed: seeded.next() ^ (salt &* 0xD6E8_FEB8_6659_FD93))
    self.init(seed: salted.next())
  }

  /// The next 64 bits.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.mixed(state)
  }

  /// Of each number another one, in which each bit follows from all of its bits.
  public static func mixed(_ number: UInt64) -> UInt64 {
    var mixed = number
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// From 0 up to, but not, `limit`, which is not 0.
  public mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

  /// One of these and those between them.
  public mutating func between(_ least: Int, _ most: Int) -> Int {
    least + below(most - least + 1)
  }

  /// Whether this is the one time in so many.
  public mutating func oneIn(_ times: Int) -> Bool { below(times) == 0 }

  /// One of them; there is one.
  public mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[below(elements.count)]
  }
}
