// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import Larder
  import LarderCore
  import LarderTestSupport
  import Testing

  @testable import LarderRemote

  extension RemoteTier where Key == String, Value == String {
    /// One of text that trusts its copies for a day.
    convenience init(
      testing connection: any RemoteConnection,
      _ change: (inout RemoteTierConfiguration) -> Void = { _ in }
    ) throws {
      var configuration = RemoteTierConfiguration()
      configuration.localLifetime = .seconds(86_400)
      change(&configuration)
      try self.init(
        name: "test", connection: connection, coder: .string, keyCoder: .string,
        configuration: configuration)
    }

    convenience init(
      testing redis: RedisServer, _ change: (inout RemoteTierConfiguration) -> Void = { _ in }
    ) throws {
      try self.init(testing: RedisConnection(redis.patient), change)
    }
  }

  /// What a tier tells its caches.
  final class Heard<Key: Hashable & Sendable> {
    private var iterator: AsyncStream<CacheInvalidation<Key>>.Iterator

    init<Value>(_ tier: RemoteTier<Key, Value>) throws {
      iterator = try #require(tier.invalidations()).makeAsyncIterator()
    }

    func next() async -> CacheInvalidation<Key>? { await iterator.next() }
  }

  @Suite("A tier on a real server", .enabled(if: RedisServer.isInstalled, RedisServer.whyNot))
  struct RemoteTierTests {
    @Test func whatCouldNotBeReadIsNotWritten() throws {
      var configuration = RemoteTierConfiguration()
      configuration.maximumValueBytes = 8 << 20
      #expect(throws: LarderError.self) {
        try RemoteTier<String, String>(
          name: "test", server: RemoteServer(host: "localhost"), coder: .cbor, keyCoder: .string,
          configuration: configuration)
      }
    }

    @Test func settingsThatMakeNoSenseAreRefused() throws {
      let changes: [(inout RemoteServer) -> Void] = [
        { $0.host = "" }, { $0.host = "a b" }, { $0.host = "localhost\0.example" },
        { $0.port = 0 }, { $0.port = 65_536 }, { $0.timeout = .zero },
        { $0.connectTimeout = .seconds(-1) }, { $0.keepAlive = .zero }, { $0.maximumWaiting = 0 },
        { $0.maximumReplyBytes = 0 }, { $0.database = -1 }, { $0.clientName = "of two words" },
        { $0.clientName = "größer" }, { $0.clientName = "a\nb" },
        {
          $0.cluster = RemoteCluster()
          $0.cluster?.pollInterval = .zero
        },
      ]
      for (number, change) in changes.enumerated() {
        var server = RemoteServer(host: "localhost")
        server.security = .plaintext
        change(&server)
        let error = #expect(throws: LarderError.self, "\(number)") {
          try RemoteTier<String, String>(
            name: "test", server: server, coder: .cbor, keyCoder: .string)
        }
        #expect(error?.code == .invalidArgument, "\(number)")
      }
      let ofTiers: [(inout RemoteTierConfiguration) -> Void] = [
        { $0.keyPrefix = "" }, { $0.localLifetime = .seconds(-1) }, { $0.loadLease = .seconds(-1) },
        { $0.softTimeout = .seconds(-1) }, { $0.onDisconnect = .serveStale(for: .seconds(-1)) },
        { $0.maximumValueBytes = -1 }, { $0.absentCountLimit = -1 }, { $0.stalenessSampling = -1 },
      ]
      for (number, change) in ofTiers.enumerated() {
        let error = #expect(throws: LarderError.self, "\(number)") {
          try RemoteTier(testing: FakeConnection { _ in [] }, change)
        }
        #expect(error?.code == .invalidArgument, "\(number)")
      }
    }

    /// Redis queues nothing for a transaction then; what it answers without one is not tracked.
    @Test func whatIsReadWithoutATransactionIsNotKept() async throws {
      let stored = RemoteValue.encode(value: Data("value".utf8), cost: nil, extendedData: nil)
      let connection = FakeConnection { commands in
        if commands.count == 2 { return [.bytes(stored), .integer(-1)] }
        return commands.map { .error($0.name == "EXEC" ? "EXECABORT" : "OOM") }
      }
      let tier = try RemoteTier(testing: connection)
      let found = try #require(try await tier.entry(forKey: "k"))
      let end = try #require(found.expiration?.date)
      #expect(found.value == "value" && end <= .now)
      connection.answer { commands in
        if commands.count == 2 { return [.null, .integer(-2)] }
        return commands.map { _ in .error("OOM") }
      }
      for _ in 0..<2 { #expect(try await tier.entry(forKey: "none") == nil) }
      #expect(tier.statistics.rememberedMisses == 0 && tier.statistics.failures == 0)
    }

    @Test func aFullServerIsReadAndEmptied() async throws {
      let redis = try RedisServer()
      let (one, other) = (try RemoteTier(testing: redis), try RemoteTier(testing: redis))
      try await other.set(CacheTierEntry(value: "value"), forKey: "k")
      let plain = try RedisConnection(redis.patient)
      _ = try await plain.send([RemoteCommand("CONFIG", "SET", "maxmemory", "1")], patience: nil)
      #expect(try await one.entry(forKey: "k")?.value == "value")
      for _ in 0..<2 { #expect(try await one.entry(forKey: "none") == nil) }
      #expect(one.statistics.failures == 0)
      let error = await remoteError { try await one.set(CacheTierEntry(value: "2"), forKey: "k") }
      #expect(error?.message.contains("its memory is full") == true)
      try await one.remove(forKey: "k")
      #expect(try await one.entry(forKey: "k") == nil)
      try await one.removeAll(progress: nil)
    }

    @Test func aCallThatIsCancelledIsNoFailure() async throws {
      let server = try await ScriptedServer { _, arrival in
        arrival == 0 ? [.say(ScriptedServer.welcome)] : []
      }
      let tier = try RemoteTier(testing: RedisConnection(server.server))
      let cache = Cache(name: "test", tiers: [tier])
      let read = Task { try await cache.value(forKey: "k") }
      while !server.received.suffix(10).elementsEqual("$4\r\nEXEC\r\n".utf8) { await Task.yield() }
      read.cancel()
      await #expect(throws: CancellationError.self) { try await read.value }
      #expect(tier.statistics.failures == 0 && cache.statistics.failures == 0)
    }

    @Test func anEntryComesBackWithAllThatGoesWithIt() async throws {
      let redis = try RedisServer()
      let (one, other) = (try RemoteTier(testing: redis), try RemoteTier(testing: redis))
      let entry = CacheTierEntry(
        value: "value", cost: -7, extendedData: Data([1, 2]), expiration: .seconds(1_000_000))
      try await one.set(entry, forKey: "k")
      let found = try #require(try await other.entry(forKey: "k"))
      #expect(found.value == "value" && found.cost == -7 && found.extendedData == Data([1, 2]))
      // As long as a copy may live.
      let end = try #require(found.expiration?.date)
      #expect(end > Date.now + 80_000 && end <= Date.now + 86_400)
      #expect(try await other.contains("k"))
      try await other.remove(forKey: "k")
      #expect(try await one.entry(forKey: "k") == nil)
      #expect(try await one.contains("k") == false)
      #expect(
        one.statistics.writes == 1 && one.statistics.misses == 1 && other.statistics.hits == 1)
    }

    @Test func anEntryEndsOnTheServerWhenItSaidSo() async throws {
      let redis = try RedisServer()
      let tier = try RemoteTier(testing: redis) { $0.expiration = .days(2) }
      let plain = try RedisConnection(redis.patient)
      try await tier.set(CacheTierEntry(value: "a", expiration: .seconds(5000)), forKey: "a")
      try await tier.set(CacheTierEntry(value: "b"), forKey: "b")
      try await tier.set(CacheTierEntry(value: "c", expiration: .never), forKey: "c")
      let lives = try await plain.send(
        ["a", "b", "c"].map { RemoteCommand("PTTL", "larder:test:\($0)") }, patience: nil)
      guard lives.count == 3, case .integer(let a) = lives[0], case .integer(let b) = lives[1]
      else {
        Issue.record("no lives")
        return
      }
      #expect(a > 1_000_000 && a <= 5_000_000 && b > 100_000_000 && b <= 172_800_000)
      #expect(lives[2] == .integer(-1))
      // What has ended already is not stored, and replaces what is there.
      try await tier.set(CacheTierEntry(value: "a", expiration: .seconds(-1)), forKey: "a")
      #expect(try await tier.contains("a") == false)
      let copy = try #require(try await tier.entry(forKey: "b")?.expiration?.date)
      #expect(copy <= Date.now + 86_400)
    }

    @Test func othersAreToldOfWhatTheyHaveRead() async throws {
      let redis = try RedisServer()
      let (one, other) = (try RemoteTier(testing: redis), try RemoteTier(testing: redis))
      let heard = try Heard(one)
      try await other.set(CacheTierEntry(value: "1"), forKey: "k")
      #expect(try await one.entry(forKey: "k")?.value == "1")
      try await other.set(CacheTierEntry(value: "2"), forKey: "k")
      #expect(await heard.next() == .keys(["k"]))
      #expect(try await one.entry(forKey: "k")?.value == "2")
      try await other.remove(forKey: "k")
      #expect(await heard.next() == .keys(["k"]))
      #expect(one.statistics.invalidations == 2)
    }

    /// A plain write of ours would end the tracking of its key.
    @Test func whatWeWroteOurselvesIsAnnouncedWhenOthersWriteIt() async throws {
      let redis = try RedisServer()
      let (one, other) = (try RemoteTier(testing: redis), try RemoteTier(testing: redis))
      let heard = try Heard(one)
      for round in 0..<3 {
        try await one.set(CacheTierEntry(value: "mine \(round)"), forKey: "k")
        try await other.set(CacheTierEntry(value: "theirs \(round)"), forKey: "k")
        #expect(await heard.next() == .keys(["k"]))
      }
    }

    @Test func whatIsAbsentIsRememberedUntilSomebodyWritesIt() async throws {
      let redis = try RedisServer()
      let (one, other) = (try RemoteTier(testing: redis), try RemoteTier(testing: redis))
      let heard = try Heard(one)
      for _ in 0..<3 { #expect(try await one.entry(forKey: "k") == nil) }
      #expect(one.statistics.misses == 1 && one.statistics.rememberedMisses == 2)
      try await other.set(CacheTierEntry(value: "new"), forKey: "k")
      #expect(await heard.next() == .keys(["k"]))
      #expect(try await one.entry(forKey: "k")?.value == "new")
      // And our own write is not told us.
      #expect(try await one.entry(forKey: "mine") == nil)
      try await one.set(CacheTierEntry(value: "mine"), forKey: "mine")
      #expect(try await one.entry(forKey: "mine")?.value == "mine")
    }

    @Test func aFlushDropsEverything() async throws {
      let redis = try RedisServer()
      let tier = try RemoteTier(testing: redis)
      let heard = try Heard(tier)
      #expect(try await tier.entry(forKey: "absent") == nil)
      try await tier.set(CacheTierEntry(value: "1"), forKey: "k")
      let plain = try RedisConnection(redis.patient)
      _ = try await plain.send([RemoteCommand("FLUSHALL")], patience: nil)
      #expect(await heard.next() == .all)
      #expect(try await tier.entry(forKey: "k") == nil)
      #expect(tier.statistics.flushes == 1)
    }

    @Test func onlyTheTiersOwnKeysAreRemoved() async throws {
      let redis = try RedisServer()
      let tier = try RemoteTier(testing: redis) { $0.keyPrefix = "a*[b]?\\:" }
      let other = try RemoteTier(testing: redis) { $0.keyPrefix = "axb]?\\:" }
      for number in 0..<250 {
        try await tier.set(
          CacheTierEntry(value: "v"), forKey: number % 2 == 0 ? "x\(number)" : "y*\(number)")
      }
      try await other.set(CacheTierEntry(value: "stays"), forKey: "x0")
      #expect(try await tier.remove(prefix: "y*") == 125)
      #expect(try await tier.remove(prefix: "*") == 0)
      #expect(try await tier.contains("x0"))
      try await tier.removeAll(progress: nil)
      #expect(try await tier.contains("x0") == false)
      #expect(try await other.contains("x0"))
      await #expect(throws: CancellationError.self) { try await other.removeAll { _, _ in false } }
    }

    @Test func whatIsNotOursIsAnErrorAndStays() async throws {
      let redis = try RedisServer()
      let tier = try RemoteTier(testing: redis)
      let plain = try RedisConnection(redis.patient)
      _ = try await plain.send(
        [
          RemoteCommand("SET", "larder:test:a", "short"),
          RemoteCommand("SET", "larder:test:b", "0123456789abcdef\u{7}\u{0}value"),
          RemoteCommand("LPUSH", "larder:test:c", "1"),
        ], patience: nil)
      #expect(await remoteError { try await tier.entry(forKey: "a") }?.code == .damaged)
      #expect(await remoteError { try await tier.entry(forKey: "b") }?.code == .incompatibleVersion)
      #expect(await remoteError { try await tier.entry(forKey: "c") }?.code == .remote)
      #expect(tier.statistics.failures == 3)
      #expect(try await tier.contains("b"))
    }

    @Test func aLostConnectionDropsEverythingOnceItIsKnown() async throws {
      let redis = try RedisServer()
      let tier = try RemoteTier(testing: redis)
      let heard = try Heard(tier)
      #expect(try await tier.entry(forKey: "absent") == nil)
      redis.end()
      #expect(await heard.next() == .all)
      let again = try RedisServer(port: redis.port)
      let other = try RemoteTier(testing: again)
      try await other.set(CacheTierEntry(value: "new"), forKey: "absent")
      await until { (try? await tier.entry(forKey: "absent"))?.value == "new" }
      #expect(tier.statistics.lostConnections >= 1 && tier.statistics.connections >= 2)
      await tier.close()
      #expect(await remoteError { try await tier.entry(forKey: "absent") }?.code == .closed)
      // What waited comes first.
      while await heard.next() != nil {}
    }
  }

  @Suite("A tier on a connection that does as it is told") struct RemoteTierOrderTests {
    private static func value(_ text: String) -> RemoteReply {
      .bytes(RemoteValue.encode(value: Data(text.utf8), cost: nil, extendedData: nil))
    }

    /// The reply was on its way when another machine wrote the key, and the push was faster.
    @Test func anAbsenceThatWasOverWhenItCameIsNotRemembered() async throws {
      let connection = FakeConnection { _ in [] }
      let tier = try RemoteTier(testing: connection)
      let key = Array("larder:test:k".utf8)
      connection.answer { _ in
        connection.tell(.invalidated([key]))
        return FakeConnection.transaction(.null, .integer(-2))
      }
      #expect(try await tier.entry(forKey: "k") == nil)
      #expect(try await tier.entry(forKey: "k") == nil)
      #expect(tier.statistics.misses == 2 && tier.statistics.rememberedMisses == 0)
      for event in [RemoteEvent.flushed, .lost(epoch: 1)] {
        connection.answer { _ in
          connection.tell(event)
          return FakeConnection.transaction(.null, .integer(-2))
        }
        #expect(try await tier.entry(forKey: "k") == nil)
      }
      #expect(tier.statistics.misses == 4)
      connection.answer { _ in FakeConnection.transaction(.null, .integer(-2)) }
      #expect(try await tier.entry(forKey: "k") == nil)
      #expect(try await tier.entry(forKey: "k") == nil)
      #expect(tier.statistics.rememberedMisses == 1)
      // A write whose outcome is unknown ends that.
      connection.answer { _ in throw LarderError(.timedOut, "Late.") }
      await #expect(throws: LarderError.self) {
        try await tier.set(CacheTierEntry(value: "v"), forKey: "k")
      }
      connection.answer { _ in FakeConnection.transaction(Self.value("v"), .integer(-1)) }
      #expect(try await tier.entry(forKey: "k")?.value == "v")
      #expect(tier.statistics.timeouts == 1)
    }

    @Test func everyReadAndWriteIsTracked() async throws {
      let connection = FakeConnection { _ in FakeConnection.transaction(.null, .integer(-2)) }
      let tier = try RemoteTier(testing: connection)
      _ = try await tier.entry(forKey: "k")
      try await tier.set(CacheTierEntry(value: "v"), forKey: "k")
      let names = connection.sent.map { $0.map(\.name) }
      #expect(
        names == [
          ["CLIENT", "MULTI", "CLIENT", "GET", "PTTL", "CLIENT", "EXEC"],
          ["CLIENT", "MULTI", "CLIENT", "SET", "PTTL", "CLIENT", "EXEC"],
        ])
    }

    /// What expires on the server is over here too, by the clock of this machine.
    @Test func aCopyEndsWithTheEntry() async throws {
      let connection = FakeConnection { _ in
        FakeConnection.transaction(Self.value("v"), .integer(1500))
      }
      let start = Date(timeIntervalSince1970: 1_000_000)
      let tier = try RemoteTier(testing: connection) {
        $0.clock = CacheClock(now: { .zero }, date: { start })
      }
      #expect(try await tier.entry(forKey: "k")?.expiration == .date(start + 1.5))
      connection.answer { _ in FakeConnection.transaction(Self.value("v"), .integer(-2)) }
      #expect(try await tier.entry(forKey: "k") == nil)
    }

    @Test func staleCopiesMayBeKeptForAWhile() async throws {
      let sleepers = Sleepers()
      let connection = FakeConnection { _ in [] }
      let tier = try RemoteTier(testing: connection) {
        $0.onDisconnect = .serveStale(for: .seconds(60))
        $0.clock = CacheClock(
          now: { .zero }, date: { .now }, sleep: { try await sleepers.sleep($0) })
      }
      let heard = try Heard(tier)
      connection.tell(.connected(epoch: 1))
      connection.tell(.lost(epoch: 1))
      connection.tell(.invalidated([Array("larder:test:mark".utf8)]))
      // Nothing before that.
      #expect(await heard.next() == .keys(["mark"]))
      connection.tell(.connected(epoch: 2))
      #expect(await heard.next() == .all)
      connection.tell(.lost(epoch: 2))
      let clock = Task {
        while !Task.isCancelled {
          sleepers.move(by: .seconds(61))
          await Task.yield()
        }
      }
      #expect(await heard.next() == .all)
      clock.cancel()
    }

    @Test func whatASlowCacheIsToldDoesNotPileUp() async throws {
      let connection = FakeConnection { _ in [] }
      let tier = try RemoteTier(testing: connection)
      let heard = try Heard(tier)
      let keys = (0..<70_000).map { Array("larder:test:\($0)".utf8) }
      for start in stride(from: 0, to: keys.count, by: 100) {
        connection.tell(.invalidated(Array(keys[start..<(start + 100)])))
      }
      #expect(await heard.next() == .all)
      connection.tell(.invalidated([keys[0], keys[0], Array("other:k".utf8)]))
      #expect(await heard.next() == .keys(["0"]))
    }

    @Test func aTierClosesItsConnection() async throws {
      let connection = FakeConnection { _ in [] }
      try await RemoteTier(testing: connection).close()
      #expect(connection.isClosed)
      #expect(throws: LarderError.self) {
        try RemoteTier(name: "", connection: connection, coder: .string, keyCoder: .string)
      }
    }
  }
#endif
