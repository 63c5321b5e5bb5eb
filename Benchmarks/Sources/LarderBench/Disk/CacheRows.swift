// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

// The rows of memory over disk.
extension DiskArea {
  static var cacheRows: [Row] { [cacheGet, cacheMiss, cacheSet] }

  private static var cacheGet: Row {
    Row(
      id: "disk.cache.get",
      ours: """
        Cache<Int, Int>.value(forKey:), memory over disk, 100,000 entries that are in memory, in \
        random order
        """,
      rival: Rival(
        name: "ours, memory alone",
        settings: "MemoryCache<Int, Int>.value(forKey:), the same keys"),
      goal: .none
    ) { bench in
      let keys = Keys.integers(readCount)
      let cache = try twoTiers(bench)
      let memory = MemoryCache<Int, Int>()
      try cache.fill(with: keys)
      memory.fill(with: keys)
      let order = Keys.shuffled(keys)
      let ourRounds = Rounds(reading: order, size: piece)
      let theirRounds = Rounds(reading: order, size: piece)
      return Contest(
        ours: { try bench.read(ourRounds, in: cache) },
        rival: { try bench.read(theirRounds, in: memory) },
        close: { try? cache.close() })  // It is thrown away.
    }
  }

  private static var cacheMiss: Row {
    Row(
      id: "disk.cache.miss",
      ours: """
        Cache<Int, Int>.value(forKey:), memory over disk, of keys that are in no tier; 100,000 \
        entries, flushed, warm
        """,
      rival: Rival(
        name: "ours, disk alone",
        settings: "DiskCache<Int, Int>.value(forKey:), the same entries, the same keys"),
      goal: .ratio(1.5)
    ) { bench in
      let all = Keys.integers(2 * readCount)
      let present = Array(all[..<readCount])
      let cache = try twoTiers(bench)
      try cache.fill(with: present)
      try cache.diskCache?.checkpoint()
      let disk = try flushed(bench, "disk", present)
      let missing = Array(all[readCount...])
      let ourRounds = Rounds(writing: missing, size: piece)
      let theirRounds = Rounds(writing: missing, size: piece)
      return Contest(
        ours: { try bench.read(ourRounds, in: cache) },
        rival: { try bench.read(theirRounds, in: disk) },
        close: {
          try? cache.close()  // They are thrown away.
          closeQuietly(disk)
        })
    }
  }

  private static var cacheSet: Row {
    Row(
      id: "disk.cache.set",
      ours: """
        Cache<Int, Int>.set, memory over disk, write-through, of 100,000 keys that are there, in \
        random order; \(Bench.timing(true))
        """,
      rival: Rival(
        name: "ours, disk alone",
        settings: "DiskCache<Int, Int>.set, the same keys; its flush is in the time, too"),
      goal: .none
    ) { bench in
      let keys = Keys.integers(readCount)
      let cache = try twoTiers(bench)
      try cache.fill(with: keys)
      let disk = try flushed(bench, "disk", keys)
      let order = Keys.shuffled(keys)
      let ourRounds = Rounds(writing: order, size: piece)
      let theirRounds = Rounds(writing: order, size: piece)
      return Contest(
        ours: { try bench.write(ourRounds, in: cache) { try cache.diskCache?.checkpoint() } },
        rival: { try bench.write(theirRounds, in: disk) { try disk.checkpoint() } },
        close: {
          try? cache.close()  // They are thrown away.
          closeQuietly(disk)
        })
    }
  }

  private static func twoTiers(_ bench: Bench) throws -> Cache<Int, Int> {
    Cache(name: "bench", tiers: [try integers(bench.freshFolder("tiers"))])
  }
}

extension Cache: DurableStore where Key == Int {
  @inline(__always) func read(_ key: Int) throws -> Value? { try value(forKey: key) }
  @inline(__always) func put(_ value: Value, under key: Int) throws { try set(value, forKey: key) }
}
