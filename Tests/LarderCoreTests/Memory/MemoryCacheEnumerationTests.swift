// SPDX-License-Identifier: MIT

import LarderCore
import LarderTestSupport
import Testing

/// Listing, pinning, updating.
struct MemoryCacheEnumerationTests {
  @Test(arguments: [Int.max, 100]) func leastRecentlyUsedOrderIsTheOrderOfUse(limit: Int) {
    let cache = MemoryCache<Int, String>(policy: .lru, countLimit: limit)
    cache.fill(1...5)
    _ = cache.value(forKey: 2)
    cache.fill([1])
    cache.update(forKey: 4) { _ in }
    #expect(cache.keys(.leastRecentFirst) == [3, 5, 2, 1, 4])
    #expect(cache.keys(.mostRecentFirst) == [4, 1, 2, 5, 3])
    #expect(Set(cache.keys()) == Set(1...5))
    // Listing is no use.
    #expect(cache.keys(.leastRecentFirst) == [3, 5, 2, 1, 4])
    #expect(cache.statistics.hits == 1)
  }

  @Test(arguments: [Int.max, 100]) func firstInFirstOutOrderIsTheOrderOfStoring(limit: Int) {
    let cache = MemoryCache<Int, String>(policy: .fifo, countLimit: limit)
    cache.fill(1...5)
    _ = cache.value(forKey: 2)
    cache.fill([1])
    #expect(cache.keys(.oldestFirst) == [1, 2, 3, 4, 5])
    #expect(cache.keys(.newestFirst) == [5, 4, 3, 2, 1])
  }

  @Test(arguments: EvictionPolicy.allCases, [Int.max, 1000])
  func everyOrderListsEverythingOnce(policy: EvictionPolicy, limit: Int) {
    let cache = MemoryCache<Int, String>(policy: policy, countLimit: limit)
    cache.fill(0..<500)
    for key in 0..<200 { _ = cache.value(forKey: key * 7 % 500) }
    for order in CacheOrder.allCases {
      let keys = cache.keys(order)
      #expect(keys.count == 500)
      #expect(Set(keys) == Set(0..<500))
    }
    #expect(cache.keys(.leastRecentFirst) == cache.keys(.mostRecentFirst).reversed())
  }

  @Test func entriesTellAllAboutThem() {
    let cache = MemoryCache<Int, String>(policy: .lru, countLimit: 10)
    cache.set("one", forKey: 1, cost: 5)
    cache.set("two", forKey: 2, cost: 0)
    #expect(cache.pin(2))
    #expect(
      cache.entries(.leastRecentFirst) == [
        CacheEntry(key: 1, value: "one", cost: 5), CacheEntry(key: 2, value: "two", isPinned: true),
      ])
  }

  @Test(arguments: [
    (0, []), (-1, []), (Int.min, []), (1, [1]), (2, [1, 2]), (4, [1, 2, 3]), (.max, [1, 2, 3]),
  ]) func listsAreAsLongAsWanted(limit: Int, keys: [Int]) {
    for bound in [Int.max, 10] {
      let cache = MemoryCache<Int, String>(policy: .lru, countLimit: bound)
      cache.fill(1...3)
      #expect(cache.entries(.leastRecentFirst, limit: limit).map(\.key) == keys)
    }
  }

  @Test func expiredEntriesAreNotListed() {
    let clock = ManualClock()
    let cache = makeCache { $0.clock = clock.clock }
    cache.fill([1])
    cache.fill([2], expiration: .seconds(1))
    clock.advance(1)
    #expect(cache.keys() == [1])
    #expect(cache.entries().map(\.key) == [1])
  }

  // MARK: - Pinning

  @Test(arguments: EvictionPolicy.allCases)
  func pinnedEntriesStayAndCount(policy: EvictionPolicy) {
    let cache = MemoryCache<Int, String>(policy: policy, countLimit: 3)
    cache.fill([1])
    #expect(cache.pin(1))
    #expect(cache.isPinned(1))
    cache.fill(2...50)
    #expect(cache.contains(1))
    #expect(cache.count == 3)
    #expect(cache.unpin(1))
    #expect(!cache.isPinned(1))
    cache.fill(51...100)
    #expect(cache.count == 3)
    if policy == .lru || policy == .fifo { #expect(!cache.contains(1)) }
    #expect(cache.contradiction() == nil)
  }

  @Test func pinnedEntriesStayOverALoweredLimit() {
    let cache = MemoryCache<Int, String>(policy: .lru, countLimit: 10)
    cache.fill(1...5, cost: 10)
    for key in 1...3 { cache.pin(key) }
    cache.countLimit = 2
    #expect(Set(cache.keys()) == [1, 2, 3])
    cache.costLimit = 0
    #expect(Set(cache.keys()) == [1, 2, 3])
    #expect(cache.unpin(2))
    #expect(Set(cache.keys()) == [1, 3])
    #expect(cache.contradiction() == nil)
  }

  @Test func pinningWhatIsNotThereFails() {
    let cache = MemoryCache<Int, String>()
    #expect(!cache.pin(1))
    #expect(!cache.unpin(1))
    #expect(!cache.isPinned(1))
    cache.fill([1])
    #expect(cache.pin(1))
    #expect(cache.pin(1))
    #expect(cache.unpin(1))
    #expect(cache.unpin(1))
  }

  @Test func replacingKeepsThePinAndRemovingEndsIt() {
    let cache = MemoryCache<Int, String>(policy: .lru, countLimit: 2)
    cache.fill([1])
    cache.pin(1)
    cache.fill([1])
    #expect(cache.isPinned(1))
    cache.remove(forKey: 1)
    cache.fill([1])
    #expect(!cache.isPinned(1))
    cache.pin(1)
    cache.removeAll()
    #expect(cache.isEmpty)
  }

  @Test func pinnedEntriesExpire() {
    let clock = ManualClock()
    let cache = makeCache {
      $0.clock = clock.clock
      $0.expiration = .seconds(1)
    }
    cache.fill([1])
    cache.pin(1)
    clock.advance(1)
    #expect(cache.value(forKey: 1) == nil)
    #expect(!cache.isPinned(1))
  }
}
