// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

// The rows with values of 100 KB, which lie in files of their own.
extension DiskArea {
  private static let largeSize = 100_000
  private static let largePiece = 50

  static var setLarge: Row {
    Row(
      id: "disk.set.100k",
      ours: """
        DiskCache<Int, Data>.set, coder .data, process-durable, 100,000 B under a new key; the \
        time until set returns. Everything is removed, and that flushed, between samples
        """,
      rival: .files("open, write, close and rename to a new name; deleted between samples"),
      goal: .ratio(1.2)
    ) { bench in
      let payloads = Payloads(size: largeSize, kinds: 16)
      let ours = try bytes(bench.freshFolder("cache"))
      let theirs = try FileStore(bench.freshFolder("files"))
      var next = 0
      func keys() -> Range<Int> {
        next += largePiece
        return next - largePiece..<next
      }
      return Contest(
        ours: {
          let keys = keys()
          let time = try bench.time(keys.count, loop: .swift) {
            for key in keys { try ours.set(payloads[key], forKey: key) }
          }
          // All files go with their folder, and none is synced for it.
          try ours.removeAll()
          try ours.flush()
          return time
        },
        rival: {
          let keys = keys()
          let time = try bench.time(keys.count, loop: .swift) {
            for key in keys { try theirs.put(payloads[key], under: key) }
          }
          for key in keys { try theirs.delete(key) }
          return time
        },
        close: { closeQuietly(ours) })
    }
  }

  static var getLarge: Row {
    large("disk.get.100k", "value(forKey:)", goal: .ratio(0.5)) { cache, keys in
      try sumOfBytes(of: keys, in: cache)
    }
  }

  static var getLargeMapped: Row {
    large("disk.get.100k.mapped", "mappedValue(forKey:)", goal: .none) { cache, keys in
      try sumOfMapped(of: keys, in: cache)
    }
  }

  private static func large(
    _ id: String, _ call: String, goal: Goal,
    _ read: @escaping (DiskCache<Int, Data>, UnsafeBufferPointer<Int>) throws -> Int
  ) -> Row {
    Row(
      id: id,
      ours: """
        DiskCache<Int, Data>.\(call), coder .data, 200 entries of 100,000 B, flushed, warm, in \
        random order; checksums are verified
        """,
      rival: .files("open, read into a new buffer, close; nothing is verified"), goal: goal
    ) { bench in
      let payloads = Payloads(size: largeSize, kinds: 16)
      let keys = Array(0..<200)
      let ours = try bytes(bench.freshFolder("cache"))
      let theirs = try FileStore(bench.freshFolder("files"))
      for key in keys {
        try ours.set(payloads[key], forKey: key)
        try theirs.put(payloads[key], under: key)
      }
      try ours.flush()
      let order = Keys.shuffled(keys)
      let sums = order.map { payloads.sum(of: $0) }
      let ourRounds = Rounds(order, values: sums, size: largePiece)
      let theirRounds = Rounds(order, values: sums, size: largePiece)
      return Contest(
        ours: {
          try ourRounds.warmUp { consume(try read(ours, $0)) }
          return try ourRounds.sample { keys in
            var found = 0
            let time = try bench.time(keys.count, loop: .swift) { found = try read(ours, keys) }
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
