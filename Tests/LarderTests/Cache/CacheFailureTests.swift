// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// A tier that fails leaves no tier, and not memory, with something that another has not.
struct CacheFailureTests {
  @Test(arguments: [false, true], [false, true])
  func memoryNeverKeepsWhatTheTierRefused(hasOld: Bool, losesOld: Bool) throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier)
    if hasOld { try cache.set("old", forKey: 1) }
    tier.state.withLock { $0.losesOnFailure = losesOld }
    tier.fail(.write, with: CacheTestFailure(number: 5))
    #expect(throws: CacheTestFailure(number: 5)) { try cache.set("new", forKey: 1) }
    let expected = hasOld && !losesOld ? "old" : nil
    #expect(tier[1] == expected)
    #expect(try cache.value(forKey: 1) == expected)
    #expect(cache.memoryCache.peek(forKey: 1) == expected)
    #expect(cache.statistics.tiers[0].failures == 1)
    try cache.set("newer", forKey: 1)
    #expect(try cache.value(forKey: 1) == "newer")
  }

  @Test(arguments: [false, true], [false, true])
  func memoryNeverKeepsWhatTheTierRefusedAsynchronously(hasOld: Bool, losesOld: Bool) async throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier)
    if hasOld { try await cache.set("old", forKey: 1) }
    tier.state.withLock { $0.losesOnFailure = losesOld }
    tier.fail(.write)
    await #expect(throws: CacheTestFailure()) { try await cache.set("new", forKey: 1) }
    let expected = hasOld && !losesOld ? "old" : nil
    #expect(try await cache.value(forKey: 1) == expected)
  }

  /// What a disk would refuse in any case is not written below it either.
  @Test func whatNeverFitsOnADiskIsWrittenNowhere() async throws {
    let directory = try TemporaryDirectory()
    let below = FakeTier<String, String>()
    var configuration = CacheConfiguration<String, String>()
    configuration.furtherTiers = [below]
    var cache = try Cache(at: .path(directory.file("cache").path), configuration: configuration)
    let (long, largest) = (String(repeating: "k", count: 70_000), Data(count: 65_536))
    try await cache.set("old", forKey: "a", extendedData: largest)
    for extendedData in [largest + [0], Data(count: 1 << 20)] {
      let refused = errorCode { try cache.set("new", forKey: "a", extendedData: extendedData) }
      #expect(refused == .tooLarge)
      await #expect(throws: LarderError.self) {
        try await cache.set("new", forKey: "a", extendedData: extendedData)
      }
    }
    #expect(try await cache.value(forKey: "a") == "old" && below["a"] == "old")
    #expect(errorCode { try cache.set("new", forKey: long) } == .tooLarge)
    await #expect(throws: LarderError.self) { try await cache.set("new", forKey: long) }
    #expect(below.keysWritten == ["a"] && cache.statistics.tiers[0].failures == 6)
    try await cache.close()
    configuration.disk.isReadOnly = true
    cache = try Cache(at: .path(directory.file("cache").path), configuration: configuration)
    #expect(errorCode { try cache.set("new", forKey: "a") } == .readOnly)
    #expect(below["a"] == "old")
    try await cache.close()
  }

  @Test(arguments: 0..<3)
  func noTierShowsWhatOneBelowItRefused(refusing: Int) async throws {
    let tiers = ["a", "b", "c"].map { FakeTier<Int, String>($0) }
    let cache = makeTieredCache(tiers[0], tiers[1], tiers[2])
    try await cache.set("old", forKey: 1)
    tiers[refusing].fail(.write)
    await #expect(throws: CacheTestFailure()) { try await cache.set("new", forKey: 1) }
    // Whatever is found now, it is found however often tiers are emptied from above.
    let value = try await cache.value(forKey: 1)
    #expect(value == (refusing == 2 ? "old" : "new"))
    for tier in tiers { #expect(tier[1] == value) }
    for tier in tiers.dropLast() {
      tier.state.withLock { $0.stored = [:] }
      cache.memoryCache.removeAll()
      #expect(try await cache.value(forKey: 1) == value)
    }
  }

  @Test(arguments: 0..<3)
  func removalThatFailsSomewhereHappensElsewhere(refusing: Int) throws {
    let tiers = ["a", "b", "c"].map { FakeTier<Int, String>($0) }
    let cache = makeTieredCache(tiers[0], tiers[1], tiers[2])
    try cache.set("old", forKey: 1)
    tiers[refusing].fail(.remove)
    #expect(throws: CacheTestFailure()) { try cache.remove(forKey: 1) }
    #expect(cache.memoryCache.isEmpty)
    for (number, tier) in tiers.enumerated() where number != refusing { #expect(tier.count == 0) }
    try cache.remove(forKey: 1)
    #expect(try cache.value(forKey: 1) == nil)
  }

  @Test func removalOfEverythingThatFailsLeavesMemoryEmpty() throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier)
    try cache.set("one", forKey: 1)
    tier.fail(.removeAll)
    #expect(throws: CacheTestFailure()) { try cache.removeAll() }
    #expect(cache.memoryCache.isEmpty)
    #expect(try cache.value(forKey: 1) == "one")
    try cache.removeAll()
    #expect(try cache.value(forKey: 1) == nil)
  }

  @Test func readThatFailsIsAnErrorUnlessATierBelowKnows() async throws {
    let near = FakeTier<Int, String>("near")
    let far = FakeTier<Int, String>("far")
    let cache = makeTieredCache(near, far)
    try await cache.set("one", forKey: 1)
    cache.memoryCache.removeAll()
    near.fail(.read)
    #expect(try await cache.value(forKey: 1) == "one")
    cache.memoryCache.removeAll()
    near.fail(.read, with: CacheTestFailure(number: 1))
    far.fail(.read, with: CacheTestFailure(number: 2))
    await #expect(throws: CacheTestFailure(number: 1)) { try await cache.value(forKey: 1) }
    far.fail(.read)
    // A miss above does not make a miss of what could not be looked at.
    await #expect(throws: CacheTestFailure()) { try await cache.value(forKey: 2) }
    near.fail(.contains)
    await #expect(throws: CacheTestFailure()) { try await cache.contains(2) }
    near.fail(.contains)
    #expect(try await cache.contains(1))
  }

  @Test func promotionThatFailsIsToldAndTheValueIsGiven() async throws {
    let near = FakeTier<Int, String>("near")
    let far = FakeTier<Int, String>("far")
    let told = Locked<[CacheWriteFailure<Int>]>([])
    let cache = makeTieredCache(near, far) {
      $0.onWriteFailure = { failure in told.withLock { $0.append(failure) } }
    }
    try far.writeNow(CacheTierEntry(value: "one"), 1)
    near.fail(.write)
    #expect(try await cache.value(forKey: 1) == "one")
    #expect(told.withLock { $0.map(\.key) } == [1])
    #expect(told.withLock { $0.map(\.isPending) } == [false])
    #expect(cache.statistics.writeFailures == 1)
    #expect(near.count == 0)
    #expect(cache.memoryCache.peek(forKey: 1) == "one")
  }

  @Test func tierThatCannotRemoveByPrefixSaysSo() async throws {
    struct Plain: CacheTier {
      let name = "plain"
      func entry(forKey key: String) async throws -> CacheTierEntry<Int>? { nil }
      func set(_ entry: CacheTierEntry<Int>, forKey key: String) async throws {}
      func remove(forKey key: String) async throws {}
      func removeAll(progress: CacheProgress?) async throws {}
      func contains(_ key: String) async throws -> Bool { false }
    }
    let cache = Cache(name: "plain", tiers: [Plain()])
    do {
      try await cache.remove(prefix: "a")
      Issue.record("No error.")
    } catch let error as LarderError {
      #expect(error.code == .invalidArgument)
      #expect(error.message.contains("plain"))
    }
    try await cache.sync()
    try await cache.close()
  }
}
