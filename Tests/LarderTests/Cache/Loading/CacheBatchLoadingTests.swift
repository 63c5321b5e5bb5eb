// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Loading all that neither memory nor a tier has with one call.
struct CacheBatchLoadingTests {
  private let clock = CacheTestClock()
  private let calls = Locked<[[Int]]>([])

  /// Gives values to even keys.
  private func load(_ keys: [Int]) -> [Int: String] {
    calls.withLock { $0.append(keys) }
    let even = keys.filter { $0 % 2 == 0 }
    return Dictionary(uniqueKeysWithValues: even.map { ($0, "loaded \($0)") })
  }

  private func blocking(_ cache: Cache<Int, String>, _ keys: [Int]) throws -> [Int: String] {
    try cache.values(forKeys: keys) { load($0) }
  }

  @Test func whatIsMissingIsLoadedByOneCallAndWhatIsNotThereIsRemembered() async throws {
    for isAsync in [false, true] {
      calls.withLock { $0 = [] }
      let tier = FakeTier<Int, String>(clock: clock.clock)
      let cache = makeTieredCache(tier, clock: clock) { $0.negativeLifetime = .seconds(60) }
      try await cache.set("1", forKey: 1)
      try tier.writeNow(CacheTierEntry(value: "2"), 2)
      let keys = [4, 1, 3, 4, 2, 6, 3]
      for round in 0..<3 {
        if round == 2 { clock.advance(60) }
        let values =
          isAsync
          ? try await cache.values(forKeys: keys) { load($0) } : try blocking(cache, keys)
        #expect(values == [1: "1", 2: "2", 4: "loaded 4", 6: "loaded 6"])
      }
      // What was not found is looked for again when that is forgotten.
      #expect(calls.withLock { $0 } == [[4, 3, 6], [3]])
      #expect(tier[4] == "loaded 4" && tier[6] == "loaded 6")
      let statistics = cache.statistics
      #expect(statistics.loads == 2 && statistics.emptyLoads == 2 && statistics.negativeHits == 1)
      #expect(statistics.promotions == 1)
      try await cache.set("3", forKey: 3)
      #expect(try await cache.values(forKeys: [3]) { load($0) } == [3: "3"])
    }
  }

  @Test func callSaysWhatBecomesOfEachValue() async throws {
    let tier = FakeTier<Int, String>(clock: clock.clock)
    let cache = makeTieredCache(tier, clock: clock)
    let values = try await cache.values(forKeys: [1, 2]) { _ in
      [
        1: LoadedValue("one", expiration: .seconds(10)), 2: LoadedValue("two", isStored: false),
      ]
    }
    #expect(values == [1: "one", 2: "two"] && tier[1] == "one" && tier[2] == nil)
    clock.advance(10)
    #expect(tier[1] == nil && cache.memoryCache.peek(forKey: 1) == nil)
  }

  @Test func whatIsOldIsLoadedAgainByOneCall() async throws {
    let tier = FakeTier<Int, String>(clock: clock.clock)
    let cache = makeTieredCache(tier, clock: clock) { $0.memory.refreshAfter = .seconds(10) }
    try await cache.set([1: "1", 2: "2", 4: "4"].map { (key: $0.key, value: $0.value) })
    clock.advance(10)
    let values = try await cache.values(forKeys: [1, 2, 4]) { load($0) }
    #expect(values == [1: "1", 2: "2", 4: "4"])
    await until { tier[1] == nil && tier[2] == "loaded 2" && tier[4] == "loaded 4" }
    await until { !cache.memoryCache.contains(1) }
    #expect(calls.withLock { $0 } == [[1, 2, 4]] && cache.statistics.refreshes == 3)
    clock.advance(10)
    #expect(try blocking(cache, [2, 6]) == [2: "loaded 2", 6: "loaded 6"])
    #expect(calls.withLock { $0.last } == [6, 2])
  }

  @Test func whatOthersLoadIsWaitedForAndFailuresGoToAll() async throws {
    let cache = makeTieredCache(FakeTier<Int, String>())
    let door = CacheDoor()
    let one = Task {
      try await cache.value(forKey: 1) {
        await door.pass()
        return "one"
      }
    }
    await until { door.waiting == 1 }
    let many = Task { try await cache.values(forKeys: [1, 2]) { load($0) } }
    let failing = Task {
      try await cache.values(forKeys: [1, 3]) { _ in throw CacheTestFailure() }
    }
    await until { cache.statistics.sharedLoads == 2 && cache.statistics.loads == 2 }
    door.open()
    #expect(try await one.value == "one")
    #expect(try await many.value == [1: "one", 2: "loaded 2"])
    await #expect(throws: CacheTestFailure()) { try await failing.value }
    #expect(throws: CacheTestFailure()) {
      try cache.values(forKeys: [1, 5]) { _ in throw CacheTestFailure() }
    }
    try await cache.close()
    #expect(throws: LarderError.self) { try blocking(cache, [1]) }
  }
}
