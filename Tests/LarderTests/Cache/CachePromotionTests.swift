// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// What comes up from below keeps its cost and its life, and never undoes a write.
struct CachePromotionTests {
  @Test func promotedEntryKeepsTheCostThatItWasStoredWith() throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier) { $0.memory.cost = { _, value in value.count } }
    try cache.set("one", forKey: 1, cost: 70)
    try cache.set("two", forKey: 2)
    #expect(cache.memoryCache.totalCost == 73)
    cache.memoryCache.removeAll()
    #expect(try cache.value(forKey: 1) == "one")
    #expect(cache.memoryCache.totalCost == 70)
    #expect(try cache.value(forKey: 2) == "two")
    #expect(cache.memoryCache.totalCost == 73)
  }

  @Test func promotedEntryLivesNoLongerThanItWould() throws {
    let clock = CacheTestClock()
    let tier = FakeTier<Int, String>(clock: clock.clock)
    let cache = makeTieredCache(tier, clock: clock)
    try cache.set("one", forKey: 1, expiration: .seconds(100))
    clock.advance(60)
    cache.memoryCache.removeAll()
    #expect(try cache.value(forKey: 1) == "one")
    clock.advance(39.9)
    #expect(try cache.value(forKey: 1) == "one")
    #expect(cache.memoryCache.contains(1))
    clock.advance(0.1)
    #expect(try cache.value(forKey: 1) == nil)
    #expect(!cache.memoryCache.contains(1))
    #expect(try !cache.contains(1))
  }

  @Test func promotedEntryLivesNoLongerThanMemoryKeepsAnything() throws {
    let clock = CacheTestClock()
    let tier = FakeTier<Int, String>(clock: clock.clock)
    let cache = makeTieredCache(tier, clock: clock) { $0.memory.expiration = .seconds(10) }
    for (key, expiration) in [Expiration.never, .seconds(100), .seconds(5)].enumerated() {
      try tier.writeNow(CacheTierEntry(value: "x", expiration: expiration), key)
      _ = try cache.value(forKey: key)
    }
    clock.advance(5)
    #expect(Set(cache.memoryCache.keys()) == [0, 1])
    clock.advance(5)
    #expect(cache.memoryCache.keys().isEmpty)
    // Not in memory any more is not gone.
    #expect(try cache.value(forKey: 0) == "x")
    #expect(try cache.value(forKey: 2) == nil)
  }

  @Test func entryThatIsUsedLivesOnInMemoryAsInTheTier() throws {
    let clock = CacheTestClock()
    let tier = FakeTier<Int, String>(clock: clock.clock)
    let cache = makeTieredCache(tier, clock: clock)
    try tier.writeNow(CacheTierEntry(value: "x", expiration: .afterAccess(.seconds(10))), 1)
    for _ in 1...3 {
      #expect(try cache.value(forKey: 1) == "x")
      clock.advance(9)
    }
    #expect(tier.count(.read) == 1)
    clock.advance(1)
    #expect(!cache.memoryCache.contains(1))
  }

  @Test func entryIsPromotedThroughAllTiersWithAllThatItHas() async throws {
    let clock = CacheTestClock()
    let tiers = ["a", "b", "c"].map { FakeTier<Int, String>($0, clock: clock.clock) }
    let cache = makeTieredCache(tiers[0], tiers[1], tiers[2], clock: clock)
    let entry = CacheTierEntry(
      value: "x", cost: 5, extendedData: Data([1]), expiration: .seconds(50))
    try tiers[2].writeNow(entry, 1)
    clock.advance(20)
    #expect(try await cache.value(forKey: 1) == "x")
    for tier in tiers {
      let found = try #require(tier.live(1))
      #expect(found.cost == 5 && found.extendedData == Data([1]))
      #expect(found.expiration?.afterWrite == .seconds(30))
    }
    #expect(cache.memoryCache.totalCost == 5)
    clock.advance(30)
    #expect(try await cache.value(forKey: 1) == nil)
    // Nothing that lives for ever is given an end, nor an expiration of its own.
    try tiers[2].writeNow(CacheTierEntry(value: "y"), 2)
    #expect(try await cache.value(forKey: 2) == "y")
    #expect(tiers[0].state.withLock { $0.stored[2]?.entry.expiration } == nil)
  }

  @Test func promotionDoesNotUndoWhatWasDoneMeanwhile() async throws {
    for change in 0..<4 {
      let tier = FakeTier<Int, String>()
      let cache = makeTieredCache(tier)
      try tier.writeNow(CacheTierEntry(value: "old"), 1)
      tier.lateReadDoor.close()
      let reading = Task { try await cache.value(forKey: 1) }
      await until { tier.lateReadDoor.waiting == 1 }
      switch change {
      case 0: try await cache.set("new", forKey: 1)
      case 1: try await cache.remove(forKey: 1)
      case 2: try await cache.removeAll()
      default:
        try await cache.set("new", forKey: 1)
        // As a limit would have it.
        cache.memoryCache.removeAll()
      }
      tier.lateReadDoor.open()
      #expect(try await reading.value == "old", "change \(change)")
      let expected = change == 0 ? "new" : nil
      #expect(cache.memoryCache.peek(forKey: 1) == expected, "change \(change)")
      let after = change == 0 || change == 3 ? "new" : nil
      #expect(try await cache.value(forKey: 1) == after, "change \(change)")
    }
  }

  @Test func promotionDoesNotBringBackWhatIsBeingRemoved() async throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier)
    try tier.writeNow(CacheTierEntry(value: "old"), 1)
    tier.writeDoor.close()
    let removing = Task { try await cache.remove(forKey: 1) }
    await until { tier.writeDoor.waiting == 1 }
    // It is still there, but must not be copied any more.
    #expect(try await cache.value(forKey: 1) == "old")
    #expect(cache.memoryCache.isEmpty)
    tier.writeDoor.open()
    try await removing.value
    #expect(try await cache.value(forKey: 1) == nil)
  }

  @Test func promotionToATierDoesNotUndoWhatWasDoneMeanwhile() async throws {
    for change in 0..<3 {
      let near = FakeTier<Int, String>("near")
      let far = FakeTier<Int, String>("far")
      let cache = makeTieredCache(near, far)
      try far.writeNow(CacheTierEntry(value: "old"), 1)
      far.lateReadDoor.close()
      let reading = Task { try await cache.value(forKey: 1) }
      await until { far.lateReadDoor.waiting == 1 }
      switch change {
      case 0: try await cache.set("new", forKey: 1)
      case 1: try await cache.remove(forKey: 1)
      default: try await cache.removeAll()
      }
      far.lateReadDoor.open()
      #expect(try await reading.value == "old")
      let expected = change == 0 ? "new" : nil
      #expect(near[1] == expected && far[1] == expected, "change \(change)")
      #expect(try await cache.value(forKey: 1) == expected, "change \(change)")
    }
  }

  @Test func writersOfAKeyWaitForAPromotionToATier() async throws {
    let near = FakeTier<Int, String>("near")
    let far = FakeTier<Int, String>("far")
    let cache = makeTieredCache(near, far)
    try far.writeNow(CacheTierEntry(value: "old"), 1)
    near.writeDoor.close()
    let reading = Task { try await cache.value(forKey: 1) }
    // It has looked, found that nobody writes, and copies.
    await until { near.writeDoor.waiting == 1 }
    let writing = Task { try await cache.set("new", forKey: 1) }
    let removing = Task { try await cache.removeAll() }
    near.writeDoor.open()
    #expect(try await reading.value == "old")
    try await writing.value
    try await removing.value
    #expect(near[1] == far[1] || far[1] == "new")
    #expect(near[1] != "old" && far[1] != "old")
    #expect(cache.memoryCache.peek(forKey: 1) != "old")
  }
}
