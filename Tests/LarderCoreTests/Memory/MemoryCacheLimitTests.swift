// SPDX-License-Identifier: MIT

import LarderCore
import LarderTestSupport
import Testing

/// Limits hold when a call returns, whatever they are.
struct MemoryCacheLimitTests {
  static let policies = EvictionPolicy.allCases

  @Test func settingAFourthEntryEvictsTheLeastRecent() {
    let cache = MemoryCache<Int, String>(policy: .lru, countLimit: 3)
    cache.fill(1...3)
    cache.fill([4])
    #expect(Set(cache.keys()) == [2, 3, 4])
    #expect(cache.value(forKey: 2) == "2")
    cache.fill([5])
    #expect(Set(cache.keys()) == [2, 4, 5])
    #expect(cache.contradiction() == nil)
  }

  @Test func readingDoesNotSaveAnEntryFromLeavingFirstInFirstOut() {
    let cache = MemoryCache<Int, String>(policy: .fifo, countLimit: 3)
    cache.fill(1...3)
    #expect(cache.value(forKey: 1) == "1")
    cache.fill([4])
    #expect(Set(cache.keys()) == [2, 3, 4])
  }

  @Test func neitherPeekingNorContainingIsAUse() {
    let cache = MemoryCache<Int, String>(policy: .lru, countLimit: 3)
    cache.fill(1...3)
    #expect(cache.peek(forKey: 1) == "1")
    #expect(cache.contains(1))
    _ = cache.entries()
    cache.fill([4])
    #expect(!cache.contains(1))
  }

  @Test(arguments: policies)
  func countLimitHoldsAfterEveryCallAndTheNewestIsReadable(policy: EvictionPolicy) {
    for limit in [1, 2, 3, 10, 100] {
      let cache = MemoryCache<Int, String>(policy: policy, countLimit: limit)
      for key in 0..<(limit * 3 + 10) {
        cache.fill([key])
        #expect(cache.peek(forKey: key) == "\(key)", "\(policy) \(limit)")
        #expect(cache.count == min(limit, key + 1))
      }
      #expect(cache.contradiction() == nil)
      #expect(cache.statistics.evictedForCount == UInt64(limit * 2 + 10))
    }
  }

  @Test(arguments: policies)
  func costLimitHoldsAfterEveryCall(policy: EvictionPolicy) {
    let cache = MemoryCache<Int, String>(policy: policy, costLimit: 100)
    for key in 0..<500 {
      cache.fill([key], cost: key % 30)
      #expect(cache.totalCost <= 100)
      #expect(cache.peek(forKey: key) == "\(key)")
    }
    #expect(cache.contradiction() == nil)
  }

  /// A thousand entries that are used again and again, and one newcomer of half
  /// the limit: it is not kept for them, but for what was used once.
  @Test func adaptiveWeighsUsesByCost() {
    let cache = MemoryCache<Int, String>(policy: .adaptive, costLimit: 1000)
    cache.fill(0..<1000, cost: 1)
    cache.fill([1000], cost: 500)
    #expect(cache.peek(forKey: 1000) != nil)
    #expect(cache.totalCost <= 1000)
    cache.removeAll()
    cache.fill(0..<1000, cost: 1)
    for _ in 0..<5 { for key in 0..<1000 { #expect(cache.value(forKey: key) != nil) } }
    cache.fill([1000], cost: 500)
    #expect(cache.peek(forKey: 1000) == nil)
    #expect(cache.count == 1000)
    #expect(cache.contradiction() == nil)
  }

  /// Two entries of which one alone fits: the one that nobody read makes room.
  @Test func aHeavyEntryThatWasNeverReadMakesRoomForTheNext() {
    let cache = MemoryCache<Int, String>(policy: .adaptive, costLimit: 1000)
    cache.fill([0], cost: 10)
    cache.fill([1], cost: 900)
    #expect(cache.value(forKey: 0) != nil)
    for key in 2..<100 {
      cache.fill([key], cost: key % 2 == 0 ? 300 : 800)
      #expect(cache.peek(forKey: key) != nil)
    }
    #expect(cache.peek(forKey: 0) != nil && cache.totalCost <= 1000)
    #expect(cache.contradiction() == nil)
  }

  @Test(arguments: policies)
  func entryHeavierThanTheLimitIsNotKeptAndEvictsNothingElse(policy: EvictionPolicy) {
    let ear = Ear<Int, String>()
    let cache = makeCache(policy: policy) {
      $0.costLimit = 100
      $0.onRemoval = { ear.hear($0) }
    }
    cache.fill(1...10, cost: 10)
    cache.fill([11], cost: 101)
    #expect(Set(cache.keys()) == Set(1...10))
    #expect(ear.gone == [Gone(11, .evictedForCost)])
    cache.set("heavy", forKey: 5, cost: 101)
    #expect(Set(cache.keys()) == Set(1...10).subtracting([5]))
    #expect(ear.gone == [Gone(11, .evictedForCost), Gone(5, .replaced), Gone(5, .evictedForCost)])
    #expect(ear.all.map(\.value) == ["11", "5", "heavy"])
    cache.fill([12], cost: 10)
    #expect(cache.totalCost == 100)
    #expect(cache.contradiction() == nil)
  }

  @Test(arguments: policies)
  func entryHeavierThanTheLimitOfAFullCacheIsEvictedForItsCost(policy: EvictionPolicy) {
    let ear = Ear<Int, String>()
    let cache = makeCache(policy: policy) {
      $0.countLimit = 3
      $0.costLimit = 100
      $0.onRemoval = { ear.hear($0) }
    }
    cache.fill(1...3, cost: 1)
    cache.fill([4], cost: 101)
    #expect(ear.gone == [Gone(4, .evictedForCost)])
    #expect(Set(cache.keys()) == [1, 2, 3])
  }

  @Test(arguments: policies)
  func entryAsHeavyAsTheLimitIsKeptAlone(policy: EvictionPolicy) {
    let cache = MemoryCache<Int, String>(policy: policy, costLimit: 100)
    cache.fill(1...10, cost: 10)
    cache.fill([11], cost: 100)
    #expect(cache.keys() == [11])
    #expect(cache.totalCost == 100)
  }

  @Test(arguments: policies)
  func loweredLimitsHoldAtOnce(policy: EvictionPolicy) {
    let cache = MemoryCache<Int, String>(policy: policy)
    cache.fill(0..<1000, cost: 3)
    cache.countLimit = 600
    #expect(cache.count == 600)
    cache.costLimit = 900
    #expect(cache.count == 300)
    #expect(cache.totalCost == 900)
    cache.countLimit = 10
    #expect(cache.count == 10)
    #expect(cache.countLimit == 10)
    #expect(cache.costLimit == 900)
    cache.countLimit = .max
    cache.costLimit = .max
    cache.fill(0..<1000, cost: 3)
    #expect(cache.count == 1000)
    #expect(cache.contradiction() == nil)
  }

  @Test func firstLimitKeepsTheMostRecent() {
    let cache = MemoryCache<Int, String>(policy: .lru)
    cache.fill(1...6)
    for key in [2, 4, 1] { _ = cache.value(forKey: key) }
    cache.countLimit = 3
    #expect(cache.keys(.mostRecentFirst) == [1, 4, 2])
  }

  @Test(arguments: policies, [0, -1, .min])
  func limitsOfNothingKeepNothing(policy: EvictionPolicy, limit: Int) {
    let counted = MemoryCache<Int, String>(policy: policy, countLimit: limit)
    counted.fill(1...5)
    #expect(counted.isEmpty)
    #expect(counted.countLimit == 0)
    #expect(counted.statistics.evictedForCount == 5)
    counted.countLimit = 1
    counted.fill([1])
    #expect(counted.count == 1)
    counted.countLimit = limit
    #expect(counted.isEmpty)
    let weighed = MemoryCache<Int, String>(policy: policy, costLimit: limit)
    weighed.fill(1...5, cost: 1)
    #expect(weighed.isEmpty)
    weighed.fill(1...5, cost: 0)
    #expect(weighed.count == 5)
    #expect(weighed.costLimit == 0)
    #expect(weighed.contradiction() == nil)
  }

  @Test func negativeCostsCountAsNothing() {
    let cache = MemoryCache<Int, String>(costLimit: 10)
    cache.set("a", forKey: 1, cost: -5)
    cache.set("b", forKey: 2, cost: .min)
    #expect(cache.totalCost == 0)
    cache.set("c", forKey: 3, cost: 10)
    #expect(cache.count == 3)
    let computed = makeCache { $0.cost = { _, _ in -7 } }
    computed.fill(1...3)
    #expect(computed.totalCost == 0)
  }

  @Test(arguments: policies)
  func costsThatAddUpToMoreThanThereAreNumbersStayInOrder(policy: EvictionPolicy) {
    let unlimited = MemoryCache<Int, String>(policy: policy)
    unlimited.fill(1...5, cost: .max)
    #expect(unlimited.count == 5)
    #expect(unlimited.totalCost == .max)
    for key in 1...4 { unlimited.remove(forKey: key) }
    #expect(unlimited.totalCost == .max)
    unlimited.remove(forKey: 5)
    #expect(unlimited.totalCost == 0)
    let limited = MemoryCache<Int, String>(policy: policy, costLimit: .max - 1)
    limited.fill([1], cost: .max - 1)
    #expect(limited.count == 1)
    limited.fill([2], cost: .max - 1)
    #expect(limited.keys() == [2])
    limited.fill([3], cost: .max)
    #expect(limited.keys() == [2])
    #expect(limited.contradiction() == nil)
  }

  @Test func aHeavierValueUnderAKeyEvictsOthers() {
    let cache = MemoryCache<Int, String>(policy: .lru, costLimit: 30)
    cache.fill(1...3, cost: 10)
    cache.set("heavier", forKey: 1, cost: 20)
    #expect(cache.keys(.leastRecentFirst) == [3, 1])
    #expect(cache.totalCost == 30)
  }
}
