// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderCore
  import LarderTestSupport
  import Testing

  @testable import Larder
  @testable import LarderRemote

  /// Values that are too large for the server stay where they are; of changes everybody hears.
  @Suite(
    "What stands in for large values", .enabled(if: RedisServer.isInstalled, RedisServer.whyNot))
  struct RemoteStandInTests {
    private let large = String(repeating: "large ", count: 100)
    private let redis: RedisServer

    init() throws { redis = try RedisServer() }

    private func tier(
      _ change: (inout RemoteTierConfiguration) -> Void = { _ in }
    ) throws -> RemoteTier<String, String> {
      try RemoteTier(testing: redis) { configuration in
        configuration.maximumValueBytes = 100
        configuration.localLifetime = .seconds(86_400)
        configuration.loadLease = .seconds(86_400)
        change(&configuration)
      }
    }

    private func cache(
      _ change: (inout CacheConfiguration<String, String>) -> Void = { _ in }
    ) throws -> Cache<String, String> {
      var configuration = CacheConfiguration<String, String>()
      change(&configuration)
      return Cache(name: "test", tiers: [try tier()], configuration: configuration)
    }

    /// Waits until a cache has heard of all that was changed before.
    private func settle(_ cache: Cache<String, String>) async throws {
      try await tier().set(CacheTierEntry(value: "1"), forKey: "mark")
      #expect(try await cache.value(forKey: "mark") != nil)
      try await tier().set(CacheTierEntry(value: "2"), forKey: "mark")
      while cache.memoryCache.peek(forKey: "mark") != nil { await Task.yield() }
    }

    @Test func othersFindNothingAndAreTold() async throws {
      let (one, other) = (try tier(), try tier())
      let heard = (one: try Heard(one), other: try Heard(other))
      try await other.set(CacheTierEntry(value: "small"), forKey: "k")
      #expect(try await one.entry(forKey: "k")?.value == "small")
      try await one.set(CacheTierEntry(value: large, extendedData: Data([1])), forKey: "k")
      #expect(await heard.other.next() == .keys(["k"]))
      #expect(try await other.entry(forKey: "k") == nil)
      #expect(try await other.contains("k") == false)
      #expect(one.statistics.localWrites == 1 && one.statistics.bytesWritten == 17)
      // The value that stays is dropped as any other, and so is what others learned.
      try await other.remove(forKey: "k")
      #expect(await heard.one.next() == .keys(["k"]))
      try await one.set(CacheTierEntry(value: large), forKey: "k")
      try await other.set(CacheTierEntry(value: "theirs"), forKey: "k")
      #expect(await heard.one.next() == .keys(["k"]))
      #expect(try await one.entry(forKey: "k")?.value == "theirs")
    }

    @Test func whatStandsInExpiresWithTheValue() async throws {
      let one = try tier()
      try await one.set(
        CacheTierEntry(value: large, expiration: .seconds(86_400)), forKey: "k")
      let plain = try RedisConnection(redis.patient)
      let life = try await plain.send(
        [RemoteCommand("PTTL", "larder:test:k")], patience: nil)
      guard case .integer(1...86_400_000)? = life.first else {
        Issue.record("\(life)")
        return
      }
      // What has expired leaves nothing.
      try await one.set(
        CacheTierEntry(value: large, expiration: .date(.distantPast)), forKey: "k")
      let found = try await plain.send(
        [RemoteCommand("EXISTS", "larder:test:k")], patience: nil)
      #expect(found == [.integer(0)])
    }

    /// Nobody can share them, and each keeps its own.
    @Test func eachMachineLoadsOnce() async throws {
      let (one, two) = (try cache(), try cache())
      for cache in [one, two, one, two] {
        #expect(try await cache.value(forKey: "k") { large } == large)
        #expect(try await cache.values(forKeys: ["l"]) { _ in ["l": large] } == ["l": large])
        for cache in [one, two] { try await settle(cache) }
      }
      #expect(one.statistics.loads == 2 && two.statistics.loads == 2)
      #expect(one.memoryCache.peek(forKey: "l") == large)
      // A write is heard by both, whoever loaded last.
      try await two.set("small", forKey: "k")
      try await settle(one)
      #expect(try await one.value(forKey: "k") == "small")
    }

    @Test func aRefreshReplacesThoseOfOthers() async throws {
      let time = Locked(Duration.zero)
      let one = try cache()
      let two = try cache {
        $0.clock = CacheClock(now: { time.withLock { $0 } }, date: { Date() })
        $0.memory.refreshAfter = .seconds(10)
      }
      for cache in [one, two] { _ = try await cache.value(forKey: "k") { large } }
      time.withLock { $0 = .seconds(11) }
      let newer = large + "newer"
      _ = try await two.value(forKey: "k") { newer }
      while two.memoryCache.peek(forKey: "k") != newer { await Task.yield() }
      try await settle(one)
      #expect(one.memoryCache.peek(forKey: "k") == nil)
    }

    /// As any load.
    @Test func aStaleLoadIsNotKept() async throws {
      let (one, other) = (try cache(), try tier())
      try await other.set(CacheTierEntry(value: large), forKey: "k")
      let loaded = try await one.value(forKey: "k") {
        try await other.set(CacheTierEntry(value: large + "2"), forKey: "k")
        return large
      }
      #expect(loaded == large && one.memoryCache.peek(forKey: "k") == nil)
      // What has become small is stored for all.
      #expect(try await one.value(forKey: "k") { "small" } == "small")
      #expect(try await other.entry(forKey: "k")?.value == "small")
      // What has become large is not, and the others are told.
      _ = try await one.value(forKey: "l") { "small" }
      #expect(try await other.entry(forKey: "l")?.value == "small")
      guard case .granted(let lease) = try await other.beginLoad(forKey: "l", reason: .refresh)
      else {
        Issue.record("no lease")
        return
      }
      #expect(try await lease.publish(CacheTierEntry(value: large)))
      try await settle(one)
      #expect(one.memoryCache.peek(forKey: "l") == nil)
    }

    /// Confirmed as others are.
    @Test func theyOutliveAProcess() async throws {
      let directory = try TemporaryDirectory()
      func open() throws -> Cache<String, String> {
        var configuration = CacheConfiguration<String, String>()
        configuration.furtherTiers = [try tier { $0.onDisconnect = .revalidate }]
        return try Cache(
          at: .path(directory.file("cache").path), coder: .string, keyCoder: .string,
          configuration: configuration)
      }
      var cache = try open()
      for key in ["a", "b"] { try await cache.set(large, forKey: key) }
      try await cache.close()
      try await tier().remove(forKey: "b")
      cache = try open()
      #expect(try await cache.value(forKey: "a") == large)
      #expect(try await cache.value(forKey: "b") == nil)
      try await cache.close()
    }
  }
#endif
