// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Remembering for a time that there is nothing to load.
struct CacheNegativeTests {
  @Test func whatIsNotFoundIsRememberedForATime() async throws {
    let clock = CacheTestClock()
    let tier = FakeTier<Int, String>(clock: clock.clock)
    let cache = makeTieredCache(tier, clock: clock) { $0.negativeLifetime = .seconds(60) }
    let looks = CacheCounter()
    let find: @Sendable () async throws -> String? = {
      looks.add()
      return nil
    }
    #expect(try await cache.valueIfFound(forKey: 1, orLoad: find) == nil)
    let reads = tier.count(.read)
    clock.advance(59)
    #expect(try await cache.valueIfFound(forKey: 1, orLoad: find) == nil)
    #expect(looks.value == 1 && tier.count(.read) == reads)
    #expect(cache.statistics.negativeHits == 1 && cache.statistics.emptyLoads == 1)
    clock.advance(1)
    #expect(try await cache.valueIfFound(forKey: 1, orLoad: find) == nil)
    #expect(looks.value == 2)
    // Who must have a value is not told that there is none.
    #expect(try await cache.value(forKey: 1) { "made" } == "made")
    #expect(try await cache.valueIfFound(forKey: 1, orLoad: find) == "made")
  }

  @Test func whatIsWrittenIsThereAtOnceAndWhatIsRemovedIsLookedForAgain() throws {
    let clock = CacheTestClock()
    let cache = makeTieredCache(FakeTier<Int, String>(clock: clock.clock), clock: clock) {
      $0.negativeLifetime = .seconds(60)
    }
    #expect(try cache.valueIfFound(forKey: 1, orLoad: { nil }) == nil)
    try cache.set("one", forKey: 1)
    #expect(try cache.valueIfFound(forKey: 1, orLoad: { nil }) == "one")
    try cache.remove(forKey: 1)
    #expect(try cache.valueIfFound(forKey: 1, orLoad: { "two" }) == "two")
    #expect(try cache.valueIfFound(forKey: 2, orLoad: { nil }) == nil)
    try cache.removeAll()
    #expect(try cache.valueIfFound(forKey: 2, orLoad: { "found" }) == "found")
  }

  @Test func whatIsNotFoundIsNotRememberedIfItWasWrittenMeanwhile() async throws {
    let cache = makeTieredCache(FakeTier<Int, String>()) { $0.negativeLifetime = .seconds(60) }
    let found = try await cache.valueIfFound(forKey: 1) {
      try await cache.set("one", forKey: 1)
      try await cache.remove(forKey: 1)
      return String?.none
    }
    #expect(found == nil)
    #expect(try await cache.valueIfFound(forKey: 1, orLoad: { "there" }) == "there")
  }

  @Test func nothingIsRememberedUnlessAskedFor() throws {
    let cache = makeTieredCache(FakeTier<Int, String>())
    for number in 1...3 {
      #expect(try cache.valueIfFound(forKey: 1, orLoad: { nil }) == nil)
      #expect(cache.statistics.emptyLoads == UInt64(number))
    }
  }

  @Test func whoMustHaveAValueDoesNotTakeNothingForAnAnswer() async throws {
    let cache = makeTieredCache(FakeTier<Int, String>())
    let door = CacheDoor()
    let finding = Task {
      try await cache.valueIfFound(forKey: 1) {
        await door.pass()
        return nil
      }
    }
    await until { door.waiting == 1 }
    let loading = Task { try await cache.value(forKey: 1) { "made" } }
    await until { cache.statistics.memory.misses == 2 }
    door.open()
    #expect(try await finding.value == nil)
    #expect(try await loading.value == "made")
  }
}
