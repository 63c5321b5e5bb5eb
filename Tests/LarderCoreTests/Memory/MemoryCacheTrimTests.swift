// SPDX-License-Identifier: MIT

import LarderCore
import LarderTestSupport
import Testing

/// Trimming by hand.
struct MemoryCacheTrimTests {
  static let policies = EvictionPolicy.allCases

  @Test func trimToACountKeepsTheMostRecent() {
    let ear = Ear<Int, String>()
    for limit in [Int.max, 100] {
      let cache = makeCache {
        $0.countLimit = limit
        $0.onRemoval = { ear.hear($0) }
      }
      cache.fill(1...10)
      _ = cache.value(forKey: 1)
      cache.trim(toCount: 3)
      #expect(cache.keys(.mostRecentFirst) == [1, 10, 9])
      #expect(cache.countLimit == limit)
      #expect(cache.contradiction() == nil)
    }
    #expect(Set(ear.causes) == [.evictedForCount])
    #expect(ear.keys == Array(2...8) + Array(2...8))
  }

  @Test(arguments: policies, [0, -1, .min])
  func trimToNothingRemovesAll(policy: EvictionPolicy, count: Int) {
    for limit in [Int.max, 100] {
      let cache = MemoryCache<Int, String>(policy: policy, countLimit: limit)
      cache.fill(1...10, cost: 1)
      cache.trim(toCount: count)
      #expect(cache.isEmpty)
      cache.fill(1...10)
      cache.fill(11...20, cost: 1)
      cache.trim(toCost: count)
      #expect(cache.isEmpty)
      cache.trim(toCount: count)
      cache.trim(toCost: count)
      #expect(cache.contradiction() == nil)
    }
  }

  @Test func trimToACostKeepsTheMostRecent() {
    let ear = Ear<Int, String>()
    let cache = makeCache { $0.onRemoval = { ear.hear($0) } }
    cache.fill(1...10, cost: 10)
    cache.trim(toCost: 35)
    #expect(cache.keys(.mostRecentFirst) == [10, 9, 8])
    #expect(cache.totalCost == 30)
    #expect(Set(ear.causes) == [.evictedForCost])
    #expect(cache.costLimit == .max)
  }

  @Test(arguments: policies)
  func trimToMoreThanThereIsChangesNothing(policy: EvictionPolicy) {
    let cache = MemoryCache<Int, String>(policy: policy)
    cache.fill(1...10, cost: 10)
    for more in [100, 101, Int.max] {
      cache.trim(toCost: more)
      cache.trim(toCount: more)
    }
    cache.trim(toCount: 10)
    #expect(cache.count == 10)
  }

  @Test(arguments: policies)
  func trimLeavesPinnedEntries(policy: EvictionPolicy) {
    for limit in [Int.max, 100] {
      let cache = MemoryCache<Int, String>(policy: policy, countLimit: limit)
      cache.fill(1...10, cost: 5)
      #expect(cache.pin(3))
      cache.trim(toCount: 1)
      #expect(cache.keys() == [3])
      cache.trim(toCount: 0)
      cache.trim(toCost: 0)
      #expect(cache.keys() == [3])
    }
  }

  @Test func trimRemovesWhatHasExpiredFirst() {
    let clock = ManualClock()
    let ear = Ear<Int, String>()
    let cache = makeCache {
      $0.clock = clock.clock
      $0.onRemoval = { ear.hear($0) }
    }
    cache.fill(1...4)
    cache.fill(5...8, expiration: .seconds(1))
    clock.advance(2)
    cache.trim(toCount: 4)
    #expect(Set(ear.causes) == [.expired])
    #expect(Set(cache.keys()) == Set(1...4))
  }
}
