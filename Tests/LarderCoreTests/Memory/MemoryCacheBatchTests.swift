// SPDX-License-Identifier: MIT

import LarderCore
import LarderTestSupport
import Testing

/// Many keys in one call.
struct MemoryCacheBatchTests {
  @Test(arguments: [0, 1, 127, 128, 129, 1000]) func batchesDoWhatSingleCallsDo(count: Int) {
    let cache = MemoryCache<Int, String>()
    cache.set(
      Dictionary(uniqueKeysWithValues: (0..<count).map { ($0, "\($0)") }), cost: 2)
    #expect(cache.count == count)
    #expect(cache.totalCost == 2 * count)
    let values = cache.values(forKeys: -10..<(count + 10))
    #expect(values == Dictionary(uniqueKeysWithValues: (0..<count).map { ($0, "\($0)") }))
    #expect(cache.statistics.hits == UInt64(count))
    #expect(cache.statistics.misses == 20)
    #expect(cache.remove(forKeys: stride(from: 0, to: count + 10, by: 2)) == (count + 1) / 2)
    #expect(Set(cache.keys()) == Set((0..<count).filter { $0 % 2 == 1 }))
    #expect(cache.remove(forKeys: []) == 0)
    #expect(cache.contradiction() == nil)
  }

  @Test func batchIsStoredInItsOrderWithinTheLimits() {
    let ear = Ear<Int, String>()
    let cache = makeCache {
      $0.countLimit = 100
      $0.onRemoval = { ear.hear($0) }
    }
    cache.set((0..<300).map { (key: $0, value: "\($0)") })
    #expect(cache.keys(.leastRecentFirst) == Array(200..<300))
    #expect(ear.gone == (0..<200).map { Gone($0, .evictedForCount) })
  }

  @Test func laterOfTwoValuesUnderOneKeyStays() {
    let ear = Ear<Int, String>()
    let cache = makeCache { $0.onRemoval = { ear.hear($0) } }
    cache.set([(key: 1, value: "a"), (key: 2, value: "b"), (key: 1, value: "c")])
    #expect(cache.value(forKey: 1) == "c")
    #expect(ear.all == [Removal(key: 1, value: "a", cause: .replaced)])
  }

  @Test func batchHasAnExpiration() {
    let clock = ManualClock()
    let cache = makeCache { $0.clock = clock.clock }
    cache.set((0..<200).map { (key: $0, value: "") }, expiration: .seconds(5))
    clock.advance(5)
    #expect(cache.values(forKeys: 0..<200).isEmpty)
    #expect(cache.isEmpty)
  }

  @Test func batchMayComeFromTheCacheItself() {
    let cache = MemoryCache<Int, String>()
    cache.fill(0..<300)
    cache.set(
      (0..<300).lazy.map { (key: $0 + 1000, value: cache.value(forKey: $0) ?? "missing") })
    #expect(cache.count == 600)
    #expect(cache.value(forKey: 1299) == "299")
    #expect(cache.remove(forKeys: (0..<300).lazy.filter { cache.contains($0 + 1000) }) == 300)
  }
}
