// SPDX-License-Identifier: MIT
import Foundation

/// Traces for where there are no real ones: what textbooks say that caches meet. They are the same
/// in every run.
enum GeneratedTraces {
  private static let accesses = 500_000
  private static let keys = 50_000

  static var all: [Trace] {
    [
      trace("zipf-0.7") { zipf(0.7) },
      trace("zipf-0.9") { zipf(0.9) },
      trace("zipf-1.1") { zipf(1.1) },
      trace("loop", loop),
      trace("zipf-scans", scans),
      trace("zipf-shifts", shifts),
    ]
  }

  private static func trace(
    _ name: String, _ make: @escaping @Sendable () -> [UInt64]
  ) -> Trace {
    Trace(name: name, size: accesses, load: make)
  }

  private static func zipf(_ exponent: Double) -> [UInt64] {
    let zipf = Zipf(count: keys, exponent: exponent)
    var generator = SplitMix(seed: 1)
    return (0..<accesses).map { _ in UInt64(zipf.draw(&generator)) }
  }

  /// Half of the accesses go round a loop that is a tenth larger than the cache of 10 %, the others
  /// to keys that hardly ever come again: with LRU the loop never hits.
  private static func loop() -> [UInt64] {
    let length = keys / 10 * 11 / 10
    let others = keys - length
    var generator = SplitMix(seed: 2)
    return (0..<accesses).map { number in
      number % 2 == 0
        ? UInt64(number / 2 % length)
        : UInt64(length + Int.random(in: 0..<others, using: &generator))
    }
  }

  /// Zipf 0.9, and after every 40,000 accesses a scan of 10,000 keys that are in their turn.
  private static func scans() -> [UInt64] {
    let zipf = Zipf(count: keys, exponent: 0.9)
    var generator = SplitMix(seed: 3)
    let scanned = 2 * keys
    return (0..<accesses).map { number in
      let (round, place) = number.quotientAndRemainder(dividingBy: 50_000)
      guard place >= 40_000 else { return UInt64(zipf.draw(&generator)) }
      return UInt64(keys + (round * 10_000 + place - 40_000) % scanned)
    }
  }

  /// Zipf 0.9, but which keys are the frequent ones changes after every 50,000 accesses.
  private static func shifts() -> [UInt64] {
    let zipf = Zipf(count: keys, exponent: 0.9)
    var generator = SplitMix(seed: 4)
    return (0..<accesses).map { number in
      UInt64((zipf.draw(&generator) + number / 50_000 * 7919) % keys)
    }
  }
}
