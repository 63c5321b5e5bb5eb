// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import Larder
  import LarderCore
  import LarderTestSupport
  import Testing

  @testable import LarderRemote

  /// One machine's cache, which can be opened again.
  private final class Machine {
    let directory: TemporaryDirectory
    let server: RemoteServer
    let change: (inout CacheConfiguration<String, String>) -> Void
    private(set) var tier: RemoteTier<String, String>
    private(set) var cache: Cache<String, String>

    init(
      _ redis: RedisServer,
      _ change: @escaping (inout CacheConfiguration<String, String>) -> Void = { _ in }
    ) throws {
      directory = try TemporaryDirectory()
      var server = redis.patient
      server.openFor = .milliseconds(20)
      (self.server, self.change) = (server, change)
      (tier, cache) = try Self.open(directory, server, change)
    }

    private static func open(
      _ directory: TemporaryDirectory, _ server: RemoteServer,
      _ change: (inout CacheConfiguration<String, String>) -> Void
    ) throws -> (RemoteTier<String, String>, Cache<String, String>) {
      var remote = RemoteTierConfiguration()
      remote.localLifetime = .seconds(86_400)
      remote.loadLease = .seconds(86_400)
      remote.onDisconnect = .revalidate
      let tier = try RemoteTier<String, String>(
        name: "test", server: server, coder: .string, keyCoder: .string, configuration: remote)
      var configuration = CacheConfiguration<String, String>()
      configuration.furtherTiers = [tier]
      change(&configuration)
      let cache = try Cache<String, String>(
        at: .path(directory.file("cache").path), coder: .string, keyCoder: .string,
        configuration: configuration)
      return (tier, cache)
    }

    func restart() async throws {
      try await cache.close()
      (tier, cache) = try Self.open(directory, server, change)
    }

    /// Ends its connection as a network does, and waits until it has heard of that.
    func cut(_ plain: RedisConnection) async throws {
      let count = cache.statistics.invalidations
      _ = try await plain.send(
        [RemoteCommand("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")], patience: nil)
      await until { cache.statistics.invalidations != count && cache.memoryCache.count == 0 }
    }

    /// As a program does that tries again when the server could not be reached.
    func read(_ key: String) async throws -> String? {
      while true {
        do { return try await cache.value(forKey: key) } catch {
          try await Task.sleep(for: .milliseconds(1))
        }
      }
    }

    func onDisk(_ key: String) async throws -> String? {
      try await cache.diskCache?.peek(forKey: key)
    }
  }

  @Suite(
    "Copies on disk that are confirmed", .enabled(if: RedisServer.isInstalled, RedisServer.whyNot))
  struct RemoteRevalidationTests {
    private let long = String(repeating: "long ", count: 10_000)

    @Test func aRestartCostsSixteenBytesForEachCopy() async throws {
      let redis = try RedisServer()
      let machine = try Machine(redis)
      let other = try RemoteTier(testing: redis)
      try await machine.cache.set(long, forKey: "ours", cost: 5, extendedData: Data([1]))
      for key in ["theirs", "changed", "removed"] {
        try await other.set(CacheTierEntry(value: long), forKey: key)
        #expect(try await machine.cache.value(forKey: key) == long)
      }
      try await machine.restart()
      try await other.set(CacheTierEntry(value: "new"), forKey: "changed")
      try await other.remove(forKey: "removed")
      for key in ["ours", "theirs"] { #expect(try await machine.cache.value(forKey: key) == long) }
      #expect(machine.tier.statistics.bytesRead == 32 && machine.tier.statistics.hits == 0)
      #expect(machine.tier.statistics.confirmations == 2)
      let found = try await machine.cache.valueWithExtendedData(forKey: "ours")
      #expect(found?.value == long && found?.extendedData == Data([1]))
      #expect(try await machine.cache.value(forKey: "changed") == "new")
      #expect(try await machine.cache.value(forKey: "removed") == nil)
      let statistics = machine.tier.statistics
      #expect(statistics.confirmations == 2 && statistics.refutedCopies == 2)
      // One answer said that there is nothing.
      #expect(statistics.hits == 1 && statistics.misses + statistics.rememberedMisses == 1)
      // What was confirmed is tracked as what was read.
      try await other.set(CacheTierEntry(value: "new"), forKey: "ours")
      while try await machine.cache.value(forKey: "ours") != "new" { await Task.yield() }
    }

    /// Moved slots are told alike.
    @Test func aFlushLeavesTheDiskToBeConfirmed() async throws {
      let redis = try RedisServer()
      let machine = try Machine(redis)
      let plain = try RedisConnection(redis.patient)
      for key in ["a", "b"] { try await machine.cache.set(long, forKey: key) }
      let key = "larder:test:a"
      let stored = try await plain.send([RemoteCommand("GET", key)], patience: nil)
      guard case .bytes(let bytes)? = stored.first else {
        Issue.record("\(stored)")
        return
      }
      _ = try await plain.send([RemoteCommand("FLUSHALL")], patience: nil)
      while machine.cache.memoryCache.count > 0 { await Task.yield() }
      let back = RemoteCommand("SET", [Array(key.utf8), bytes])
      _ = try await plain.send([back], patience: nil)
      #expect(try await machine.onDisk("b") == long)
      #expect(try await machine.cache.value(forKey: "a") == long)
      #expect(try await machine.cache.value(forKey: "b") == nil)
      let statistics = machine.tier.statistics
      #expect(statistics.confirmations == 1 && statistics.refutedCopies == 1)
      #expect(statistics.flushes == 1 && statistics.hits == 0)
    }

    @Test func aLostConnectionLeavesTheDisk() async throws {
      let redis = try RedisServer()
      let machine = try Machine(redis)
      let plain = try RedisConnection(redis.patient)
      for key in ["a", "b", "c"] { try await machine.cache.set(long, forKey: key) }
      try await machine.cut(plain)
      let other = try RemoteTier(testing: redis)
      try await other.set(CacheTierEntry(value: "new"), forKey: "b")
      // Expired meanwhile.
      _ = try await plain.send(
        [RemoteCommand("PEXPIRE", "larder:test:c", "1")], patience: nil)
      try await until { try await !other.contains("c") }
      #expect(try await machine.onDisk("c") == long)
      #expect(try await machine.read("a") == long)
      #expect(try await machine.read("b") == "new")
      #expect(try await machine.read("c") == nil)
      #expect(machine.tier.statistics.bytesRead < 100 && machine.tier.statistics.hits == 1)
    }

    @Test func withoutAServerNoCopyIsFound() async throws {
      let first = try RedisServer()
      let machine = try Machine(first)
      for key in ["a", "b"] { try await machine.cache.set("1", forKey: key) }
      first.end()
      await until { machine.cache.memoryCache.count == 0 }
      #expect(try await machine.onDisk("a") == "1")
      #expect(await remoteError { try await machine.cache.value(forKey: "a") }?.code == .remote)
      #expect(try await machine.cache.value(forKey: "b") { "loaded" } == "loaded")
      try await machine.restart()
      #expect(await remoteError { try await machine.cache.value(forKey: "a") }?.code == .remote)
      // One that has lost everything.
      let second = try RedisServer(port: first.port)
      #expect(try await machine.read("a") == nil)
      try await machine.cache.set("2", forKey: "a")
      #expect(try await machine.cache.value(forKey: "a") == "2")
      second.end()
    }

    /// Another machine loads what was removed: its marker is no version.
    @Test func aMarkerConfirmsNothing() async throws {
      let redis = try RedisServer()
      let (machine, other) = (try Machine(redis), try Machine(redis))
      try await machine.cache.set("old", forKey: "a")
      try await machine.restart()
      try await other.cache.remove(forKey: "a")
      let (hasBegun, ends) = (Locked(false), Locked(false))
      let first = Task { [cache = other.cache] in
        try await cache.value(forKey: "a") {
          hasBegun.withLock { $0 = true }
          await until { ends.withLock { $0 } }
          return "loaded there"
        }
      }
      await until { hasBegun.withLock { $0 } }
      #expect(try await machine.cache.value(forKey: "a") == nil)
      let load = Task { [cache = machine.cache] in
        try await cache.value(forKey: "a") { "loaded here" }
      }
      await until { machine.tier.statistics.sharedLoads > 0 }
      ends.withLock { $0 = true }
      _ = try await first.value
      #expect(try await load.value == "loaded there")
      #expect(machine.tier.statistics.confirmations == 0)
    }

    @Test func whateverWroteThemCopiesAreConfirmed() async throws {
      let redis = try RedisServer()
      let machine = try Machine(redis) { $0.writePolicy = .writeBack(queueLimit: 100) }
      let cache = machine.cache
      try await cache.set([(key: "a", value: "1"), (key: "b", value: "1")])
      _ = try await cache.value(forKey: "c") { "1" }
      _ = try await cache.values(forKeys: ["d", "e"]) { _ in ["d": "1", "e": "1"] }
      try await cache.update(forKey: "a") { $0 = "2" }
      try await cache.checkpoint()
      try await cache.update(forKey: "b") { $0 = "2" }
      try await machine.restart()
      for key in ["a", "b", "c", "d", "e"] {
        #expect(try await machine.cache.value(forKey: key) == (key < "c" ? "2" : "1"))
      }
      #expect(machine.tier.statistics.confirmations == 5 && machine.tier.statistics.bytesRead == 80)
      try await machine.cache.close()
    }

    @Test func aCacheThatDropsOrHasNoServerReadsTheSameFolder() async throws {
      let redis = try RedisServer()
      let machine = try Machine(redis)
      for key in ["a", "b"] { try await machine.cache.set("1", forKey: key) }
      try await machine.cache.close()
      let path = machine.directory.file("cache").path
      let local = try Cache<String, String>(at: .path(path), coder: .string, keyCoder: .string)
      #expect(try await local.value(forKey: "a") == "1")
      try await local.close()
      let tier = try RemoteTier(testing: redis)
      var configuration = CacheConfiguration<String, String>()
      configuration.furtherTiers = [tier]
      let dropping = try Cache<String, String>(
        at: .path(path), coder: .string, keyCoder: .string, configuration: configuration)
      #expect(try await dropping.diskCache?.peek(forKey: "b") == nil)
      #expect(try await dropping.value(forKey: "b") == "1")
      #expect(tier.statistics.hits == 1 && tier.statistics.confirmations == 0)
      try await dropping.close()
    }

    /// One machine of two, at random: what it reads becomes what the server has, whatever happens
    /// to its process, its connection and the server. Copies live a day: one that is stale would
    /// be waited for in vain.
    @Test(arguments: 1...4)
    func whatIsReadIsWhatTheServerHas(_ seed: UInt64) async throws {
      var random = SeededGenerator(seed: seed)
      var redis = try RedisServer()
      let machine = try Machine(redis)
      let plain = try RedisConnection(machine.server)
      let other = try RemoteTier<String, String>(
        name: "test", server: machine.server, coder: .string, keyCoder: .string)
      var truth: [String: String] = [:]
      var confirmations: UInt64 = 0
      for round in 0..<400 {
        let key = "\(Int.random(in: 0..<10, using: &random))"
        switch Int.random(in: 0..<40, using: &random) {
        case 0..<5:
          while (try? await machine.cache.set("\(round)", forKey: key)) == nil {
            await Task.yield()
          }
          truth[key] = "\(round)"
        case 5..<10:
          let entry = CacheTierEntry(value: "\(round)")
          while (try? await other.set(entry, forKey: key)) == nil { await Task.yield() }
          truth[key] = "\(round)"
        case 10..<12:
          while (try? await other.remove(forKey: key)) == nil { await Task.yield() }
          truth[key] = nil
        case 12..<14:
          let kill = RemoteCommand("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
          while (try? await plain.send([kill], patience: nil)) == nil { await Task.yield() }
        case 14:
          confirmations += machine.tier.statistics.confirmations
          try await machine.restart()
        case 15 where Int.random(in: 0..<4, using: &random) == 0:
          let port = redis.port
          redis.end()
          redis = try RedisServer(port: port)
          truth = [:]
        default:
          while try await machine.read(key) != truth[key] { await Task.yield() }
        }
      }
      for number in 0..<10 {
        while try await machine.read("\(number)") != truth["\(number)"] { await Task.yield() }
      }
      #expect(confirmations + machine.tier.statistics.confirmations > 0)
      redis.end()
    }
  }

  @Suite("Confirmations on a connection that does as it is told") struct RemoteConfirmationTests {
    private static let key = Array("larder:test:k".utf8)
    private let version = CacheTierVersion()
    private let connection = FakeConnection { _ in [] }
    private let start = Date(timeIntervalSince1970: 1_000_000)

    private func tier() throws -> RemoteTier<String, String> {
      try RemoteTier(testing: connection) { [start] configuration in
        configuration.onDisconnect = .revalidate
        configuration.clock = CacheClock(now: { .zero }, date: { start })
      }
    }

    @Test func theFirstBytesAreReadAndTracked() async throws {
      let tier = try tier()
      connection.answer { [version] _ in
        FakeConnection.transaction(.bytes(version.bytes), .integer(-1))
      }
      #expect(try await tier.confirm(version, forKey: "k") == .never)
      let sent = try #require(connection.sent.first)
      #expect(sent.map(\.name).filter { $0 != "CLIENT" } == ["MULTI", "GETRANGE", "PTTL", "EXEC"])
      connection.answer { [version] _ in
        FakeConnection.transaction(.bytes(version.bytes), .integer(1500))
      }
      #expect(try await tier.confirm(version, forKey: "k") == .date(start + 1.5))
      #expect(tier.statistics.confirmations == 2 && tier.statistics.bytesRead == 32)
      for end in [-2, 0] {
        connection.answer { [version] _ in
          FakeConnection.transaction(.bytes(version.bytes), .integer(Int64(end)))
        }
        #expect(try await tier.confirm(version, forKey: "k") == nil)
      }
      connection.answer { _ in
        FakeConnection.transaction(.bytes(RemoteValue.marker().dropLast()), .integer(5000))
      }
      #expect(try await tier.confirm(version, forKey: "k") == nil)
      #expect(tier.statistics.confirmations == 2 && tier.statistics.refutedCopies == 3)
    }

    @Test func anEntryThatIsGoneIsNotAskedForAgain() async throws {
      let tier = try tier()
      connection.answer { _ in FakeConnection.transaction(.bytes([]), .integer(-2)) }
      #expect(try await tier.confirm(version, forKey: "k") == nil)
      #expect(try await tier.confirm(version, forKey: "k") == nil)
      #expect(try await tier.entry(forKey: "k") == nil)
      #expect(connection.sent.count == 1 && tier.statistics.rememberedMisses == 1)
    }

    /// It was what the server had when it was asked, and is not for long.
    @Test(arguments: [
      RemoteEvent.invalidated([key]), .untracked(key), .flushed, .lost(epoch: 1),
    ])
    func whatChangesMeanwhileIsNotKept(_ event: RemoteEvent) async throws {
      let tier = try tier()
      connection.answer { [connection, version] _ in
        connection.tell(event)
        return FakeConnection.transaction(.bytes(version.bytes), .integer(-1))
      }
      #expect(try await tier.confirm(version, forKey: "k") == .date(start))
    }

    @Test func anEntryHasItsVersionAndAllItsLife() async throws {
      let tier = try tier()
      var entry = CacheTierEntry(value: "v")
      entry.version = version
      connection.answer { _ in FakeConnection.transaction(.status("OK"), .integer(-1)) }
      try await tier.set(entry, forKey: "k")
      let set = try #require(connection.sent.last?.first { $0.name == "SET" })
      let stored = try #require(set.arguments.last)
      #expect(stored.starts(with: version.bytes))
      connection.answer { _ in FakeConnection.transaction(.bytes(stored), .integer(-1)) }
      let found = try #require(try await tier.entry(forKey: "k"))
      #expect(found.version == version && found.expiration == .never && found.writtenAt == start)
      // Without confirmation copies end.
      let dropping = try RemoteTier(testing: connection) { [start] configuration in
        configuration.clock = CacheClock(now: { .zero }, date: { start })
      }
      let plain = try #require(try await dropping.entry(forKey: "k"))
      #expect(plain.version == nil && plain.expiration == .date(start + 86_400))
      #expect(tier.confirmsCopies && !dropping.confirmsCopies)
    }

    @Test func cachesAreToldInOrder() async throws {
      let tier = try tier()
      let heard = try Heard(tier)
      connection.tell(.invalidated([Self.key]))
      connection.tell(.lost(epoch: 1))
      connection.tell(.invalidated([Array("larder:test:l".utf8)]))
      #expect(await heard.next() == .unconfirmed)
      guard case .keys(let keys)? = await heard.next() else {
        Issue.record("no keys")
        return
      }
      #expect(Set(keys) == ["k", "l"])
      connection.tell(.lost(epoch: 2))
      connection.tell(.flushed)
      connection.tell(.lost(epoch: 3))
      #expect(await heard.next() == .unconfirmed)
      connection.tell(.invalidated([Self.key]))
      #expect(await heard.next() == .keys(["k"]))
      #expect(tier.statistics.lostConnections == 3)
    }
  }
#endif
