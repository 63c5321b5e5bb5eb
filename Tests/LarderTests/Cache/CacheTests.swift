// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Memory over a tier: setting, getting, removing.
struct CacheTests {
  @Test(arguments: [false, true])
  func whatIsSetIsInMemoryAndInTheTier(local: Bool) throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier, local: local)
    try cache.set("one", forKey: 1)
    #expect(cache.memoryCache.peek(forKey: 1) == "one")
    #expect(tier[1] == "one")
    #expect(try cache.value(forKey: 1) == "one")
    #expect(tier.count(.read) == 0)
    #expect(try cache.value(forKey: 2) == nil)
  }

  @Test func memoryHasALimitByDefault() throws {
    let limit = CacheConfiguration<Int, String>().memory.costLimit
    let memory = ProcessInfo.processInfo.physicalMemory
    #expect(limit > 0 && UInt64(limit) <= memory / 16)
    #expect(makeTieredCache(FakeTier<Int, String>()).memoryCache.costLimit == limit)
    #expect(MemoryCache<Int, String>().costLimit == .max)
  }

  @Test(arguments: [false, true])
  func whatIsOnlyInTheTierIsBroughtIntoMemory(local: Bool) throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier, local: local)
    try cache.set("one", forKey: 1)
    cache.memoryCache.removeAll()
    #expect(try cache.value(forKey: 1) == "one")
    #expect(cache.memoryCache.peek(forKey: 1) == "one")
    #expect(try cache.value(forKey: 1) == "one")
    #expect(tier.count(.read) == 1)
    #expect(cache.statistics.promotions == 1)
  }

  @Test func asynchronousFormsDoTheSame() async throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier)
    try await cache.set("one", forKey: 1, extendedData: Data("more".utf8))
    #expect(tier[1] == "one")
    cache.memoryCache.removeAll()
    #expect(try await cache.contains(1))
    #expect(try await !cache.contains(2))
    #expect(cache.memoryCache.isEmpty)
    #expect(try await cache.value(forKey: 1) == "one")
    #expect(cache.memoryCache.peek(forKey: 1) == "one")
    #expect(try await cache.value(forKey: 2) == nil)
    #expect(try await cache.extendedData(forKey: 1) == Data("more".utf8))
    #expect(try await cache.valueWithExtendedData(forKey: 1)?.value == "one")
    try await cache.set(nil, forKey: 1)
    #expect(try await cache.value(forKey: 1) == nil)
    #expect(tier.count == 0)
    try await cache.set("two", forKey: 2)
    try await cache.remove(forKey: 2)
    #expect(tier.count == 0 && cache.memoryCache.isEmpty)
    try await cache.set("three", forKey: 3)
    try await cache.removeAll()
    #expect(tier.count == 0 && cache.memoryCache.isEmpty)
  }

  @Test func removingRemovesFromBoth() throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier)
    for key in 1...3 { try cache.set("\(key)", forKey: key) }
    try cache.remove(forKey: 1)
    #expect(cache.memoryCache.peek(forKey: 1) == nil && tier[1] == nil)
    try cache.set(nil, forKey: 2)
    #expect(cache.memoryCache.peek(forKey: 2) == nil && tier[2] == nil)
    #expect(try !cache.contains(1) && !cache.contains(2) && cache.contains(3))
    try cache.removeAll()
    #expect(cache.memoryCache.isEmpty && tier.count == 0)
    #expect(try cache.value(forKey: 3) == nil)
  }

  @Test func removingAllReportsItsProgressAndMayBeStopped() async throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier)
    for key in 1...5 { try await cache.set("\(key)", forKey: key) }
    let told = Locked<[UInt64]>([])
    try await cache.removeAll { done, total in
      told.withLock { $0 += [done, total] }
      return true
    }
    #expect(told.withLock { $0 } == [5, 5])
    #expect(tier.count == 0)
    try await cache.set("six", forKey: 6)
    await #expect(throws: CancellationError.self) { try await cache.removeAll { _, _ in false } }
    #expect(cache.memoryCache.isEmpty)
  }

  @Test func removingByPrefixRemovesFromBoth() async throws {
    let tier = FakeTier<String, Int>()
    let cache = makeTieredCache(tier)
    for key in ["a/1", "a/2", "b/1"] { try await cache.set(1, forKey: key) }
    cache.memoryCache.remove(forKey: "a/1")
    #expect(try await cache.remove(prefix: "a/") == 2)
    #expect(tier.count == 1)
    #expect(cache.memoryCache.keys() == ["b/1"])
    #expect(try await cache.remove(prefix: "") == 1)
    #expect(tier.count == 0 && cache.memoryCache.isEmpty)
  }

  @Test func extendedDataIsKeptAndReplaced() throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier)
    try cache.set("one", forKey: 1, extendedData: Data([1, 2]))
    #expect(try cache.extendedData(forKey: 1) == Data([1, 2]))
    let both = try #require(try cache.valueWithExtendedData(forKey: 1))
    #expect(both.value == "one" && both.extendedData == Data([1, 2]))
    try cache.set("uno", forKey: 1)
    #expect(try cache.extendedData(forKey: 1) == nil)
    #expect(try cache.extendedData(forKey: 2) == nil)
    #expect(try cache.valueWithExtendedData(forKey: 2) == nil)
  }

  @Test func batchesReadWriteAndRemove() async throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier)
    let entries = (1...10).map { (key: $0, value: "\($0)") }
    try await cache.set(entries, cost: 2)
    #expect(tier.count == 10)
    #expect(cache.memoryCache.totalCost == 20)
    cache.memoryCache.remove(forKeys: 1...5)
    let values = try await cache.values(forKeys: 0...3)
    #expect(values == [1: "1", 2: "2", 3: "3"])
    try await cache.remove(forKeys: [1, 2, 99])
    #expect(tier.count == 8)
    try syncBatch(cache)
    #expect(tier.count == 1)
  }

  private func syncBatch(_ cache: Cache<Int, String>) throws {
    try cache.remove(forKeys: 3...10)
    try cache.set([(key: 1, value: "a"), (key: 1, value: "b")])
    #expect(try cache.values(forKeys: [1, 2]) == [1: "b"])
  }

  @Test func updatingStartsFromWhatTheTiersHaveAndKeepsExtendedData() throws {
    let tier = FakeTier<String, Int>()
    let cache = makeTieredCache(tier)
    for _ in 1...3 { try cache.update(forKey: "a") { $0 = ($0 ?? 0) + 1 } }
    #expect(tier["a"] == 3)
    try cache.set(10, forKey: "a", cost: 7, extendedData: Data([9]))
    cache.memoryCache.removeAll()
    let old = try cache.update(forKey: "a") { value in
      defer { value = 11 }
      return value
    }
    #expect(old == 10)
    #expect(try cache.extendedData(forKey: "a") == Data([9]))
    #expect(cache.memoryCache.totalCost == 7)
    #expect(throws: CacheTestFailure(number: 1)) {
      try cache.update(forKey: "a") {
        $0 = 99
        throw CacheTestFailure(number: 1)
      }
    }
    #expect(try cache.value(forKey: "a") == 11)
    try cache.update(forKey: "a") { $0 = nil }
    #expect(tier.count == 0 && cache.memoryCache.isEmpty)
    try cache.update(forKey: "b") { _ in }
    #expect(tier.count == 0)
  }

  @Test func updatesFromManyTasksAreAllCounted() async throws {
    let tier = FakeTier<Int, Int>()
    let cache = makeTieredCache(tier)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask {
          try await cache.update(forKey: number % 3) { $0 = ($0 ?? 0) + 1 }
        }
      }
      try await group.waitForAll()
    }
    #expect((0..<3).reduce(0) { $0 + (tier[$1] ?? 0) } == 200)
    for key in 0..<3 { #expect(try await cache.value(forKey: key) == tier[key]) }
  }

  @Test func namesAreForPeople() {
    let cache = makeTieredCache(FakeTier<Int, String>())
    #expect(cache.name == "test")
    #expect(cache.memoryCache.name == "test")
    #expect(cache.description.hasPrefix("<Cache<Int, String>: 0x"))
    #expect(cache.description.hasSuffix(" (test)"))
    #expect(cache.diskCache == nil)
  }

  @Test func emptyAndOptionalValuesAreValues() throws {
    let tier = FakeTier<String, String>()
    let cache = makeTieredCache(tier)
    try cache.set("", forKey: "")
    cache.memoryCache.removeAll()
    #expect(try cache.value(forKey: "") == "")
  }

  @Test func cacheWithoutTiersIsMemory() async throws {
    let cache = Cache<Int, String>(name: "memory", tiers: [])
    try await cache.set("one", forKey: 1)
    #expect(try await cache.value(forKey: 1) == "one")
    try await cache.update(forKey: 1) { $0?.append("!") }
    #expect(try await cache.value(forKey: 1) == "one!")
    try await cache.remove(forKey: 1)
    #expect(try await cache.value(forKey: 1) == nil)
  }

  @Test func closedCacheRefuses() async throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier)
    try await cache.set("one", forKey: 1)
    try await cache.close()
    try await cache.close()
    #expect(tier.state.withLock { $0.isClosed })
    #expect(cache.memoryCache.isEmpty)
    for call in [
      { _ = try await cache.value(forKey: 1) }, { _ = try await cache.contains(1) },
      { try await cache.set("two", forKey: 2) }, { try await cache.remove(forKey: 1) },
      { try await cache.removeAll() }, { try await cache.checkpoint() },
      { _ = try await cache.value(forKey: 1) { "loaded" } },
    ] as [() async throws -> Void] {
      do {
        try await call()
        Issue.record("No error.")
      } catch let error as LarderError {
        #expect(error.code == .closed)
      }
    }
  }

  @Test func statisticsCountEveryTier() async throws {
    let near = FakeTier<Int, String>("near")
    let far = FakeTier<Int, String>("far")
    let cache = makeTieredCache(near, far)
    try await cache.set("one", forKey: 1)
    try far.writeNow(CacheTierEntry(value: "two"), 2)
    _ = try await cache.value(forKey: 1)
    _ = try await cache.value(forKey: 2)
    _ = try await cache.value(forKey: 3)
    var statistics = cache.statistics
    #expect(statistics.tiers.map(\.name) == ["near", "far"])
    #expect(statistics.memory.hits == 1 && statistics.memory.misses == 2)
    #expect(statistics.tiers[0].misses == 2 && statistics.tiers[1].hits == 1)
    #expect(statistics.tiers[0].promotions == 1 && statistics.tiers[0].writes == 2)
    #expect(statistics.promotions == 1)
    #expect(statistics.hits == 2)
    #expect(statistics.hitRatio == 2.0 / 3.0)
    #expect(statistics.description.contains("near: 0.0 % of 2 reads hit"))
    cache.resetStatistics()
    statistics = cache.statistics
    #expect(statistics.hits == 0 && statistics.promotions == 0 && statistics.tiers[0].writes == 0)
    let copy = try JSONDecoder().decode(
      TieredCacheStatistics.self, from: JSONEncoder().encode(statistics))
    #expect(copy == statistics)
  }
}
