// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// How old a value is, whatever tier it comes from, and what is loaded again because of it.
struct CacheAgeTests {
  private let clock = CacheTestClock()
  private let folder: TemporaryDirectory
  private let loads = CacheCounter()

  init() throws { folder = try TemporaryDirectory() }

  private func makeCache(
    _ change: (inout CacheConfiguration<Int, String>) -> Void = { _ in }
  ) throws -> Cache<Int, String> {
    try makeCacheOnDisk(in: folder, clock: clock) {
      $0.memory.refreshAfter = .seconds(10)
      change(&$0)
    }
  }

  private enum Form: CaseIterable {
    case blocking, async, found, foundAsync, batch, batchAsync
  }

  /// Reads a key, and waits for what that loads in the background.
  private func read(_ cache: Cache<Int, String>, _ key: Int, _ form: Form) async throws -> String? {
    let loads = loads
    let (before, wasLoaded) = (cache.statistics.refreshes, loads.value)
    let value: String?
    switch form {
    case .blocking: value = try readNow(cache, key)
    case .async: value = try await cache.value(forKey: key) { "load \(loads.add())" }
    case .found: value = try findNow(cache, key)
    case .foundAsync: value = try await cache.valueIfFound(forKey: key) { "load \(loads.add())" }
    case .batch: value = try readBatchNow(cache, key)
    case .batchAsync:
      value = try await cache.values(forKeys: [key]) {
        $0.reduce(into: [:]) { $0[$1] = "load \(loads.add())" }
      }[key]
    }
    if cache.statistics.refreshes > before {
      await until {
        loads.value > wasLoaded && cache.memoryCache.peek(forKey: key) == "load \(loads.value)"
      }
    }
    return value
  }

  private func readNow(_ cache: Cache<Int, String>, _ key: Int) throws -> String {
    try cache.value(forKey: key) { "load \(loads.add())" }
  }

  private func findNow(_ cache: Cache<Int, String>, _ key: Int) throws -> String? {
    try cache.valueIfFound(forKey: key) { "load \(loads.add())" }
  }

  private func readBatchNow(_ cache: Cache<Int, String>, _ key: Int) throws -> String? {
    try cache.values(forKeys: [key]) {
      $0.reduce(into: [:]) { $0[$1] = "load \(loads.add())" }
    }[key]
  }

  @Test(arguments: Form.allCases)
  private func whatMemoryHasNoRoomForIsLoadedAgainInTime(form: Form) async throws {
    let cache = try makeCache { $0.memory.countLimit = 1 }
    for key in 0..<2 { try await cache.set("first", forKey: key) }
    for _ in 0..<10 {
      for key in 0..<2 { #expect(try await read(cache, key, form) == "first") }
      clock.advance(0.9)
    }
    clock.advance(1)
    #expect(loads.value == 0)
    for key in 0..<2 { _ = try await read(cache, key, form) }
    #expect(loads.value == 2)
    for key in 0..<2 { #expect(try await read(cache, key, form) == "load \(key + 1)") }
    #expect(loads.value == 2 && cache.statistics.refreshes == 2)
    try await cache.close()
  }

  @Test(arguments: [CacheWritePolicy.writeThrough, .writeBack(queueLimit: 8)])
  func ageGoesOnOverARestart(policy: CacheWritePolicy) async throws {
    var cache = try makeCache { $0.writePolicy = policy }
    try await cache.set("first", forKey: 1)
    clock.advance(6)
    try await cache.close()
    cache = try makeCache()
    #expect(try await read(cache, 1, .async) == "first" && loads.value == 0)
    clock.advance(3.9)
    #expect(try await read(cache, 1, .async) == "first" && loads.value == 0)
    clock.advance(0.1)
    // From memory now, which has had it for four seconds.
    #expect(try await read(cache, 1, .async) == "first" && loads.value == 1)
    #expect(try await cache.value(forKey: 1) == "load 1")
    try await cache.close()
  }

  @Test func loadSaysWhenItsValueIsLoadedAgain() async throws {
    var cache = try makeCache { $0.memory.refreshAfter = nil }
    _ = try await cache.value(forKey: 1) { LoadedValue("one", refreshAfter: .seconds(5)) }
    _ = try await cache.value(forKey: 2) { LoadedValue("two") }
    clock.advance(4)
    try await cache.close()
    cache = try makeCache { $0.memory.refreshAfter = nil }
    for key in 1...2 { _ = try await read(cache, key, .async) }
    #expect(loads.value == 0)
    clock.advance(1)
    #expect(try await read(cache, 1, .async) == "one" && loads.value == 1)
    clock.advance(1e9)
    for key in 1...2 { _ = try await read(cache, key, .blocking) }
    #expect(loads.value == 1)
    try await cache.close()
  }

  @Test func copyInANearerTierIsAsOldAsWhatItIsOf() async throws {
    // The farther tier knows how old its entry is, and that it is to be loaded again.
    let (near, far) = (FakeTier<Int, String>("near"), FakeTier<Int, String>("far"))
    let cache = makeTieredCache(near, far, clock: clock) { $0.memory.refreshAfter = .seconds(10) }
    var entry = CacheTierEntry(value: "far")
    entry.age = .seconds(7)
    try await far.set(entry, forKey: 1)
    #expect(try await read(cache, 1, .async) == "far" && loads.value == 0)
    #expect(near.live(1)?.refreshAfter == .seconds(10) && near.live(1)?.age == .seconds(7))
    clock.advance(3)
    #expect(try await read(cache, 1, .async) == "far" && loads.value == 1)
  }

  // MARK: - What there was

  @Test(arguments: [true, false])
  func loadGetsTheOldValueAndRenewsIt(isInMemory: Bool) async throws {
    let removals = CacheCounter()
    let cache = try makeCache { $0.memory.onRemoval = { _ in removals.add() } }
    let load: @Sendable (OldValue<String>?) -> LoadedValue<String> = { [loads] old in
      loads.add()
      guard let old else { return LoadedValue("body", extendedData: Data("tag".utf8)) }
      #expect(old.value == "body" && old.extendedData == Data("tag".utf8))
      return old.unchanged(refreshAfter: .seconds(20))
    }
    #expect(try await cache.value(forKey: 1, orLoad: load) == "body")
    for (wait, expected) in [(9.0, 1), (1, 2), (19, 2), (1, 3)] {
      clock.advance(wait)
      if !isInMemory { cache.memoryCache.removeAll() }
      removals.add(-removals.value)
      #expect(try await cache.value(forKey: 1, orLoad: load) == "body")
      // What was loaded is stored then, too.
      await until { loads.value == expected && !cache.loads.isBusy }
      // It is the same value: nothing was replaced.
      #expect(removals.value == 0)
      #expect(try await cache.extendedData(forKey: 1) == Data("tag".utf8))
    }
    #expect(try readNow(cache, 1) == "body" && loads.value == 3)
    try await cache.close()
  }

  @Test func expiredValueIsRenewedAlsoAfterARestart() async throws {
    let change: (inout CacheConfiguration<Int, String>) -> Void = {
      $0.memory.refreshAfter = nil
      $0.expiration = .seconds(10)
      $0.memory.staleIfError = .seconds(100)
    }
    let load: @Sendable (OldValue<String>?) -> LoadedValue<String> = {
      $0?.unchanged(expiration: .seconds(50)) ?? LoadedValue("body", extendedData: Data([1]))
    }
    var cache = try makeCache(change)
    #expect(try await cache.value(forKey: 1, orLoad: load) == "body")
    try await cache.close()
    clock.advance(20)
    cache = try makeCache(change)
    #expect(try await cache.value(forKey: 1) == nil)
    #expect(try await cache.value(forKey: 1, orLoad: load) == "body")
    clock.advance(49)
    cache.memoryCache.removeAll()
    #expect(try await cache.value(forKey: 1) == "body")
    #expect(try await cache.extendedData(forKey: 1) == Data([1]))
    clock.advance(1)
    #expect(try await cache.value(forKey: 1) == nil)
    try await cache.close()
  }

  @Test func valueAloneLeavesTheExtendedDataAsTheyWere() throws {
    let cache = try makeCache()
    for isInMemory in [true, false] {
      try cache.set("one", forKey: 1, extendedData: Data([1]))
      for _ in 0..<2 {
        clock.advance(10)
        if !isInMemory { cache.memoryCache.removeAll() }
        #expect(try cache.value(forKey: 1) { "two" } == "two")
        #expect(try cache.extendedData(forKey: 1) == Data([1]))
        #expect(try cache.diskCache?.extendedData(forKey: 1) == Data([1]))
      }
      clock.advance(10)
      // One that knows of them says that there are none.
      #expect(try cache.value(forKey: 1) { LoadedValue("three") } == "three")
      #expect(try cache.extendedData(forKey: 1) == nil)
      #expect(try cache.diskCache?.extendedData(forKey: 1) == nil)
    }
    try cache.close()
  }

  @Test func extendedDataAreInMemory() async throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier, clock: clock)
    try await cache.set("one", forKey: 1, extendedData: Data([1]))
    _ = try await cache.value(forKey: 2) { LoadedValue("two", extendedData: Data([2])) }
    try await tier.set(CacheTierEntry(value: "three", extendedData: Data([3])), forKey: 3)
    #expect(try await cache.value(forKey: 3) == "three")
    let reads = tier.count(.read)
    for (key, value) in [(1, "one"), (2, "two"), (3, "three")] {
      let found = try #require(try await cache.valueWithExtendedData(forKey: key))
      #expect(found.value == value && found.extendedData == Data([UInt8(key)]))
      let same = try #require(try nowBoth(cache, key))
      #expect(same.value == value && same.extendedData == found.extendedData)
    }
    #expect(tier.count(.read) == reads)
    try await cache.set("four", forKey: 1)
    #expect(try await cache.extendedData(forKey: 1) == nil)
  }

  private func nowBoth(
    _ cache: Cache<Int, String>, _ key: Int
  ) throws -> (value: String, extendedData: Data?)? {
    try cache.valueWithExtendedData(forKey: key)
  }

  // MARK: - Failing loads

  @Test func expiredValueOfAnEarlierProcessIsGivenOutWhileItsLoadFails() async throws {
    let change: (inout CacheConfiguration<Int, String>) -> Void = {
      $0.memory.refreshAfter = nil
      $0.memory.staleIfError = .seconds(100)
      $0.expiration = .seconds(10)
    }
    var cache = try makeCache(change)
    for key in 1...3 { try await cache.set("cached", forKey: key) }
    try await cache.remove(forKey: 3)
    clock.advance(10)
    try await cache.close()
    cache = try makeCache(change)
    let disk = try #require(cache.diskCache)
    // What looks for what has expired leaves it.
    #expect(try await disk.removeExpired() == 0)
    #expect(try await !disk.contains(1))
    try await disk.checkpoint()
    for isAsync in [true, false] {
      let value =
        isAsync
        ? try await cache.value(forKey: 1) { throw CacheTestFailure() }
        : try failNow(cache, 1)
      #expect(value == "cached")
    }
    #expect(try await cache.values(forKeys: [2]) { _ in throw CacheTestFailure() } == [2: "cached"])
    #expect(cache.statistics.staleHits == 3)
    // Each was read from the disk once, and is in memory for the next load that fails.
    #expect(cache.statistics.promotions == 2 && cache.memoryCache.peek(forKey: 1) == nil)
    #expect(throws: CacheTestFailure()) { try failNow(cache, 3) }
    clock.advance(99.999)
    #expect(try failNow(cache, 1) == "cached")
    clock.advance(0.001)
    #expect(throws: CacheTestFailure()) { try failNow(cache, 1) }
    #expect(try await disk.removeExpired() == 2)
    try await cache.close()
  }

  private func failNow(_ cache: Cache<Int, String>, _ key: Int) throws -> String {
    try cache.value(forKey: key) { throw CacheTestFailure() }
  }
}
