// SPDX-License-Identifier: MIT

#if Remote
  /// SplitMix64 (Steele, Lea, Flood 2014), with the ways of drawing that are needed here.
  struct Dice: RandomNumberGenerator {
    private var state: UInt64

    /// - Parameter salt: Another one gives other numbers.
    init(_ seed: UInt64, salt: UInt64 = 0) {
      state = seed
      state = next() ^ (salt &* 0xD6E8_FEB8_6659_FD93)
      state = next()
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

    /// Microseconds, in nanoseconds: short ones more often.
    mutating func microseconds(_ least: Int, _ most: Int) -> UInt64 {
      let part = Double(below(1 << 20)) / Double(1 << 20)
      return UInt64((Double(least) + Double(most - least) * part * part) * 1000)
    }
  }
#endif
