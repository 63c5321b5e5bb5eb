// SPDX-License-Identifier: MIT
import CLarder
import LarderTestSupport
import Testing

@Suite("Index: limits and who goes") struct IndexLimitTests {
  static let policies = IndexModelTests.policies

  @Test(arguments: policies, [0, 1, 2, 3, 7, 100] as [UInt64])
  func theLimitOfEntriesHoldsOnBothSides(policy: larder_index_policy, limit: UInt64) throws {
    let index = try Index(policy, count: limit)
    for key in 0..<limit + 5 {
      let gone = try index.set(key, key)
      // n - 1 and n leave all, n + 1 has to make room for one.
      #expect(gone.count == (key < limit ? 0 : 1))
      #expect(gone.allSatisfy { $0.cause == LARDER_INDEX_EVICTED_COUNT })
      #expect(index.count == Int(min(key + 1, limit)))
      // What was just stored can be read, if anything can.
      #expect(index.get(key) == (limit == 0 ? nil : key))
    }
    #expect(index.contradiction == nil)
  }

  @Test(arguments: policies, [0, 1, 9, 10, 11] as [UInt64])
  func theLimitOfCostHoldsOnBothSides(policy: larder_index_policy, cost: UInt64) throws {
    let index = try Index(policy, cost: 10)
    let gone = try index.set(1, 1, cost: cost)
    #expect(gone == (cost > 10 ? [IndexGone(1, LARDER_INDEX_EVICTED_COST)] : []))
    #expect(index.totalCost == (cost > 10 ? 0 : cost))
    // Another one of 1: only 10 leaves no room for it.
    #expect(try index.set(2, 2, cost: 1).map(\.key) == (cost == 10 ? [1] : []))
    #expect(index.totalCost <= 10)
    #expect(index.contradiction == nil)
  }

  @Test(arguments: policies)
  func anEntryHeavierThanTheLimitGoesAloneWhateverElseIsFull(policy: larder_index_policy) throws {
    let index = try Index(policy, count: 3, cost: 10)
    for key in 1...3 as ClosedRange<UInt64> { try index.set(key, key, cost: 3) }
    #expect(try index.set(4, 4, cost: 11) == [IndexGone(4, LARDER_INDEX_EVICTED_COST)])
    #expect(Set(try index.keys()) == [1, 2, 3])
    // And so does one that was light before.
    #expect(try index.set(2, 2, cost: 11) == [IndexGone(2, LARDER_INDEX_EVICTED_COST)])
    #expect(Set(try index.keys()) == [1, 3])
    #expect(index.totalCost == 6)
  }

  @Test(arguments: policies)
  func costsThatAddUpToMoreThan64BitsReachNoLimitThatIsNotThere(
    policy: larder_index_policy
  ) throws {
    let half = UInt64.max / 2
    let index = try Index(policy)
    for key in 1...4 as ClosedRange<UInt64> {
      #expect(try index.set(key, key, cost: half) == [])
    }
    #expect(index.count == 4)
    #expect(index.totalCost == .max)
    #expect(index.remove(1) && index.remove(2) && index.remove(3))
    #expect(index.totalCost == half)
    #expect(index.contradiction == nil)
    let limited = try Index(policy, count: 10, cost: .max - 1)
    for key in 1...4 as ClosedRange<UInt64> { try limited.set(key, key, cost: half) }
    #expect(limited.count == 2)
    #expect(limited.totalCost == 2 * half)
  }

  @Test func lruEvictsExactlyTheLeastRecent() throws {
    let index = try Index(LARDER_INDEX_LRU, count: 3)
    for key in 1...3 as ClosedRange<UInt64> { try index.set(key, key) }
    #expect(index.get(1) == 1)
    #expect(try index.set(4, 4) == [IndexGone(2, LARDER_INDEX_EVICTED_COUNT)])
    #expect(index.get(3, quietly: true) == 3)
    #expect(try index.set(5, 5) == [IndexGone(3, LARDER_INDEX_EVICTED_COUNT)])
    #expect(try index.keys() == [1, 4, 5])
  }

  @Test func lruKeepsWhatWasReadSinceTheLastWrite() throws {
    let index = try Index(LARDER_INDEX_LRU, count: 2)
    try index.set(1, 1)
    try index.set(2, 2)
    #expect(index.get(1) == 1)
    // The one written last is not special any more.
    #expect(try index.setLimits(count: 1) == [IndexGone(2, LARDER_INDEX_EVICTED_COUNT)])
  }

  @Test func lruHearsOfMoreReadsThanABufferHolds() throws {
    for reads in [63, 64, 65, 128, 1000] as [UInt64] {
      // Large enough to be read by many at once.
      let index = try Index(LARDER_INDEX_LRU, count: 4000)
      for key in 0..<4000 as Range<UInt64> { try index.set(key, key) }
      for key in 0..<reads { #expect(index.get(key) == key) }
      let gone = try index.setLimits(count: reads)
      #expect(gone.map(\.key) == Array(reads..<4000))
      #expect(try index.keys() == Array(0..<reads))
    }
  }

  @Test func fifoEvictsTheOldestWhateverWasRead() throws {
    let index = try Index(LARDER_INDEX_FIFO, count: 3)
    for key in 1...3 as ClosedRange<UInt64> { try index.set(key, key) }
    #expect(index.get(1) == 1)
    #expect(try index.set(1, 10) == [])
    #expect(try index.set(4, 4) == [IndexGone(1, LARDER_INDEX_EVICTED_COUNT)])
    #expect(try index.keys() == [2, 3, 4])
    #expect(try index.keys(LARDER_INDEX_LAST_TO_GO) == [4, 3, 2])
  }

  @Test(arguments: policies)
  func limitsThatAreLoweredHoldWhenTheCallReturns(policy: larder_index_policy) throws {
    let index = try Index(policy)
    for key in 0..<1000 as Range<UInt64> { try index.set(key, key, cost: 2) }
    #expect(try index.setLimits(count: 900).count == 100)
    #expect(try index.setLimits(count: 900, cost: 1000).count == 400)
    #expect(try index.setLimits(count: 1, cost: 1000).count == 499)
    #expect(index.contradiction == nil)
    #expect(try index.setLimits().isEmpty)
    #expect(index.count == 1)
    #expect(try index.setLimits(count: 0).count == 1)
    #expect(index.contradiction == nil)
    #expect(try index.set(1, 1).count == 1)
  }

  @Test(arguments: policies)
  func limitsThatComeAndGoKeepTheOrder(policy: larder_index_policy) throws {
    let index = try Index(policy)
    for key in 0..<100 as Range<UInt64> { try index.set(key, key) }
    let order = try index.keys()
    #expect(order == Array(0..<100))
    try index.setLimits(count: 100)
    let limited = try index.keys()
    try index.setLimits()
    #expect(try index.keys() == limited)
    // In the first three nothing was read, so the oldest goes first.
    if policy != LARDER_INDEX_ADAPTIVE { #expect(limited == order) }
    #expect(index.contradiction == nil)
  }

  @Test func stampsThatRunOutKeepTheOrder() throws {
    // A new index is 50,000 uses away from having to number them afresh.
    let index = try Index(LARDER_INDEX_LRU)
    for key in 0..<2000 as Range<UInt64> { try index.set(key, key) }
    for round in 0..<60 as Range<UInt64> {
      for key in 0..<1000 as Range<UInt64> { _ = index.get((key * 7 + round) % 1000) }
    }
    let last = (0..<1000 as Range<UInt64>).map { ($0 * 7 + 59) % 1000 }
    #expect(try index.keys() == Array(1000..<2000) + last)
    #expect(index.contradiction == nil)
  }

  @Test(arguments: policies)
  func stampsThatRunOutKeepTheAgeOfWhatIsPinned(policy: larder_index_policy) throws {
    let index = try Index(policy)
    for key in 0..<10 as Range<UInt64> { try index.set(key, key) }
    try index.pin(3)
    for round in 0..<60_000 as Range<UInt64> {
      try index.set(100, round)
      #expect(index.remove(100))
    }
    try index.pin(3, false)
    #expect(try index.keys() == Array(0..<10))
  }

  // MARK: - Pinned entries

  @Test(arguments: policies)
  func pinnedEntriesStayOverALoweredLimit(policy: larder_index_policy) throws {
    let index = try Index(policy, count: 5, cost: 100)
    for key in 1...5 as ClosedRange<UInt64> { try index.set(key, key, cost: 10) }
    for key in [1, 2, 3] as [UInt64] { try index.pin(key) }
    try index.setLimits(count: 1, cost: 5)
    #expect(Set(try index.keys()) == [1, 2, 3])
    // There is no room for another; it goes itself.
    #expect(try index.set(6, 6, cost: 1).map(\.key) == [6])
    try index.pin(1, false)
    #expect(index.writing { index.evictAll().map(\.key) } == [1])
    #expect(index.remove(2))
    try index.setLimits(count: 2)
    #expect(try index.set(7, 7) == [])
    #expect(try index.keys() == [7, 3])
    #expect(try index.keys(LARDER_INDEX_LAST_TO_GO) == [3, 7])
    #expect(index.contradiction == nil)
  }

  @Test(arguments: policies)
  func whatWasPinnedWithoutLimitsIsPinnedWithThem(policy: larder_index_policy) throws {
    let index = try Index(policy)
    for key in 1...5 as ClosedRange<UInt64> { try index.set(key, key) }
    try index.pin(1)
    try index.pin(1)
    #expect(try index.at(1) { index.c.isPinned(index.raw, $0) })
    try index.setLimits(count: 1)
    #expect(try index.keys() == [1])
    try index.setLimits()
    #expect(try index.at(1) { index.c.isPinned(index.raw, $0) })
    index.clear()
    try index.set(1, 1)
    #expect(try index.at(1) { !index.c.isPinned(index.raw, $0) })
    #expect(index.contradiction == nil)
  }
}
