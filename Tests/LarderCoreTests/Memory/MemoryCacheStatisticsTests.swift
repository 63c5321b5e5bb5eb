// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// What is counted.
struct MemoryCacheStatisticsTests {
  @Test(arguments: EvictionPolicy.allCases, [Int.max, 50])
  func everyReadIsAHitOrAMiss(policy: EvictionPolicy, limit: Int) {
    let cache = MemoryCache<Int, String>(policy: policy, countLimit: limit)
    var hits: UInt64 = 0
    for step in 0..<1000 {
      if cache.value(forKey: step % 70) != nil { hits += 1 } else { cache.fill([step % 70]) }
      _ = cache.peek(forKey: step % 70)
      _ = cache.contains(step % 70)
    }
    let statistics = cache.statistics
    #expect(statistics.hits == hits)
    #expect(statistics.misses == 1000 - hits)
    #expect(statistics.reads == 1000)
    #expect(statistics.insertions == 1000 - hits)
    #expect(statistics.hitRatio == Double(hits) / 1000)
    #expect(statistics.insertions - statistics.evictions == UInt64(statistics.count))
  }

  @Test func threadsReadsAreAllCounted() {
    let cache = MemoryCache<Int, String>()
    cache.fill(0..<100)
    onThreads(4) { _ in
      for key in 0..<10_000 { _ = cache.value(forKey: key % 200) }
    }
    #expect(cache.statistics.hits == 20_000)
    #expect(cache.statistics.misses == 20_000)
  }

  @Test func statisticsTellWhatIsThere() {
    let cache = MemoryCache<Int, Int>()
    #expect(cache.statistics.count == 0)
    for key in 0..<10_000 { cache.set(key, forKey: key, cost: 2) }
    let statistics = cache.statistics
    #expect(statistics.count == 10_000)
    #expect(statistics.cost == 20_000)
    #expect(statistics.memoryBytes >= 160_000)
    #expect(statistics.memoryBytes <= 1_000_000)
  }

  @Test func resetBeginsAtNothingButForWhatIsThere() throws {
    let cache = MemoryCache<Int, String>(policy: .lru, countLimit: 3)
    cache.fill(1...5, cost: 2)
    cache.fill([5], cost: 2)
    _ = cache.value(forKey: 1)
    _ = cache.value(forKey: 5)
    _ = try cache.value(forKey: 9) { "" }
    cache.remove(forKey: 9)
    cache.resetStatistics()
    var expected = CacheStatistics()
    let statistics = cache.statistics
    #expect(statistics.count == 2)
    #expect(statistics.cost == 4)
    expected = try changed(expected, from: statistics)
    #expect(statistics == expected)
    _ = cache.value(forKey: 5)
    #expect(cache.statistics.hits == 1)
  }

  /// The figures that no reset changes.
  private func changed(
    _ empty: CacheStatistics, from statistics: CacheStatistics
  ) throws -> CacheStatistics {
    var fields = try #require(
      JSONSerialization.jsonObject(with: JSONEncoder().encode(empty)) as? [String: Any])
    fields["count"] = statistics.count
    fields["cost"] = statistics.cost
    fields["memoryBytes"] = statistics.memoryBytes
    return try JSONDecoder().decode(
      CacheStatistics.self, from: JSONSerialization.data(withJSONObject: fields))
  }

  /// Each hit counts what its entry cost when it was read.
  @Test(arguments: EvictionPolicy.allCases)
  func costOfHitsIsCounted(policy: EvictionPolicy) {
    let cache = MemoryCache<Int, String>(policy: policy, costLimit: 100)
    cache.fill([1], cost: 30)
    cache.fill([2], cost: 5)
    for key in [1, 2, 1, 3] { _ = cache.value(forKey: key) }
    #expect(cache.statistics.hitCost == 65)
    cache.fill([1], cost: 1)
    _ = cache.value(forKey: 1)
    #expect(cache.statistics.hitCost == 66)
    cache.resetStatistics()
    #expect(cache.statistics.hitCost == 0)
  }

  @Test func statisticsAreCodedAndDescribed() throws {
    let cache = MemoryCache<Int, String>(policy: .lru, countLimit: 2)
    cache.fill(1...5)
    _ = cache.value(forKey: 5)
    _ = cache.value(forKey: 1)
    _ = try cache.value(forKey: 7) { "seven" }
    let statistics = cache.statistics
    let coded = try JSONEncoder().encode(statistics)
    #expect(try JSONDecoder().decode(CacheStatistics.self, from: coded) == statistics)
    #expect(statistics.description.hasPrefix("33.3 % of 3 reads hit; 6 insertions; gone: "))
    #expect(CacheStatistics().hitRatio == 0)
    #expect(CacheStatistics().averageLoadTime == .zero)
  }
}
