// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

// The rows that write small values.
extension DiskArea {
  static var setSmall: Row {
    Row(
      id: "disk.set.small",
      ours: """
        DiskCache<Int, Int>.set, process-durable, defaults: of 200,000 keys that are there, 20,000 \
        at a time in random order; the time until set returns. It is flushed between samples
        """,
      rival: .sqlite("upsert", does: "one upsert and one transaction an entry, the same keys"),
      goal: .ratio(0.08)
    ) { bench in
      let theirs = try SQLiteStore(bench.fresh("sqlite.db"))
      try theirs.fill(with: Keys.integers(count))
      return try overwrites(bench, theirs: theirs, piece: 2000)
    }
  }

  static var setSmallRocksDB: Row {
    Row(
      id: "disk.set.small.rocksdb",
      ours: "DiskCache<Int, Int>.set, process-durable, as disk.set.small",
      rival: .rocksDB("Put", does: "one Put an entry, the same keys"),
      goal: .ratio(0.12)
    ) { bench in
      let theirs = try RocksStore(bench.freshFolder("rocksdb"))
      try theirs.fill(with: Keys.integers(count))
      return try overwrites(bench, theirs: theirs, piece: piece)
    }
  }

  private static func overwrites(
    _ bench: Bench, theirs: some DurableStore<Int>, piece theirPiece: Int
  ) throws -> Contest {
    let keys = Keys.integers(count)
    let ours = try flushed(bench, "cache", keys)
    let order = Keys.shuffled(keys)
    let ourRounds = Rounds(writing: order, size: piece)
    let theirRounds = Rounds(writing: order, size: theirPiece)
    return Contest(
      ours: {
        let time = try bench.write(ourRounds, in: ours)
        // So that its thread does not work while the rival is measured.
        try ours.flush()
        return time
      },
      rival: { try bench.write(theirRounds, in: theirs) },
      close: { closeQuietly(ours) })
  }

  static var setSustained: Row {
    Row(
      id: "disk.set.sustained",
      ours: """
        1,000,000 sets (quick: 300,000) into a new DiskCache<Int, Data>, coder .data, defaults, \
        100 B that cannot be compressed, random keys; flush and sync at the end are in the time
        """,
      rival: .rocksDB(
        "Put", does: "one Put an entry, the same entries, then a flush and a sync of the log"),
      goal: .ratio(0.5), effort: long
    ) { bench in
      let keys = Keys.integers(bench.quick ? 300_000 : 1_000_000)
      let payloads = Payloads(size: 100)
      return Contest(
        ours: {
          let cache = try bytes(bench.freshFolder("cache"))
          defer { closeQuietly(cache) }
          return try bench.time(keys.count, loop: .swift) {
            try keys.withUnsafeBufferPointer { try fill(cache, with: $0, payloads) }
            try cache.flush()
            try cache.sync()
          }
        },
        rival: {
          let rocks = try RocksStore(bench.freshFolder("rocksdb"))
          return try bench.time(keys.count, loop: .swift) {
            try keys.withUnsafeBufferPointer {
              try fill(RocksDataStore(store: rocks), with: $0, payloads)
            }
            try rocks.flushAndSync()
          }
        })
    }
  }

  static var setPower: Row {
    Row(
      id: "disk.set.power",
      ours: """
        DiskCache<Int, Int>.set, durability .power, one thread, so that no sync is shared; the \
        disk bounds both sides
        """,
      rival: .sqlite(
        "upsert, FULL", synchronous: "FULL", does: "one upsert and one transaction an entry"),
      goal: .none
    ) { bench in
      let keys = Keys.integers(count)
      let ours = try flushed(bench, "cache", keys)
      let theirs = try SQLiteStore(bench.fresh("sqlite.db"), synchronous: "FULL")
      try theirs.fill(with: keys)
      let order = Keys.shuffled(keys)
      let ourRounds = Rounds(writing: order, size: 40)
      let theirRounds = Rounds(writing: order, size: 40)
      return Contest(
        ours: { try bench.write(ourRounds, in: SyncedCache(cache: ours)) },
        rival: { try bench.write(theirRounds, in: theirs) },
        close: { closeQuietly(ours) })
    }
  }

  /// How long single sets take while the thread in the background flushes what came before.
  static var setLatency: [Row] {
    [("p99", 0.99, "the 99th percentile"), ("longest", 1, "the longest")].map { id, part, what in
      Row(
        id: "disk.set.\(id)",
        ours: """
          \(what) of 500,000 sets (quick: 100,000) at full speed into a new DiskCache<Int, Data>, \
          coder .data, 100 B, random keys, journal of 16 MiB, so that flushes are under way most \
          of the time
          """,
        rival: .rocksDB("Put", does: "the same of its Puts, write buffer 64 MiB as by default"),
        goal: .none, unit: part == 1 ? "ns at worst" : "ns", effort: long
      ) { bench in
        let keys = Keys.integers(bench.quick ? 100_000 : 500_000)
        let payloads = Payloads(size: 100)
        return Contest(
          ours: {
            let cache = try bytes(bench.freshFolder("cache")) { $0.journalCapacity = 16 << 20 }
            defer { closeQuietly(cache) }
            return try slowest(part, keys, payloads, cache)
          },
          rival: {
            let rocks = try RocksStore(bench.freshFolder("rocksdb"))
            return try slowest(part, keys, payloads, RocksDataStore(store: rocks))
          })
      }
    }
  }

  private static func slowest(
    _ part: Double, _ keys: [Int], _ payloads: Payloads, _ store: some DurableStore<Data>
  ) throws -> Double {
    var times: [UInt64] = []
    times.reserveCapacity(keys.count)
    var before = rivals_now_ns()
    for key in keys {
      try store.put(payloads[key], under: key)
      let now = rivals_now_ns()
      times.append(now - before)
      before = now
    }
    times.sort()
    return Double(times[min(times.count - 1, Int(Double(times.count) * part))])
  }
}
