// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

// The rows that write small values.
extension DiskArea {
  static var setSmall: Row {
    besideSQLite("disk.set.small", flushes: true, goal: .ratio(0.15))
  }

  static var setSmallReturn: Row {
    besideSQLite("disk.set.small.return", flushes: false, goal: .none)
  }

  private static func besideSQLite(_ id: String, flushes: Bool, goal: Goal) -> Row {
    Row(
      id: id, ours: ours(flushes: flushes),
      rival: .sqlite("upsert", does: "one upsert and one transaction an entry, the same keys"),
      goal: goal
    ) { bench in
      let theirs = try SQLiteStore(bench.fresh("sqlite.db"))
      try theirs.fill(with: Keys.integers(count))
      return try overwrites(bench, flushes: flushes, theirs: theirs)
    }
  }

  private static func ours(flushes: Bool) -> String {
    """
    DiskCache<Int, Int>.set, process-durable, defaults: of 200,000 keys that are there, 20,000 at \
    a time in random order; \(Bench.timing(flushes))
    """
  }

  static var setSmallRocksDB: Row {
    Row(
      id: "disk.set.small.rocksdb",
      ours: ours(flushes: true),
      rival: .rocksDB("Put", does: "one Put an entry, the same keys"),
      goal: .ratio(0.12)
    ) { bench in
      let theirs = try RocksStore(bench.freshFolder("rocksdb"))
      try theirs.fill(with: Keys.integers(count))
      return try overwrites(bench, flushes: true, theirs: theirs)
    }
  }

  static var setAwaited: Row {
    Row(
      id: "disk.set.async",
      ours: "await DiskCache<Int, Int>.set, as disk.set.small.return, by one task",
      rival: Rival(name: "ours, blocking", settings: "set of the same keys in the same cache"),
      goal: .ratio(2)
    ) { bench in
      let keys = Keys.integers(count)
      let cache = try flushed(bench, "cache", keys)
      let order = Keys.shuffled(keys)
      let awaited = Rounds(writing: order, size: piece)
      let blocking = Rounds(writing: order, size: piece)
      return Contest(
        ours: {
          // What waits is not to slow down the other one.
          defer { try? cache.checkpoint() }
          return try awaited.sample { keys in
            nonisolated(unsafe) let keys = keys
            let time = try bench.time(keys.count, loop: .swift) {
              try wait { for key in keys { try await cache.set(value(of: key), forKey: key) } }
            }
            return (0, time)
          }
        },
        rival: {
          defer { try? cache.checkpoint() }
          return try bench.write(blocking, in: cache)
        },
        close: { closeQuietly(cache) })
    }
  }

  private static func overwrites(
    _ bench: Bench, flushes: Bool, theirs: some DurableStore<Int>
  ) throws -> Contest {
    let keys = Keys.integers(count)
    let ours = try flushed(bench, "cache", keys)
    let order = Keys.shuffled(keys)
    let ourRounds = Rounds(writing: order, size: piece)
    let theirRounds = Rounds(writing: order, size: piece)
    return Contest(
      ours: {
        let flush = { try ours.checkpoint() }
        let time = try bench.write(ourRounds, in: ours, then: flushes ? flush : {})
        // So that its thread does not work while the rival is measured.
        if !flushes { try flush() }
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
            try cache.checkpoint()
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
    [
      ("p99", 0.99, "the 99th percentile", Goal.none),
      ("longest.rocksdb", 1, "the longest", .ratio(1)),
    ].map { id, part, what, goal in
      Row(
        id: "disk.set.\(id)",
        ours: """
          \(what) of 500,000 sets (quick: 100,000) at full speed into a new DiskCache<Int, Data>, \
          coder .data, 100 B, random keys, at most 16 MiB waiting, so that flushes are under way \
          most of the time
          """,
        rival: .rocksDB("Put", does: "the same of its Puts, write buffer 64 MiB as by default"),
        goal: goal, unit: part == 1 ? "ns at worst" : "ns", effort: long
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
