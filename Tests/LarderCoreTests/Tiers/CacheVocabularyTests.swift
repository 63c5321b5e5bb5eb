// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import Testing

/// The small types: causes, policies, orders, clocks.
struct CacheVocabularyTests {
  @Test func policiesHaveNames() {
    #expect(EvictionPolicy.allCases.map(\.description) == ["lru", "fifo", "s3fifo", "adaptive"])
    #expect(EvictionPolicy.standard == .adaptive)
    #expect(Set(EvictionPolicy.allCases).count == 4)
  }

  @Test func causesHaveNames() {
    #expect(
      RemovalCause.allCases.map(\.description)
        == ["removed", "replaced", "expired", "evictedForCount", "evictedForCost"])
    #expect(
      RemovalCause.allCases.filter(\.isEviction) == [.evictedForCount, .evictedForCost])
  }

  @Test func ordersHaveOtherNames() {
    #expect(CacheOrder.oldestFirst == .leastRecentFirst)
    #expect(CacheOrder.newestFirst == .mostRecentFirst)
  }

  @Test func removalsAndEntriesAreCompared() {
    let removal = Removal(key: 1, value: "a", cause: .expired)
    #expect(removal == Removal(key: 1, value: "a", cause: .expired))
    #expect(removal != Removal(key: 1, value: "a", cause: .removed))
    #expect(removal.lost == 0)
    #expect(CacheEntry(key: 1, value: "a") == CacheEntry(key: 1, value: "a", cost: 0))
    #expect(CacheEntry(key: 1, value: "a") != CacheEntry(key: 1, value: "a", isPinned: true))
  }

  @Test func systemClockTellsTheDate() {
    #expect(abs(CacheClock.system.date.timeIntervalSinceNow) < 60)
    let date = Date(timeIntervalSince1970: 5)
    #expect(CacheClock(now: { .seconds(1) }, date: { date }).date == date)
  }
}
