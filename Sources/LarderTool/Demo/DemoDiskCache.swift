// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderCore
import LarderLogTool

/// Kills a process that writes to a cache on disk, again and again, and looks at what is left.
///
/// Write number n goes to key n modulo 1,000, so that what has to be there after any number of
/// writes can be told from that number alone.
enum DemoDiskCache {
  private static let rounds = 5
  private static let keys = 1_000

  /// The cache as the demo and the process that is killed both open it.
  static func open(_ folder: String) throws -> DiskCache<Int, Data> {
    try DiskCache(at: .path(folder))
  }

  static func key(_ number: UInt64) -> Int { Int(number % UInt64(keys)) }

  /// Every hundredth value is so large that it is lent rather than copied when it is read.
  static func value(_ number: UInt64) -> Data {
    let message = DemoMessage.make(number)
    guard number.isMultiple(of: 100) else { return message }
    return Data((0..<400).flatMap { _ in message })
  }

  /// The newest write that there is, and whether all that has to be there then is: byte for byte,
  /// and nothing else.
  static func inspect(_ cache: DiskCache<Int, Data>) throws -> (newest: UInt64, isWhole: Bool) {
    var found: [Int: Data] = [:]
    var newest: UInt64 = 0
    try cache.forEachEntry { entry in
      found[entry.key] = entry.value
      newest = max(newest, number(of: entry.value))
      return true
    }
    guard newest > 0 else { return (0, found.isEmpty) }
    let oldest = newest > UInt64(keys) ? newest - UInt64(keys) + 1 : 1
    let isWhole =
      found.count == Int(newest - oldest + 1)
      && (oldest...newest).allSatisfy { found[key($0)] == value($0) }
    return (newest, isWhole)
  }

  /// The number in `message 0000004711 …`; 0 for what is none.
  private static func number(of value: Data) -> UInt64 {
    UInt64(String(decoding: value.dropFirst(8).prefix(10), as: UTF8.self)) ?? 0
  }

  static func run(_ tour: Tour) throws {
    try tour.heading("A cache on disk, and kill -9, five times")
    tour.explain(
      """
      Another process stores values under \(Quantity.count(keys)) keys as fast as it can, every
      hundredth of 40,000 bytes, and reports each when its call has returned. It is killed at a
      random moment, and the cache is opened again.
      """)
    let folder = tour.file("cache").path
    tour.row(["acknowledged", "found", "entries", "reopened in"])
    var before: UInt64 = 0
    for _ in 1...rounds {
      let acknowledged = try tour.killWriter(["demo-cache-writer", folder], after: 500...5_000)
      let clock = ContinuousClock()
      let start = clock.now
      let cache = try open(folder)
      let opening = start.duration(to: clock.now)
      let (newest, isWhole) = try inspect(cache)
      let count = try cache.count
      tour.row([
        Quantity.count(acknowledged), Quantity.count(newest), Quantity.count(count),
        tour.time(opening),
      ])
      guard newest >= acknowledged, isWhole, acknowledged > before else {
        return try tour.claim(
          false, "Every acknowledged value survived.",
          otherwise: "Write \(acknowledged) was acknowledged, the newest found is \(newest), and "
            + "the entries are \(isWhole ? "" : "not ")those of that write.")
      }
      before = newest
      try cache.close()
    }
    try tour.claim(
      true, "Every acknowledged write survived every kill: what is found is what was there.")
    let cache = try open(folder)
    let report = try cache.verify()
    try tour.claim(
      report.isIntact && report.intact == UInt64(try cache.count),
      "Every page, entry and segment of it is sound, and no segment is left over.",
      otherwise: CacheText.findings(report).joined(separator: "; "))
    try cache.close()
    try runTiers(tour, folder)
    try FileManager.default.removeItem(atPath: folder)
  }

  /// Memory over the same disk.
  private static func runTiers(_ tour: Tour, _ folder: String) throws {
    let cache = try Cache<Int, Data>(at: .path(folder))
    let (newest, _) = try inspectTiers(cache)
    let clock = ContinuousClock()
    let times = 100_000
    let duration = try clock.measure {
      for number in 0..<times { _ = try cache.value(forKey: number % 64) }
    }
    tour.show("with memory over it, a read takes \(tour.time(duration / times))")
    try cache.set(nil, forKey: key(newest))
    let isGone = try cache.value(forKey: key(newest)) == nil
    try tour.claim(
      isGone && cache.diskCache?.contains(key(newest)) == false
        && cache.memoryCache.count > 0,
      "What is removed is gone from memory and from the disk.")
    try cache.close()
  }

  private static func inspectTiers(
    _ cache: Cache<Int, Data>
  ) throws -> (newest: UInt64, isWhole: Bool) {
    guard let disk = cache.diskCache else { return (0, false) }
    return try inspect(disk)
  }
}
