// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

// The rows on what becomes of a cache that has many entries.
extension DiskArea {
  static var open: Row {
    Row(
      id: "disk.open",
      ours: """
        DiskCache<Int, Int>.init of 1,000,000 entries that was closed, files in the page cache; \
        all of it, in nanoseconds. Closing is not timed
        """,
      rival: .environment, goal: .ratio(3)
    ) { bench in
      let path = bench.freshFolder("cache")
      let cache = try integers(path)
      try cache.fill(with: Keys.integers(1_000_000))
      try cache.close()
      return try opens(bench, path, count: 1_000_000)
    }
  }

  private static func opens(_ bench: Bench, _ path: String, count: Int) throws -> Contest {
    Contest(
      ours: {
        var cache: DiskCache<Int, Int>?
        let time = try bench.time(1, loop: .none) { cache = try integers(path) }
        guard try cache?.count == count else {
          throw Failure(description: "there are not \(count) entries")
        }
        try cache?.close()
        return time
      },
      rival: { try LMDBStore.timeOpen(path, mapBytes: 64 << 30) })
  }

  static var growth: Row {
    Row(
      id: "disk.growth",
      ours: """
        how much longer DiskCache<Int, Int>.value(forKey:) takes at 1,000,000 entries than at \
        10,000, flushed, random order
        """,
      rival: Rival(
        name: "LMDB get",
        settings: "its own growth, as in disk.get.small, the same keys in the same order"),
      goal: .ratio(1.1), unit: "times"
    ) { bench in
      let keys = Keys.integers(1_000_000)
      let few = Array(keys.prefix(10_000))
      let small = try flushed(bench, "small", few)
      let large = try flushed(bench, "large", keys)
      let smallTheirs = try LMDBStore(bench.freshFolder("small.lmdb"), keys: few)
      let largeTheirs = try LMDBStore(bench.freshFolder("large.lmdb"), keys: keys)
      var generator = SplitMix(seed: 5)
      let draws = (0..<500_000).map { _ in keys[Int.random(in: 0..<keys.count, using: &generator)] }
      let many = (0..<10).flatMap { Keys.shuffled(few, seed: $0) }
      // More than a processor's caches hold is read in turn, so nothing would be left of it.
      let rounds = (0..<4).map { Rounds(reading: $0 < 2 ? draws : many, size: piece) }
      let (ours, theirs) = (Growth(), Growth())
      return Contest(
        ours: {
          try ours.sample(
            small: { try bench.read(rounds[2], in: small) },
            large: { try bench.read(rounds[0], in: large, warmUp: false) })
        },
        rival: {
          try theirs.sample(
            small: { try bench.read(rounds[3], in: smallTheirs) },
            large: { try bench.read(rounds[1], in: largeTheirs, warmUp: false) })
        },
        remarks: { Growth.remarks("10,000 entries", ours, theirs) },
        close: {
          closeQuietly(small)
          closeQuietly(large)
        })
    }
  }

  static var manyCreate: Row {
    Row(
      id: "disk.many.create",
      ours: """
        DiskCache<Int, Int>.init in a folder that is not there, defaults, and one set; closing is \
        not timed
        """,
      rival: .sqlite(
        "create",
        does: """
          one INSERT: opening a database that is not there, its settings, CREATE TABLE and the \
          INSERT; closing is not timed
          """),
      goal: .ratio(1), effort: Effort(fewest: Effort.judged, most: 15, seconds: 8)
    ) { bench in
      let path = try bench.freshPaths("many.create")
      let piece = 5
      return Contest(
        ours: {
          let paths = (0..<piece).map { _ in path() }
          var caches: [DiskCache<Int, Int>] = []
          let time = try bench.time(piece, loop: .none) {
            for path in paths {
              let cache = try integers(path)
              try cache.set(1, forKey: 1)
              caches.append(cache)
            }
          }
          caches.forEach(closeQuietly)
          return time
        },
        rival: {
          let paths = (0..<piece).map { _ in path() }
          var stores: [SQLiteStore] = []
          let time = try bench.time(piece, loop: .none) {
            for path in paths {
              let store = try SQLiteStore(path)
              try store.put(1, under: 1)
              stores.append(store)
            }
          }
          stores.removeAll()
          return time
        })
    }
  }

  /// Filling it takes half a minute, so both rows use one. The process that fills it is another.
  static var manyEntries: [Row] {
    [
      Row(
        id: "disk.memory.10m",
        ours: """
          the most memory of its own (RssAnon) that a process had more than before, which set \
          10,000,000 entries of a DiskCache<Int, Int>, ascending keys, defaults, at full speed, \
          and flushed them; pages of files, which the kernel takes back at need, do not count
          """,
        rival: Rival(
          name: "ours, 1 M", settings: "the same with 1,000,000 entries",
          absence: DiskMemory.absence),
        goal: .none, unit: "bytes", effort: Effort(fewest: 1, most: 1, seconds: 1, warmsUp: false),
        takesLong: true
      ) { bench in
        Contest(
          ours: {
            guard DiskMemory.absence == nil else { return .nan }
            return try DiskMemory.measure(bench.freshFolder(many), count: 10_000_000)
          },
          rival: { try DiskMemory.measure(bench.freshFolder("cache"), count: 1_000_000) })
      },
      Row(
        id: "disk.open.10m",
        ours: "DiskCache<Int, Int>.init, as disk.open, of 10,000,000 entries",
        rival: .environment, goal: .none, takesLong: true
      ) { bench in
        let path = bench.folder.appendingPathComponent(many).path
        if !FileManager.default.fileExists(atPath: path) {
          _ = try DiskMemory.measure(path, count: 10_000_000)
        }
        return try opens(bench, path, count: 10_000_000)
      },
    ]
  }

  private static var many: String { "many" }
}

extension Rival {
  fileprivate static var environment: Rival {
    Rival(
      name: "mdb_env_open",
      settings: """
        LMDB \(LMDBStore.version): mdb_env_create, mdb_env_set_mapsize and mdb_env_open of the \
        same data.mdb, while it is not open otherwise
        """)
  }
}
