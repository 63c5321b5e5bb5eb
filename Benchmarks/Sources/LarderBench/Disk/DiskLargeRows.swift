// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

// The rows with values of 100 KB.
extension DiskArea {
  private static let largeSize = 100_000
  private static let largePiece = 50

  static var setLarge: Row { setLarge("disk.set.100k", flushes: false, goal: .ratio(1.2)) }

  static var setLargeFlushed: Row { setLarge("disk.set.100k.flush", flushes: true, goal: .none) }

  private static func setLarge(_ id: String, flushes: Bool, goal: Goal) -> Row {
    Row(
      id: id,
      ours: """
        DiskCache<Int, Data>.set, coder .data, process-durable, 100,000 B under a new key; \
        \(Bench.timing(flushes)), which syncs what was written
        """,
      rival: .files("open, write, close and rename to a new name; never synced"),
      goal: goal, effort: Effort(fewest: Effort.judged, most: 41, seconds: 8)
    ) { bench in
      let payloads = Payloads(size: largeSize, kinds: 16)
      let ours = try bytes(bench.freshFolder(id))
      // Nothing is deleted before the end: that would slow the file system down for seconds.
      let theirs = try FileStore(bench.freshFolder(id + ".files"))
      var (ourNext, theirNext) = (0, 0)
      return Contest(
        ours: {
          ourNext += largePiece
          return try bench.time(largePiece, loop: .swift, flushes: flushes) {
            for key in ourNext - largePiece..<ourNext { try ours.set(payloads[key], forKey: key) }
          } flush: {
            try ours.checkpoint()
          }
        },
        rival: {
          theirNext += largePiece
          return try bench.time(largePiece, loop: .swift) {
            for key in theirNext - largePiece..<theirNext {
              try theirs.put(payloads[key], under: key)
            }
          }
        },
        close: { closeQuietly(ours) })
    }
  }

  static var getLarge: Row {
    large("disk.get.100k", "value(forKey:)", goal: .ratio(0.7), sumOfBytes(of:in:))
  }

  static var getLargeMapped: Row {
    large("disk.get.100k.mapped", "mappedValue(forKey:)", goal: .none, sumOfMapped(of:in:))
  }

  private static func large(
    _ id: String, _ call: String, goal: Goal,
    _ read: @escaping (UnsafeBufferPointer<Int>, DiskCache<Int, Data>) throws -> Int
  ) -> Row {
    let count = 1000
    return Row(
      id: id,
      ours: """
        DiskCache<Int, Data>.\(call), coder .data, \(count) entries of 100,000 B, flushed, warm, \
        in random order; each read verifies the checksum
        """,
      rival: .files("open, read into a new buffer, close; nothing is verified"), goal: goal,
      takesLong: goal.isNone
    ) { bench in
      let payloads = Payloads(size: largeSize, kinds: 16)
      let keys = Array(0..<count)
      let ours = try bytes(bench.freshFolder("cache"))
      let theirs = try FileStore(bench.freshFolder(id + ".files"))
      for key in keys {
        try ours.set(payloads[key], forKey: key)
        try theirs.put(payloads[key], under: key)
      }
      try ours.checkpoint()
      let order = Keys.shuffled(keys)
      let sums = order.map { payloads.sum(of: $0) }
      let ourRounds = Rounds(order, values: sums, size: largePiece)
      let theirRounds = Rounds(order, values: sums, size: largePiece)
      return Contest(
        ours: {
          try ourRounds.warmUp { consume(try read($0, ours)) }
          return try ourRounds.sample { keys in
            var found = 0
            let time = try bench.time(keys.count, loop: .swift) { found = try read(keys, ours) }
            return (found, time)
          }
        },
        rival: {
          try theirRounds.warmUp { consume(try sum(of: $0, in: theirs)) }
          return try theirRounds.sample { keys in
            var found = 0
            let time = try bench.time(keys.count, loop: .swift) {
              found = try sum(of: keys, in: theirs)
            }
            return (found, time)
          }
        },
        close: { closeQuietly(ours) })
    }
  }

  private static func sum(of keys: UnsafeBufferPointer<Int>, in files: FileStore) throws -> Int {
    var sum = 0
    for key in keys { sum &+= try files.sum(under: key, size: largeSize) }
    return sum
  }

  private static func sumOfMapped(
    of keys: UnsafeBufferPointer<Int>, in cache: DiskCache<Int, Data>
  ) throws -> Int {
    var sum = 0
    for key in keys {
      guard let bytes = try cache.mappedValue(forKey: key), let first = bytes.first,
        let last = bytes.last
      else { throw Failure(description: "a value is missing") }
      sum &+= Int(first) + Int(last)
    }
    return sum
  }
}

extension Rival {
  static func files(_ does: String) -> Rival {
    Rival(name: "plain files", settings: "one file an entry, named by its number: \(does); in C")
  }
}
