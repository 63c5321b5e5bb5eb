// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Loads that say what becomes of their value, in memory and in the tiers.
struct CacheLoadedValueTests {
  private let clock = CacheTestClock()

  @Test func loadSaysWhatItsValueCostsAndHowLongItLivesInAllTiers() async throws {
    for isAsync in [false, true] {
      let tier = FakeTier<Int, String>(clock: clock.clock)
      let cache = makeTieredCache(tier, clock: clock)
      let loaded = LoadedValue("one", cost: 7, expiration: .seconds(5))
      if isAsync {
        #expect(try await cache.value(forKey: 1) { loaded } == "one")
      } else {
        #expect(try blocking(cache) { loaded } == "one")
      }
      #expect(cache.memoryCache.totalCost == 7 && tier.live(1)?.cost == 7)
      clock.advance(4.999)
      #expect(cache.memoryCache.peek(forKey: 1) == "one" && tier[1] == "one")
      clock.advance(0.001)
      #expect(cache.memoryCache.peek(forKey: 1) == nil && tier[1] == nil)
    }
  }

  private func blocking(
    _ cache: Cache<Int, String>, _ load: () throws -> LoadedValue<String>
  ) throws -> String {
    try cache.value(forKey: 1, orLoad: load)
  }

  private func find(
    _ cache: Cache<Int, String>, _ load: () throws -> LoadedValue<String?>
  ) throws -> String? {
    try cache.valueIfFound(forKey: 1, orLoad: load)
  }

  @Test func whatIsNotStoredIsInNoTier() async throws {
    let tier = FakeTier<Int, String>(clock: clock.clock)
    let cache = makeTieredCache(tier, clock: clock) { $0.memory.refreshAfter = .seconds(10) }
    let value = try await cache.value(forKey: 1) { LoadedValue("one", isStored: false) }
    #expect(value == "one" && tier.count == 0 && cache.memoryCache.isEmpty)
    #expect(try blocking(cache) { LoadedValue("one", isStored: false) } == "one")
    #expect(tier.count == 0 && cache.memoryCache.isEmpty)
    // A refresh that is not stored removes the old value.
    try await cache.set("old", forKey: 1)
    clock.advance(10)
    #expect(try blocking(cache) { LoadedValue("new", isStored: false) } == "new")
    #expect(tier.count == 0 && cache.memoryCache.isEmpty)
    try await cache.set("old", forKey: 1)
    clock.advance(10)
    #expect(try await cache.value(forKey: 1) { LoadedValue("new", isStored: false) } == "old")
    await until { tier.count == 0 && cache.memoryCache.isEmpty }
  }

  @Test(arguments: [nil, Duration.seconds(60)])
  func rememberedMissHasALifeOfItsOwn(lifetime: Duration?) async throws {
    let tier = FakeTier<Int, String>(clock: clock.clock)
    let cache = makeTieredCache(tier, clock: clock) { $0.negativeLifetime = lifetime }
    let missing = LoadedValue(String?.none, expiration: .seconds(5))
    #expect(try await cache.valueIfFound(forKey: 1) { missing } == nil)
    clock.advance(4.999)
    #expect(try find(cache) { LoadedValue("no") } == nil)
    clock.advance(0.001)
    #expect(try find(cache) { missing } == nil)
    #expect(cache.statistics.negativeHits == 1 && cache.statistics.emptyLoads == 2)
    // It ends with a write, and is not kept if the load says so.
    try await cache.set("one", forKey: 1)
    try await cache.remove(forKey: 1)
    #expect(try find(cache) { LoadedValue(nil, expiration: .seconds(5), isStored: false) } == nil)
    #expect(try find(cache) { LoadedValue("found") } == "found")
    #expect(tier[1] == "found")
  }

  @Test func expirationOfAnEntryIsMadeOnceForAllTiers() async throws {
    let calls = CacheCounter()
    let tier = FakeTier<Int, String>(clock: clock.clock)
    let cache = makeTieredCache(tier, clock: clock) {
      $0.expirationForEntry = { key, _ in
        calls.add()
        return key == 0 ? nil : .seconds(Double(key)).spread(by: 0.5)
      }
    }
    for key in 1...100 {
      switch key % 4 {
      case 0: try await cache.set("", forKey: key)
      case 1: try await cache.set("", forKey: key)
      case 2: _ = try await cache.value(forKey: key) { "" }
      default: try await cache.update(forKey: key) { $0 = "" }
      }
    }
    #expect(calls.value == 100)
    for entry in cache.memoryCache.entries() {
      let life = entry.expires.map { $0.timeIntervalSince(clock.date) } ?? 0
      #expect(life > Double(entry.key) / 2 - 0.001 && life <= Double(entry.key))
      let inTier = tier.live(entry.key)?.expiration?.afterWrite
      #expect(inTier.map { abs($0 / .seconds(1) - life) < 0.001 } == true)
    }
    try await cache.set("", forKey: 0)
    #expect(tier.live(0)?.expiration == .never)
  }

  @Test func memoryAndDiskDrawOneLife() throws {
    let folder = try TemporaryDirectory()
    var configuration = CacheConfiguration<Int, String>()
    configuration.clock = clock.clock
    configuration.memory.autoTrimInterval = .zero
    configuration.disk.autoTrimInterval = .zero
    configuration.expiration = .seconds(1000).spread(by: 0.5)
    let cache = try Cache(at: .path(folder.file("cache").path), configuration: configuration)
    for key in 0..<50 { try cache.set("\(key)", forKey: key) }
    var ends: Set<Double> = []
    for entry in cache.memoryCache.entries() {
      let end = try #require(entry.expires)
      let onDisk = try #require(try cache.diskCache?.info(forKey: entry.key)?.expires)
      #expect(abs(end.timeIntervalSince(onDisk)) < 0.001)
      ends.insert(end.timeIntervalSince(clock.date))
    }
    #expect(ends.count > 45 && ends.allSatisfy { $0 > 499 && $0 <= 1000 })
    try cache.close()
  }

  @Test func diskMakesTheExpirationOfWhatIsStoredInItAlone() throws {
    let folder = try TemporaryDirectory()
    var configuration = DiskCacheConfiguration<Int, String>()
    configuration.clock = clock.clock
    configuration.autoTrimInterval = .zero
    configuration.expirationForEntry = { key, _ in key < 0 ? nil : .seconds(Double(key)) }
    configuration.expiration = .seconds(100).spread(by: 0.1)
    let cache = try DiskCache(at: .path(folder.file("disk").path), configuration: configuration)
    try cache.set("", forKey: 1)
    try cache.set([2: "", 3: ""].map { (key: $0.key, value: $0.value) })
    try cache.update(forKey: 4) { $0 = "" }
    try cache.set("", forKey: 5, expiration: .seconds(1))
    try cache.set("", forKey: -1)
    let ends = try [1, 2, 3, 4, 5, -1].map { key in
      try #require(try cache.info(forKey: key)?.expires).timeIntervalSince(clock.date)
    }
    #expect(ends.prefix(5).map { $0.rounded() } == [1, 2, 3, 4, 1])
    #expect(ends[5] > 89.9 && ends[5] <= 100)
    clock.advance(0.999)
    #expect(try cache.contains(1))
    clock.advance(0.001)
    #expect(try !cache.contains(1))
    try cache.close()
  }
}
