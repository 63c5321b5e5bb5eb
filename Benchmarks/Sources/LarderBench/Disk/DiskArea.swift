// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

/// The disk tier: `DiskCache` and the C store below it.
enum DiskArea: Area {
  static let name = "disk"
  static let title = "Disk cache"
  static let quickEffort = Effort(fewest: 2, most: 301, seconds: 0.3)

  static var rows: [Row] {
    [
      setSmall, setSmallRocksDB, setSmallReturn, setAwaited, setSustained, getSmall, getAwaited,
      getMiss,
      setLarge,
      setLargeFlushed, getLarge, getLargeMapped, open, growth, setC,
      getC, getPending,
      getData, getSmallSQLite, getSmallRocksDB, getTwoThreads, setPower, wake,
    ] + setLatency + [manyCreate, manyMemory] + cacheRows + manyEntries
  }

  static func rows(_ scale: Scale) -> [Row] {
    rows + scale.keys.flatMap(sizeRows) + [flushFirst(scale.keys.max() ?? 0)]
  }

  static func run(_ rows: [Row], _ bench: Bench, _ machine: Machine) throws -> AreaReport {
    var report = try measured(rows, bench, machine)
    report.filesOfResults = { SizeChart.files(results: $0, machine: machine) }
    return report
  }

  /// How many keys the rows have, unless they say otherwise.
  static let count = 200_000
  /// And those that read.
  static let readCount = 100_000

  /// How many of them one sample reads or writes.
  static let piece = 20_000

  /// Repeats of a row of which one takes seconds.
  static let long = Effort(fewest: Effort.judged, most: 9, seconds: 12)

  /// A new cache of small values, in a folder of its own.
  static func integers(
    _ path: String, _ change: (inout DiskCacheConfiguration<Int, Int>) -> Void = { _ in }
  ) throws -> DiskCache<Int, Int> {
    var configuration = DiskCacheConfiguration<Int, Int>()
    change(&configuration)
    return try DiskCache(at: .path(path), configuration: configuration)
  }

  /// A new cache of bytes.
  static func bytes(
    _ path: String, _ change: (inout DiskCacheConfiguration<Int, Data>) -> Void = { _ in }
  ) throws -> DiskCache<Int, Data> {
    var configuration = DiskCacheConfiguration<Int, Data>()
    change(&configuration)
    return try DiskCache(at: .path(path), coder: .data, configuration: configuration)
  }

  /// One with these keys, all of them in LMDB.
  static func flushed(_ bench: Bench, _ name: String, _ keys: [Int]) throws -> DiskCache<Int, Int> {
    let cache = try integers(bench.freshFolder(name))
    try cache.fill(with: keys)
    try cache.checkpoint()
    return cache
  }

  /// What is closed here is thrown away: how its last flush went does not matter.
  static func closeQuietly<Value>(_ cache: DiskCache<Int, Value>) { try? cache.close() }
}

extension Bench {
  /// One sample of reading the next keys of `rounds`, after all of them were read.
  func read<Store: DurableStore<Int>>(
    _ rounds: Rounds<Int>, in store: Store, warmUp: Bool = true
  ) throws -> Double {
    if warmUp { try rounds.warmUp { consume(try sum(of: $0, in: store)) } }
    return try rounds.sample { keys in
      var found = 0
      let time = try time(keys.count, loop: .swift) { found = try sum(of: keys, in: store) }
      return (found, time)
    }
  }

  func read(_ rounds: Rounds<Int>, in store: LMDBStore, warmUp: Bool = true) throws -> Double {
    if warmUp { try rounds.warmUp { consume(try store.sum(of: $0)) } }
    return try rounds.sample { keys in
      var found = 0
      let time = try time(keys.count, loop: .c) { found = try store.sum(of: keys) }
      return (found, time)
    }
  }

  /// One sample of storing new integers under the next keys of `rounds`, whose sums are all 0.
  ///
  /// - Parameter then: What belongs to the time besides.
  func write<Store: DurableStore<Int>>(
    _ rounds: Rounds<Int>, in store: Store, then: () throws -> Void = {}
  ) throws -> Double {
    let difference = Int(truncatingIfNeeded: rivals_now_ns())
    return try rounds.sample { keys in
      let time = try time(keys.count, loop: .swift) {
        try fill(store, with: keys, difference: difference)
        try then()
      }
      return (0, time)
    }
  }
}

extension Rounds<Int> {
  /// Keys that are only written: nothing is read, and so the sum to expect is 0.
  convenience init(writing keys: [Int], size: Int) {
    self.init(keys, values: [Int](repeating: 0, count: keys.count), size: size)
  }

  /// Keys with the integers that the loops store under them.
  convenience init(reading keys: [Int], size: Int) {
    self.init(keys, values: keys.map(value(of:)), size: size)
  }
}
