// SPDX-License-Identifier: MIT

public import Foundation

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers for the same seed,
/// everywhere and for ever.
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
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
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
