// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderCore
  import LarderTestSupport
  import Testing

  @testable import Larder
  @testable import LarderRemote

  @Suite("Ages and renewals on a server", .enabled(if: RedisServer.isInstalled, RedisServer.whyNot))
  struct RemoteRenewalTests {
    private let redis: RedisServer
    private let seconds = Locked(0.0)

    init() throws { redis = try RedisServer() }

    private var clock: CacheClock {
      let seconds = seconds
      return CacheClock(
        now: { .seconds(seconds.withLock { $0 }) },
        date: { Date(timeIntervalSince1970: 1_800_000_000 + seconds.withLock { $0 }) })
    }

    private func advance(_ more: Double) { seconds.withLock { $0 += more } }

    private func tier() throws -> RemoteTier<String, String> {
      var remote = RemoteTierConfiguration()
      remote.clock = clock
      remote.localLifetime = .seconds(86_400)
      remote.loadLease = .seconds(86_400)
      return try RemoteTier(
        name: "test", connection: RedisConnection(redis.patient), coder: .string,
        keyCoder: .string, configuration: remote)
    }

    private func cache(_ tier: RemoteTier<String, String>) -> Cache<String, String> {
      var configuration = CacheConfiguration<String, String>()
      configuration.clock = clock
      configuration.memory.refreshAfter = .seconds(10)
      return Cache(name: "test", tiers: [tier], configuration: configuration)
    }

    /// A machine that reads a key for the first time has the value for the rest of its time.
    private func isDueElsewhere(
      _ key: String, _ value: String, after seconds: Double, andThen rest: Double
    ) async throws {
      advance(seconds)
      let other = cache(try tier())
      #expect(try await other.value(forKey: key) { "early" } == value)
      advance(rest)
      #expect(try await other.value(forKey: key) { "new" } == value)
      await until { other.memoryCache.peek(forKey: key) == "new" }
    }

    @Test func anAgeGoesFromMachineToMachine() async throws {
      let one = cache(try tier())
      try await one.set("one", forKey: "k")
      try await isDueElsewhere("k", "one", after: 7, andThen: 3)
      // And what a load says of its value.
      _ = try await one.value(forKey: "l") { LoadedValue("long", refreshAfter: .seconds(50)) }
      try await isDueElsewhere("l", "long", after: 49, andThen: 1)
    }

    @Test func whatIsUnchangedIsNotSentAgain() async throws {
      let body = String(repeating: "body ", count: 2000)
      let remote = try tier()
      let (one, other) = (cache(remote), cache(try tier()))
      let calls = Locked(0)
      let load: @Sendable (OldValue<String>?) -> LoadedValue<String> = { old in
        calls.withLock { $0 += 1 }
        return old?.unchanged(expiration: .seconds(1000))
          ?? LoadedValue(body, extendedData: Data([7]), expiration: .seconds(100))
      }
      #expect(try await one.value(forKey: "k", orLoad: load) == body)
      #expect(try await other.value(forKey: "k", orLoad: load) == body)
      for round in 1...3 {
        advance(10)
        let sent = remote.statistics.bytesWritten
        #expect(try await one.value(forKey: "k", orLoad: load) == body)
        await until { remote.statistics.writes == round + 1 }
        await until { one.statistics.loads == round + 1 }
        #expect(remote.statistics.bytesWritten - sent < 50)
        // Everybody has the new terms, and its own data.
        let entry = try #require(try await tier().entry(forKey: "k"))
        #expect(entry.value == body && entry.age == .zero && entry.extendedData == Data([7]))
        // Once it was told: what it has is as old as it looks until then.
        await until { other.memoryCache.peek(forKey: "k") == nil }
        advance(5)
        #expect(try await other.value(forKey: "k", orLoad: load) == body)
        advance(-5)
      }
      #expect(calls.withLock { $0 } == 4)
    }

    /// Another machine wrote it meanwhile: that stays.
    @Test func whatOthersHaveWrittenIsNotRenewed() async throws {
      let (one, other) = (cache(try tier()), cache(try tier()))
      try await one.set("one", forKey: "k")
      advance(10)
      let value = try await one.value(forKey: "k") { old in
        try await other.set("two", forKey: "k")
        return old?.unchanged() ?? LoadedValue("lost")
      }
      #expect(value == "one")
      await until { one.statistics.loads == 1 }
      await until { one.memoryCache.peek(forKey: "k") != "one" }
      #expect(try await one.value(forKey: "k") == "two")
      #expect(try await tier().entry(forKey: "k")?.value == "two")
    }
  }
#endif
