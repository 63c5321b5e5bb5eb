// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// Memory that comes back after a restart. With `LARDER_RESTART_REQUESTS` in the environment,
/// hit ratios are those of so many requests.
struct CacheHotKeysTests {
  private let folder: TemporaryDirectory
  private let requestCount =
    ProcessInfo.processInfo.environment["LARDER_RESTART_REQUESTS"].flatMap { Int($0) } ?? 5000
  private let restored = Locked<CacheRestoration?>(nil)

  init() throws { folder = try TemporaryDirectory() }

  private var path: String { folder.file("cache").path }
  private var file: String { path + "/hot" }

  /// What is in the file.
  private func hotKeys() throws -> [Data] {
    let folder = try StoreFolder(path: path, location: path, isReadOnly: false)
    return try HotKeyFile(folder: folder).read()
  }

  private func open(
    countLimit: Int = 1000, policy: EvictionPolicy = .standard,
    _ change: (inout CacheConfiguration<Int, String>) -> Void = { _ in }
  ) async throws -> Cache<Int, String> {
    var configuration = CacheConfiguration<Int, String>()
    configuration.memory.countLimit = countLimit
    configuration.memory.policy = policy
    configuration.keepsHotKeys = true
    restored.withLock { $0 = nil }
    configuration.onRestored = { [restored] done in restored.withLock { $0 = done } }
    change(&configuration)
    let cache = try Cache(at: .path(path), configuration: configuration)
    if configuration.keepsHotKeys { await until { restored.withLock { $0 != nil } } }
    return cache
  }

  /// The keys of a trace in which few are asked for often.
  private func requests(_ count: Int, _ random: inout SeededGenerator) -> [Int] {
    // By inversion of the sum of 1/n, which is its logarithm.
    (0..<count).map { _ in
      Int(exp(Double.random(in: 0..<log(4 * Double(requestCount)), using: &random)))
    }
  }

  private func hitRatio(_ cache: Cache<Int, String>, _ keys: [Int]) throws -> Double {
    cache.resetStatistics()
    for key in keys { #expect(try cache.value(forKey: key) { "\(key)" } == "\(key)") }
    return cache.statistics.memory.hitRatio
  }

  @Test(arguments: EvictionPolicy.allCases)
  func bringingBackIsNoUse(policy: EvictionPolicy) async throws {
    let clock = CacheTestClock()
    var cache = try await open(policy: policy) { $0.clock = clock.clock }
    try await cache.set("idle", forKey: 1, expiration: .afterAccess(.seconds(60)))
    try await cache.set("other", forKey: 2)
    clock.advance(39)
    try await cache.close()
    cache = try await open(policy: policy) { $0.clock = clock.clock }
    #expect(restored.withLock { $0?.count } == 2)
    #expect(try await cache.value(forKey: 2) == "other")
    try await cache.checkpoint()
    clock.advance(39)
    #expect(try await cache.value(forKey: 1) == nil)
    #expect(try await cache.diskCache?.keys() == [2])
    try await cache.close()
  }

  @Test(arguments: [EvictionPolicy.adaptive, .lru, .s3fifo])
  func hitRatioIsWhatItWasBeforeTheRestart(policy: EvictionPolicy) async throws {
    var random = SeededGenerator(seed: 6)
    let comment: Comment = "seed \(random.seed)"
    let limit = requestCount / 5
    let cache = try await open(countLimit: limit, policy: policy)
    _ = try hitRatio(cache, requests(6 * requestCount, &random))
    let before = try hitRatio(cache, requests(requestCount, &random))
    try await cache.close()
    let again = try await open(countLimit: limit, policy: policy)
    #expect(restored.withLock { $0?.count } == limit && again.memoryCache.count == limit)
    let after = try hitRatio(again, requests(requestCount, &random))
    #expect(before > 0.5 && after >= 0.95 * before, "\(before), \(after), \(comment)")
    try await again.close()
    // Without it, memory is empty.
    let cold = try await open(policy: policy) { $0.keepsHotKeys = false }
    #expect(cold.memoryCache.isEmpty)
    try await cold.close()
  }

  @Test func cacheWithoutADiskHasNothingToRestore() throws {
    var configuration = CacheConfiguration<Int, String>()
    configuration.keepsHotKeys = true
    configuration.onRestored = { [restored] done in restored.withLock { $0 = done } }
    _ = Cache(name: "no disk", tiers: [], configuration: configuration)
    #expect(restored.withLock { $0?.count == 0 && $0?.failure == nil })
  }

  @Test func hottestComeBackAndTheLimitsHold() async throws {
    let cache = try await open(policy: .lru)
    for key in 0..<100 { try await cache.set("\(key)", forKey: key) }
    for key in 0..<10 { _ = try await cache.value(forKey: key) }
    try await cache.close()
    let small = try await open(countLimit: 20, policy: .lru)
    #expect(small.memoryCache.count == 20)
    #expect(small.memoryCache.keys(.mostRecentFirst).prefix(10) == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    #expect(small.statistics.memory.hits == 0 && small.statistics.tiers[0].hits == 0)
    try await small.close()
    let costly = try await open(policy: .lru) {
      $0.memory.cost = { _, _ in 10 }
      $0.memory.costLimit = 55
    }
    #expect(costly.memoryCache.count == 5 && costly.memoryCache.contains(9))
    try await costly.close()
  }

  @Test func whatIsGoneOrExpiredDoesNotComeBack() async throws {
    let cache = try await open()
    for key in 0..<10 { try await cache.set("\(key)", forKey: key) }
    try await cache.close()
    let disk = try DiskCache<Int, String>(at: .path(path))
    try await disk.remove(forKey: 3)
    try await disk.set("", forKey: 4, expiration: .seconds(0))
    try await disk.set("newer", forKey: 5)
    try await disk.close()
    let again = try await open()
    #expect(Set(again.memoryCache.keys()) == [0, 1, 2, 5, 6, 7, 8, 9])
    #expect(again.memoryCache.peek(forKey: 5) == "newer")
    try await again.close()
  }

  @Test func fileThatIsNotUnderstoodIsReportedAndLeft() async throws {
    let cache = try await open()
    for key in 0..<10 { try await cache.set("\(key)", forKey: key) }
    try await cache.close()
    let good = try Data(contentsOf: URL(fileURLWithPath: file))
    var newer = [UInt8](good)
    newer[8] = 99
    newer.sealFixed()
    for (bytes, code) in [
      (
        Data("somebody's".utf8 + [UInt8](repeating: 65, count: 4000)),
        LarderError.Code.notALarderFile
      ),
      (Data(newer), .incompatibleVersion),
    ] {
      try bytes.write(to: URL(fileURLWithPath: file))
      let again = try await open()
      #expect(restored.withLock { $0?.failure?.code } == code && again.memoryCache.isEmpty)
      #expect(try await again.value(forKey: 1) == "1")
      try await again.close()
      #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == bytes)
    }
    // One of ours that is damaged is of no use, nor what a power cut leaves: written once more. An
    // empty one is none yet.
    for useless in [good.prefix(good.count / 2), Data(), Data(count: 4096)] {
      try useless.write(to: URL(fileURLWithPath: file))
      let again = try await open()
      #expect(restored.withLock { ($0?.failure == nil) == useless.isEmpty })
      #expect(try await again.value(forKey: 1) == "1")
      try await again.close()
      let last = try await open()
      #expect(restored.withLock { $0?.failure == nil && $0?.count == 1 })
      try await last.close()
    }
  }

  @Test func orderIsWrittenNowAndThenByAFlush() async throws {
    let clock = CacheTestClock()
    let cache = try await open { $0.clock = clock.clock }
    for key in 0..<10 { try await cache.set("\(key)", forKey: key) }
    clock.advance(59)
    try await cache.checkpoint()
    #expect(!FileManager.default.fileExists(atPath: file))
    clock.advance(1)
    try await cache.checkpoint()
    #expect(try hotKeys().count == 10)
    #expect(!FileManager.default.fileExists(atPath: path + "/hot.new"))
    try await cache.close()
  }

  @Test func cacheThatReadsOnlyRestoresAndWritesNothing() async throws {
    let cache = try await open()
    for key in 0..<10 { try await cache.set("\(key)", forKey: key) }
    try await cache.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: file))
    let reader = try await open { $0.disk.isReadOnly = true }
    #expect(reader.memoryCache.count == 10)
    try await reader.close()
    #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == before)
  }

  @Test func aCacheThatIsClosedAtOnceKeepsItsKeys() throws {
    var configuration = CacheConfiguration<Int, String>()
    configuration.keepsHotKeys = true
    for round in 0..<20 {
      let path = folder.file("\(round)").path
      // Nobody waits for what is read when a cache is opened: from nothing, and from a file.
      for keys in [0..<10, 10..<20] {
        let cache = try Cache<Int, String>(at: .path(path), configuration: configuration)
        for key in keys { try cache.set("\(key)", forKey: key) }
        try cache.close()
      }
      let held = try StoreFolder(path: path, location: path, isReadOnly: false)
      let kept = try HotKeyFile(folder: held).read()
      #expect(kept.count == 20 && Set(kept).count == 20, "round \(round)")
    }
  }

  @Test func writesOfOtherKeysCostNoKeyItsPlace() async throws {
    let cache = try await open()
    for key in 0..<100 { try await cache.set("\(key)", forKey: key) }
    try await cache.close()
    let hasBegun = Locked(false)
    let mayGoOn = DispatchSemaphore(value: 0)
    let coder = Coder<String>(encode: { Data($0.utf8) }) { bytes in
      let isFirst = hasBegun.withLock { begun in
        defer { begun = true }
        return !begun
      }
      if isFirst { mayGoOn.wait() }
      return String(decoding: bytes, as: UTF8.self)
    }
    var configuration = CacheConfiguration<Int, String>()
    configuration.keepsHotKeys = true
    restored.withLock { $0 = nil }
    configuration.onRestored = { [restored] done in restored.withLock { $0 = done } }
    let again = try Cache(at: .path(path), coder: coder, configuration: configuration)
    await until { hasBegun.withLock { $0 } }
    // So many that each key of the file shares its group with one that is being written.
    let others = 1000..<2000
    var turns: [(Int, CacheWriters<Int>.Token)] = []
    for key in others { turns.append((key, await again.writers.begin(key))) }
    mayGoOn.signal()
    await until { restored.withLock { $0 != nil } }
    for (key, turn) in turns { again.writers.end(key, turn) }
    #expect(restored.withLock { $0?.count } == 100)
    try await again.close()
    #expect(try hotKeys().count == 100)
  }

  @Test func closeStopsTheRestoration() async throws {
    let cache = try await open(countLimit: 20_000)
    for key in 0..<5000 { try await cache.set("\(key)", forKey: key) }
    try await cache.close()
    var configuration = CacheConfiguration<Int, String>()
    configuration.keepsHotKeys = true
    configuration.onRestored = { [restored] done in restored.withLock { $0 = done } }
    restored.withLock { $0 = nil }
    let again = try Cache<Int, String>(at: .path(path), configuration: configuration)
    try await again.close()
    await until { restored.withLock { $0 != nil } }
    #expect(again.memoryCache.isEmpty)
    // Its order is still good, unless all was restored: nothing was lost.
    #expect(try hotKeys().count == 5000)
  }
}
