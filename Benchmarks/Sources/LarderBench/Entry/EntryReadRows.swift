// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

// The rows that read entries.
extension EntryArea {
  /// Few enough for the rival to have all its files open.
  private static let count = 200

  static func snapshot(_ id: String, size: Int, goal: Goal) -> Row {
    Row(
      id: id,
      ours: """
        EntryCache<Int>.snapshot(forKey:) and data(at:) of both values of \(size) B, \(count) \
        entries, flushed, warm, in random order; checksums are verified, and the data is the \
        caller's to keep
        """,
      rival: .pairs(
        """
        two pread of files that are open already, the same entries in the same order, into one \
        buffer that is used again and again; nothing is verified
        """),
      goal: goal
    ) { bench in
      let payloads = Payloads(size: size, kinds: 16)
      let cache = try cache(bench, "entries")
      let folder = bench.freshFolder("files")
      let files = try PairStore(folder)
      for key in 0..<count {
        try cache.setValues([payloads[key], payloads[key]], forKey: key)
        try files.put(payloads[key], under: key..<key + 1)
      }
      try cache.checkpoint()
      let open = try OpenPairs(folder, count: count, size: size)
      let order = (0..<20).flatMap { Keys.shuffled(Array(0..<count), seed: $0) }
      let sums = order.map { 2 * payloads.sum(of: $0) }
      let piece = size > 10_000 ? 50 : 2000
      let ourRounds = Rounds(order, values: sums, size: piece)
      let theirRounds = Rounds(order, values: sums, size: piece)
      return Contest(
        ours: {
          try ourRounds.warmUp { consume(try sum(of: $0.prefix(count), in: cache)) }
          return try ourRounds.sample { keys in
            var found = 0
            let time = try bench.time(keys.count, loop: .swift) {
              found = try sum(of: keys, in: cache)
            }
            return (found, time)
          }
        },
        rival: {
          try theirRounds.warmUp {
            consume(try open.sum(of: UnsafeBufferPointer(rebasing: $0.prefix(count))))
          }
          return try theirRounds.sample { keys in
            var found = 0
            let time = try bench.time(keys.count, loop: .c) { found = try open.sum(of: keys) }
            return (found, time)
          }
        },
        close: { closeQuietly(cache) })
    }
  }

  @inline(never)
  private static func sum(
    of keys: some Sequence<Int>, in cache: EntryCache<Int>
  ) throws -> Int {
    var sum = 0
    for key in keys {
      guard let snapshot = try cache.snapshot(forKey: key) else {
        throw Failure(description: "an entry is missing")
      }
      sum &+= ends(try snapshot.data(at: 0)) &+ ends(try snapshot.data(at: 1))
    }
    return sum
  }

  @inline(__always)
  private static func ends(_ bytes: Data) -> Int {
    Int(bytes.first ?? 0) + Int(bytes.last ?? 0)
  }
}
