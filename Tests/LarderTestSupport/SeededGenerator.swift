// SPDX-License-Identifier: MIT

public import Foundation

/// The same as ``Dice``, for what takes any generator.
///
/// Put `seed` into the comment of each expectation, so that a failure can be
/// repeated. The environment variable `LARDER_SEED` sets it.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  /// What the generator was started with.
  public let seed: UInt64
  private var state: UInt64

  /// Starts with `seed`, or with the environment's.
  public init(seed: UInt64) {
    let wanted = ProcessInfo.processInfo.environment["LARDER_SEED"].flatMap { UInt64($0) }
    self.seed = wanted ?? seed
    self.state = self.seed
  }

  /// The next 64 bits.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Dice.mixed(state)
  }

  /// A message of `count` bytes.
  public mutating func bytes(_ count: Int) -> Data {
    // Unoptimised, anything but words through a pointer would be most of some tests' time.
    let words = (count + 7) / 8
    let buffer = UnsafeMutablePointer<UInt64>.allocate(capacity: max(1, words))
    defer { buffer.deallocate() }
    var word = 0
    while word < words {
      buffer[word] = next().littleEndian
      word += 1
    }
    return Data(bytes: buffer, count: count)
  }
}

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
  @inline(__always)
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
