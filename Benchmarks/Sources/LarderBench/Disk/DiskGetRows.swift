// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

// The rows that read small values.
extension DiskArea {
  static var getSmall: Row {
    Row(
      id: "disk.get.small",
      ours: """
        DiskCache<Int, Int>.value(forKey:), 100,000 entries, flushed, warm, in random order; \
        checksums are verified
        """,
      rival: .lmdb(", the same keys in the same order"), goal: .ratio(1.3)
    ) { bench in
      let keys = Keys.integers(readCount)
      let ours = try flushed(bench, "cache", keys)
      return try readsBesideLMDB(bench, ours, keys)
    }
  }

  static var getAwaited: Row {
    Row(
      id: "disk.get.async",
      ours: "await DiskCache<Int, Int>.value(forKey:), as disk.get.small, by one task",
      rival: Rival(name: "ours, blocking", settings: "value(forKey:) of the same keys"),
      goal: .ratio(2)
    ) { bench in
      let keys = Keys.integers(readCount)
      let cache = try flushed(bench, "cache", keys)
      let awaited = Rounds(reading: Keys.shuffled(keys), size: piece)
      return contest(bench, cache, keys) { blocking in
        try bench.read(blocking, in: cache)
      } ours: {
        try awaited.sample { keys in
          nonisolated(unsafe) let keys = keys
          var found = 0
          let time = try bench.time(keys.count, loop: .swift) {
            found = try wait {
              var sum = 0
              for key in keys { sum &+= try await cache.value(forKey: key) ?? 0 }
              return sum
            }
          }
          return (found, time)
        }
      }
    }
  }

  static var getMiss: Row {
    Row(
      id: "disk.get.miss",
      ours: """
        DiskCache<Int, Int>.value(forKey:) of keys that are not there, among 100,000 entries, \
        flushed, warm
        """,
      rival: .lmdb(", of the same keys, which it does not have either"), goal: .ratio(0.95)
    ) { bench in
      let all = Keys.integers(2 * readCount)
      let ours = try flushed(bench, "cache", Array(all[..<readCount]))
      let theirs = try LMDBStore(bench.freshFolder("lmdb"), keys: Array(all[..<readCount]))
      let missing = Array(all[readCount...])
      let ourRounds = Rounds(writing: missing, size: piece)
      let theirRounds = Rounds(writing: missing, size: piece)
      return Contest(
        ours: { try bench.read(ourRounds, in: ours) },
        rival: {
          try theirRounds.warmUp { try theirs.miss($0) }
          return try theirRounds.sample { keys in
            (0, try bench.time(keys.count, loop: .c) { try theirs.miss(keys) })
          }
        },
        close: { closeQuietly(ours) })
    }
  }

  /// Entries that were written since the last flush.
  static var getPending: Row {
    Row(
      id: "disk.get.pending",
      ours: """
        DiskCache<Int, Int>.value(forKey:), 100,000 entries, none of them flushed: all are read \
        from the memtable
        """,
      rival: .lmdb(", the same keys in the same order"), goal: .none
    ) { bench in
      let keys = Keys.integers(readCount)
      let ours = try integers(bench.freshFolder("cache")) {
        $0.checkpointInterval = .zero
        $0.journalCapacity = 256 << 20
      }
      try ours.fill(with: keys)
      return try readsBesideLMDB(bench, ours, keys)
    }
  }

  static var getData: Row {
    Row(
      id: "disk.get.data",
      ours: """
        DiskCache<Int, Data>.value(forKey:), coder .data, 100,000 entries of 100 B, flushed, warm, \
        in random order; each is made a Data
        """,
      rival: .lmdb(", called from Swift, each value copied to a new Data"), goal: .none
    ) { bench in
      let keys = Keys.integers(readCount)
      let payloads = Payloads(size: 100, kinds: 1)
      let ours = try bytes(bench.freshFolder("cache"))
      try keys.withUnsafeBufferPointer { try fill(ours, with: $0, payloads) }
      try ours.checkpoint()
      let lmdb = try LMDBStore(bench.freshFolder("lmdb"), keys: keys, value: payloads[0])
      let theirs = LMDBDataStore(store: lmdb, size: 100)
      let order = Keys.shuffled(keys)
      let sums = order.map { payloads.sum(of: $0) }
      let ourRounds = Rounds(order, values: sums, size: piece)
      let theirRounds = Rounds(order, values: sums, size: piece)
      return Contest(
        ours: { try readBytes(bench, ourRounds, ours) },
        rival: { try readBytes(bench, theirRounds, theirs) },
        close: { closeQuietly(ours) })
    }
  }

  static func readBytes(
    _ bench: Bench, _ rounds: Rounds<Int>, _ store: some DurableStore<Data>
  ) throws -> Double {
    try rounds.warmUp { consume(try sumOfBytes(of: $0, in: store)) }
    return try rounds.sample { keys in
      var found = 0
      let time = try bench.time(keys.count, loop: .swift) {
        found = try sumOfBytes(of: keys, in: store)
      }
      return (found, time)
    }
  }

  static var getSmallSQLite: Row {
    Row(
      id: "disk.get.small.sqlite",
      ours: "DiskCache<Int, Int>.value(forKey:), as disk.get.small",
      rival: .sqlite("select", does: "one SELECT an entry, the same keys"), goal: .none
    ) { bench in
      try reads(bench) { keys in
        let theirs = try SQLiteStore(bench.fresh("sqlite.db"))
        try theirs.fill(with: keys)
        return theirs
      }
    }
  }

  static var getSmallRocksDB: Row {
    Row(
      id: "disk.get.small.rocksdb",
      ours: "DiskCache<Int, Int>.value(forKey:), as disk.get.small",
      rival: .rocksDB("Get", does: "flushed, one get_pinned an entry, which makes no copy"),
      goal: .none
    ) { bench in
      try reads(bench) { keys in
        let theirs = try RocksStore(bench.freshFolder("rocksdb"))
        try theirs.fill(with: keys)
        try theirs.flushAndSync()
        return theirs
      }
    }
  }

  private static func readsBesideLMDB(
    _ bench: Bench, _ ours: DiskCache<Int, Int>, _ keys: [Int]
  ) throws -> Contest {
    let theirs = try LMDBStore(bench.freshFolder("lmdb"), keys: keys)
    return contest(bench, ours, keys) { try bench.read($0, in: theirs) }
  }

  private static func reads<Theirs: DurableStore<Int>>(
    _ bench: Bench, _ make: ([Int]) throws -> Theirs
  ) throws -> Contest {
    let keys = Keys.integers(readCount)
    let ours = try flushed(bench, "cache", keys)
    let theirs = try make(keys)
    return contest(bench, ours, keys) { try bench.read($0, in: theirs) }
  }

  /// Reads of the same keys in the same order.
  private static func contest(
    _ bench: Bench, _ ours: DiskCache<Int, Int>, _ keys: [Int],
    rival: @escaping (Rounds<Int>) throws -> Double, ours by: (() throws -> Double)? = nil
  ) -> Contest {
    let order = Keys.shuffled(keys)
    let ourRounds = Rounds(reading: order, size: piece)
    let theirRounds = Rounds(reading: order, size: piece)
    return Contest(
      ours: { try by?() ?? bench.read(ourRounds, in: ours) },
      rival: { try rival(theirRounds) },
      close: { closeQuietly(ours) })
  }

  static var getTwoThreads: Row {
    Row(
      id: "disk.get.2threads",
      ours: """
        two threads, one DiskCache<Int, Int>, value(forKey:), as disk.get.small; wall time divided \
        by the reads of both
        """,
      rival: Rival(name: "ours, one thread", settings: "the same number of reads, on one thread"),
      goal: .none
    ) { bench in
      let keys = Keys.integers(readCount)
      let ours = try flushed(bench, "cache", keys)
      let order = Keys.shuffled(keys)
      // A failure becomes a sum that `consume` refuses.
      let read = { @Sendable (keys: UnsafeBufferPointer<Int>, cache: DiskCache<Int, Int>) in
        (try? sum(of: keys, in: cache)) ?? .min
      }
      return Contest(
        ours: { bench.onThreads(2, order, ours, read) },
        rival: { bench.onThreads(1, order, ours, read) },
        close: { closeQuietly(ours) })
    }
  }
}
