// SPDX-License-Identifier: MIT
import Foundation

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): the same numbers in every run.
struct SplitMix: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// From 0 up to 1.
  mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}

enum Keys {
  /// Integers from all over their range, no two alike: the generator is a permutation.
  static func integers(_ count: Int, seed: UInt64 = 1) -> [Int] {
    var generator = SplitMix(seed: seed)
    return (0..<count).map { _ in Int(truncatingIfNeeded: generator.next()) }
  }

  /// Strings of 20 ASCII bytes, too long to be stored without memory of their own. Two calls give
  /// equal strings that share no memory, as a key that arrives and a key that is stored do not.
  static func strings(_ count: Int) -> [String] {
    integers(count).map { key in
      let digits = String(UInt(bitPattern: key), radix: 16)
      return "key-" + String(repeating: "0", count: 16 - digits.count) + digits
    }
  }

  /// Another order of the same elements, so that what was inserted one after the other is not read
  /// one after the other.
  static func shuffled<Element>(_ elements: [Element], seed: UInt64 = 2) -> [Element] {
    var generator = SplitMix(seed: seed)
    return elements.shuffled(using: &generator)
  }
}

/// Draws numbers below `count` so that the n-th most frequent one is n^exponent rarer than the
/// first.
struct Zipf {
  private let cumulative: [Double]

  init(count: Int, exponent: Double) {
    var sum = 0.0
    cumulative = (1...count).map { rank in
      sum += pow(Double(rank), -exponent)
      return sum
    }
  }

  /// 0 for the most frequent.
  func draw(_ generator: inout SplitMix) -> Int {
    let target = generator.unit() * (cumulative.last ?? 0)
    var low = 0
    var high = cumulative.count - 1
    while low < high {
      let middle = (low + high) / 2
      if cumulative[middle] <= target { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// A list of keys that samples go through in pieces, round and round, so that a sample may be
/// shorter than the list and still all of it is used.
final class Rounds<Key> {
  private let keys: [Key]
  private let sumsBefore: [Int]
  private var start = 0
  let size: Int

  /// `values` are those stored under the keys, for the sum that a piece should have.
  init(_ keys: [Key], values: [Int], size: Int) {
    self.keys = keys
    self.size = min(size, keys.count)
    var sum = 0
    sumsBefore =
      [0]
      + values.map { value in
        sum &+= value
        return sum
      }
  }

  /// Gives all keys to `body`. To be done before a sample: the other side has driven out of the
  /// processor's caches what a program that uses a store finds there.
  func warmUp(_ body: (UnsafeBufferPointer<Key>) throws -> Void) rethrows {
    try keys.withUnsafeBufferPointer(body)
  }

  /// Gives the next piece to `body`, which returns the sum of the values it saw and its time.
  /// Throws if the sum is wrong: speed counts only where the answer is right.
  func sample(
    _ body: (UnsafeBufferPointer<Key>) throws -> (sum: Int, time: Double)
  ) throws -> Double {
    if start + size > keys.count { start = 0 }
    let range = start..<start + size
    start += size
    let expected = sumsBefore[range.upperBound] &- sumsBefore[range.lowerBound]
    let (sum, time) = try keys.withUnsafeBufferPointer {
      try body(UnsafeBufferPointer(rebasing: $0[range]))
    }
    guard sum == expected else { throw Failure(description: "wrong values were read") }
    return time
  }
}
