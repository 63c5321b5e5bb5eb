// SPDX-License-Identifier: MIT
import CRivals
import Foundation

/// What one side took for random upserts of 100 B and the reads after them.
struct SizeRun {
  /// Nanoseconds of a put, the final flush and sync among them.
  var put = 0.0
  /// The same of each fifth of the puts, without the end.
  var fifths: [Double] = []
  /// Bytes that went through write calls or were stored into mapped files.
  var device = 0.0
  /// Bytes on disk after closing.
  var space = 0.0
  /// Nanoseconds of a get.
  var get = 0.0

  /// Puts `count` values under keys drawn at random from as many, and gets some of those.
  static func measure(
    _ name: String, _ bench: Bench, count: Int, open: (String) throws -> any SizeStore
  ) throws -> SizeRun {
    let path = bench.freshFolder("size")
    defer { _ = bench.freshFolder("size") }
    var run = SizeRun()
    do {
      let store = try open(path)
      let payloads = Payloads(size: 100)
      let draws = Draws(count: count)
      let written = DeviceBytes.written()
      let began = rivals_now_ns()
      for fifth in 0..<5 {
        let range = count * fifth / 5..<count * (fifth + 1) / 5
        let start = rivals_now_ns()
        try store.fill(range, draws, payloads)
        let nanoseconds = Double(rivals_now_ns() - start) / Double(max(1, range.count))
        run.fifths.append(nanoseconds)
        Progress.note(
          """
          \(name): \(range.upperBound) of \(count) puts, \(duration(nanoseconds)) each in the last \
          fifth
          """)
      }
      try store.flushAndSync()
      run.put = Double(rivals_now_ns() - began) / Double(count)
      run.device = try DeviceBytes.written() - written + store.mappedBytes()
      store.settle()
      run.get = try gets(store, draws, payloads, count: min(count, 500_000))
      Progress.note("\(name): \(duration(run.get)) a get")
    }
    run.space = DeviceBytes.allocated(in: path)
    return run
  }

  private static func gets(
    _ store: any SizeStore, _ draws: Draws, _ payloads: Payloads, count: Int
  ) throws -> Double {
    var generator = SplitMix(seed: 12)
    let keys = (0..<count + count / 10).map { _ in
      draws.key(Int(generator.next() % UInt64(draws.count)))
    }
    let timed = keys[(count / 10)...]
    consume(try store.sum(of: keys[..<(count / 10)]))  // Warms up.
    var found = 0
    let start = rivals_now_ns()
    found = try store.sum(of: timed)
    let time = Double(rivals_now_ns() - start) / Double(timed.count)
    guard found == payloads.sum(of: timed) else {
      throw Failure(description: "wrong values were read")
    }
    return time
  }
}

/// The keys in the order of their puts, without a list of them: SplitMix can jump.
struct Draws {
  let count: Int

  @inline(__always)
  func key(_ position: Int) -> Int {
    var generator = SplitMix(seed: 11 &+ UInt64(position) &* 0x9E37_79B9_7F4A_7C15)
    var scrambled = SplitMix(seed: generator.next() % UInt64(count))
    return Int(truncatingIfNeeded: scrambled.next())
  }
}
