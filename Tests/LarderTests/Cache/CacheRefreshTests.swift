// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Loading again what is there but old, through all tiers.
struct CacheRefreshTests {
  private let clock = CacheTestClock()
  private let tier = FakeTier<Int, String>()

  private func makeCache() -> Cache<Int, String> {
    makeTieredCache(tier, clock: clock) {
      $0.memory.refreshAfter = .seconds(10)
      $0.negativeLifetime = .seconds(1000)
    }
  }

  @Test func oldValueIsLoadedAgainByTheFirstWhoComesUponIt() throws {
    let cache = makeCache()
    try cache.set("first", forKey: 1)
    clock.advance(9)
    #expect(try cache.value(forKey: 1) { "no" } == "first")
    clock.advance(1)
    #expect(try cache.value(forKey: 1) == "first")
    let value = try cache.value(forKey: 1) {
      // All others get the old value meanwhile.
      let old = try cache.value(forKey: 1) { "no" }
      #expect(old == "first")
      return "second"
    }
    #expect(value == "second" && tier[1] == "second")
    clock.advance(10)
    #expect(try cache.value(forKey: 1) { throw CacheTestFailure() } == "second")
    #expect(cache.statistics.refreshes == 2 && cache.statistics.loadFailures == 1)
    #expect(tier[1] == "second")
  }

  @Test func whatIsNotFoundAnyMoreIsRemovedEverywhere() throws {
    let cache = makeCache()
    try cache.set("there", forKey: 1)
    clock.advance(10)
    #expect(try cache.valueIfFound(forKey: 1) { nil } == nil)
    #expect(tier[1] == nil && cache.memoryCache.peek(forKey: 1) == nil)
    #expect(try cache.valueIfFound(forKey: 1) { "not asked" } == nil)
    // The last call's, which looked once.
    #expect(cache.statistics.memory.misses == 1)
  }

  @Test func oldValueIsGivenOutWhileItIsLoadedAgainInTheBackground() async throws {
    let cache = makeCache()
    let door = CacheDoor()
    door.close()
    let loads = CacheCounter()
    let load: @Sendable () async throws -> String = {
      await door.pass()
      return "load \(loads.add())"
    }
    try await cache.set("first", forKey: 1)
    clock.advance(10)
    for _ in 0..<5 { #expect(try await cache.value(forKey: 1, orLoad: load) == "first") }
    #expect(try await cache.valueIfFound(forKey: 1, orLoad: load) == "first")
    door.open()
    await until { cache.memoryCache.peek(forKey: 1) == "load 1" }
    #expect(loads.value == 1 && tier[1] == "load 1")
    #expect(cache.statistics.refreshes == 1)
    // A refresh that fails leaves the old value.
    clock.advance(10)
    #expect(try await cache.value(forKey: 1) { throw CacheTestFailure() } == "load 1")
    await until { cache.statistics.loadFailures == 1 }
    #expect(cache.memoryCache.peek(forKey: 1) == "load 1" && tier[1] == "load 1")
    // And one that finds nothing takes it away.
    #expect(try await cache.valueIfFound(forKey: 1) { nil } == "load 1")
    await until { cache.memoryCache.peek(forKey: 1) == nil }
    await until { tier[1] == nil }
  }

  @Test func refreshDoesNotOverwriteWhatIsNewer() async throws {
    let cache = makeCache()
    let door = CacheDoor()
    door.close()
    try await cache.set("first", forKey: 1)
    clock.advance(10)
    let old = try await cache.value(forKey: 1) {
      await door.pass()
      return "refreshed"
    }
    #expect(old == "first")
    try await cache.set("newer", forKey: 1)
    door.open()
    await until { cache.statistics.loads == 1 }
    #expect(cache.memoryCache.peek(forKey: 1) == "newer" && tier[1] == "newer")
  }
}
