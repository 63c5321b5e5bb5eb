// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderCompression
  import LarderCore
  import LarderTestSupport
  import Testing

  @testable import Larder
  @testable import LarderRemote

  @Suite("Loads over a server", .enabled(if: RedisServer.isInstalled, RedisServer.whyNot))
  struct RemoteLoadingTests {
    private let redis: RedisServer

    init() throws { redis = try RedisServer() }

    private func tier(
      _ connection: (any RemoteConnection)? = nil, coder: Coder<Int> = .cbor,
      _ change: (inout RemoteTierConfiguration) -> Void = { _ in }
    ) throws -> RemoteTier<String, Int> {
      var remote = RemoteTierConfiguration()
      remote.localLifetime = .seconds(86_400)
      remote.loadLease = .seconds(86_400)
      change(&remote)
      return try RemoteTier(
        name: "test", connection: try connection ?? RedisConnection(redis.patient), coder: coder,
        keyCoder: .string, configuration: remote)
    }

    private func cache(
      _ tier: RemoteTier<String, Int>,
      _ change: (inout CacheConfiguration<String, Int>) -> Void = { _ in }
    ) -> Cache<String, Int> {
      var configuration = CacheConfiguration<String, Int>()
      change(&configuration)
      return Cache(name: "test", tiers: [tier], configuration: configuration)
    }

    /// What the server has, whoever asks.
    private func stored(_ key: String) async throws -> Int? {
      try await tier().entry(forKey: key)?.value
    }

    private func plain(_ commands: RemoteCommand...) async throws -> [RemoteReply] {
      try await RedisConnection(redis.patient).send(commands, patience: nil)
    }

    enum Form: CaseIterable, Sendable { case one, many, blockingOne, blockingMany }

    /// One load, during which another machine does something. Gives what was loaded.
    private func load(
      _ form: Form, _ cache: Cache<String, Int>,
      _ meanwhile: @escaping @Sendable () async throws -> Void
    ) async throws -> Int? {
      switch form {
      case .one:
        return try await cache.value(forKey: "k") {
          try await meanwhile()
          return 1
        }
      case .many:
        return try await cache.values(forKeys: ["k"]) { _ in
          try await meanwhile()
          return ["k": 1]
        }["k"]
      case .blockingOne, .blockingMany:
        return try await onThread {
          let wait = {
            let done = DispatchSemaphore(value: 0)
            Task.detached {
              do { try await meanwhile() } catch { Issue.record(error) }
              done.signal()
            }
            done.wait()
          }
          if form == .blockingOne {
            return try cache.value(forKey: "k") {
              wait()
              return 1
            }
          }
          return try cache.values(forKeys: ["k"]) { _ in
            wait()
            return ["k": 1]
          }["k"]
        }
      }
    }

    private func onThread<R: Sendable>(
      _ body: @escaping @Sendable () throws -> R
    ) async throws -> R {
      try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
      }
    }

    // MARK: - Claims that were given up

    /// A busy server may execute a claim after everybody has given it up.
    @Test func aClaimThatComesLateIsTakenBack() async throws {
      let attempts = Locked(0)
      let (ended, end) = AsyncStream<[UInt8]>.makeStream()
      let connection = FakeConnection { commands in
        guard let script = commands.first(where: { $0.name == "EVAL" })?.arguments else {
          throw LarderError(.timedOut, "A read took too long.")
        }
        // The claim has the marker and its life, a settlement the marker alone.
        if script.count > 4 { throw LarderError(.timedOut, "The claim took too long.") }
        let attempt = attempts.withLock { attempts in
          attempts += 1
          return attempts
        }
        if attempt == 1 { throw LarderError(.remote, "Not yet connected.") }
        // Then it is executed, and seen to be there.
        if attempt == 4 { end.yield(script[3]) }
        return FakeConnection.transaction(.integer(attempt == 4 ? 1 : 0), .integer(-2))
      }
      let tier = try tier(connection) {
        $0.clock = CacheClock(now: { .zero }, date: { Date() }, sleep: { _ in await Task.yield() })
      }
      await #expect(throws: LarderError.self) {
        try await tier.beginLoad(forKey: "k", reason: .missing)
      }
      for await marker in ended {
        #expect(RemoteValue.isMarker(marker))
        break
      }
      #expect(attempts.withLock { $0 } == 4)
    }

    // MARK: - Stale loads

    /// The server did not say whether to load. When the load ends it is there again, and has what
    /// another machine wrote meanwhile.
    @Test(arguments: Form.allCases)
    func whatWasLoadedWithoutPermissionIsNotStored(_ form: Form) async throws {
      let connection = try InterferingConnection(redis)
      connection.deafen()
      connection.interfere { $0.contains { $0.name == "EVAL" } ? .refuse : nil }
      let (tier, other) = (try tier(connection), try self.tier())
      let cache = cache(tier)
      let loaded = try await load(form, cache) {
        connection.interfere { _ in nil }
        try await other.set(CacheTierEntry(value: 2), forKey: "k")
      }
      #expect(loaded == 1)
      #expect(try await stored("k") == 2)
      #expect(cache.memoryCache.peek(forKey: "k") == nil)
      #expect(tier.statistics.writes == 0)
    }

    /// The announcement is on its way: only the server can tell that the load is stale.
    @Test(arguments: Form.allCases, [false, true])
    func whatIsWrittenDuringALoadWins(_ form: Form, _ removes: Bool) async throws {
      let connection = try InterferingConnection(redis)
      connection.deafen()
      let (cache, other) = (cache(try tier(connection)), try tier())
      let loaded = try await load(form, cache) {
        try await other.set(CacheTierEntry(value: 2), forKey: "k")
        if removes { try await other.remove(forKey: "k") }
      }
      #expect(loaded == 1)
      #expect(try await stored("k") == (removes ? nil : 2))
      #expect(cache.memoryCache.peek(forKey: "k") == nil)
      // And what nothing happened to is stored.
      try await other.remove(forKey: "k")
      _ = try await load(form, self.cache(try tier())) {}
      #expect(try await stored("k") == 1)
    }

    @Test func whatIsWrittenDuringARefreshWins() async throws {
      let connection = try InterferingConnection(redis)
      let (tier, other) = (try tier(connection), try self.tier())
      let cache = cache(tier) { $0.memory.refreshAfter = .nanoseconds(1) }
      try await cache.set(1, forKey: "k")
      connection.deafen()
      let isLoaded = Locked(false)
      while !isLoaded.withLock({ $0 }) {
        _ = try await cache.value(forKey: "k") {
          try await other.set(CacheTierEntry(value: 2), forKey: "k")
          isLoaded.withLock { $0 = true }
          return 3
        }
        await Task.yield()
      }
      // It is known then that the copy is old.
      while cache.memoryCache.peek(forKey: "k") == 1 { await Task.yield() }
      #expect(try await stored("k") == 2)
      // What nobody else changes is replaced.
      while try await stored("k") != 4 { _ = try await cache.value(forKey: "k") { 4 } }
    }

    // MARK: - Markers

    /// The marker is there, and who put it down does not know.
    @Test func aMarkerWhoseReplyWasLostKeepsNobodyWaiting() async throws {
      let connection = try InterferingConnection(redis)
      let isFirst = Locked(true)
      connection.interfere { commands in
        guard commands.contains(where: { $0.name == "EVAL" }) else { return nil }
        return isFirst.withLock { isFirst in
          defer { isFirst = false }
          return isFirst ? .loseReply : nil
        }
      }
      let (one, other) = (cache(try tier(connection)), cache(try tier()))
      #expect(try await one.value(forKey: "k") { 1 } == 1)
      #expect(try await other.value(forKey: "k") { 2 } == 2)
      #expect(try await stored("k") == 2)
    }

    @Test func aValueThatCannotBeEncodedKeepsNobodyWaiting() async throws {
      struct Failure: Error {}
      let coder = Coder<Int>(encode: { _ in throw Failure() }, decode: { _ in throw Failure() })
      let (one, other) = (cache(try tier(coder: coder)), cache(try tier()))
      #expect(try await one.value(forKey: "k") { 1 } == 1)
      #expect(try await other.value(forKey: "k") { 2 } == 2)
    }

    private var marker: RemoteCommand {
      RemoteCommand("SET", [Array("larder:test:k".utf8), RemoteValue.marker()])
    }

    @Test func aMachineThatDiedWhileItLoadedIsWaitedForNoLongerThanItsLease() async throws {
      _ = try await plain(marker, RemoteCommand("PEXPIRE", "larder:test:k", "50"))
      #expect(try await cache(try tier()).value(forKey: "k") { 1 } == 1)
      #expect(try await stored("k") == 1)
    }

    /// Nobody announces what this machine writes itself.
    @Test func aWriteOfItsOwnEndsTheWait() async throws {
      _ = try await plain(marker)
      let tier = try tier()
      let cache = cache(tier)
      let load = Task { try await onThread { try cache.value(forKey: "k") { 1 } } }
      while tier.statistics.sharedLoads == 0 { await Task.yield() }
      try await cache.set(5, forKey: "k")
      #expect(try await load.value == 5)
    }

    @Test func aRemovalOfItsOwnEndsTheWait() async throws {
      _ = try await plain(marker)
      let tier = try tier()
      let cache = cache(tier)
      let load = Task { try await onThread { try cache.value(forKey: "k") { 1 } } }
      while tier.statistics.sharedLoads == 0 { await Task.yield() }
      try await cache.removeAll()
      #expect(try await load.value == 1)
    }

    // MARK: - What cannot be read

    @Test func whatCannotBeReadIsLoadedAndStays() async throws {
      let garbage = "0123456789abcdef\u{7}\u{0}value"
      _ = try await plain(RemoteCommand("SET", "larder:test:k", garbage))
      let cache = cache(try tier())
      #expect(try await cache.value(forKey: "k") { 1 } == 1)
      #expect(try await cache.value(forKey: "k") { 2 } == 2)
      #expect(try await onThread { try cache.value(forKey: "k") { 3 } } == 3)
      #expect(
        try await plain(RemoteCommand("GET", "larder:test:k")) == [.bytes(Array(garbage.utf8))])
      // A write replaces it.
      try await cache.set(4, forKey: "k")
      #expect(try await stored("k") == 4)
    }

    @Test func withoutALocalLifeEachReadAsksTheServer() async throws {
      try await tier().set(CacheTierEntry(value: 1), forKey: "k")
      let tier = try tier { $0.localLifetime = .zero }
      let cache = cache(tier)
      for _ in 0..<3 { #expect(try await cache.value(forKey: "k") { 9 } == 1) }
      #expect(tier.statistics.hits == 3)
    }

    // MARK: - Coders

    /// What a coder makes is all that the server gets, besides a header: fewer bytes, or such that
    /// nobody can read.
    @Test func aCoderHidesAndCompressesValues() async throws {
      let masked = Coder<String>(
        encode: { Data($0.utf8.map { $0 ^ 0x5A }) },
        decode: { String(decoding: $0.map { $0 ^ 0x5A }, as: UTF8.self) })
      let text = String(repeating: "secret ", count: 200)
      for (coder, isHidden, size) in [
        (masked, true, 1434), (.string, false, 1434), (.string.compressed(), true, 116),
      ] {
        let tier = try RemoteTier<String, String>(
          name: "test", connection: RedisConnection(redis.patient), coder: coder,
          keyCoder: .string)
        let entry = CacheTierEntry(value: text)
        try await tier.set(entry, forKey: "k")
        #expect(try await tier.entry(forKey: "k")?.value == text)
        guard case .bytes(let bytes)? = try await plain(RemoteCommand("GET", "larder:test:k")).first
        else {
          Issue.record("nothing is stored")
          return
        }
        #expect((Data(bytes).range(of: Data("secret".utf8)) == nil) == isHidden)
        #expect(bytes.count <= size)
        #expect(tier.statistics.bytesWritten == UInt64(bytes.count))
        #expect(tier.statistics.bytesRead == UInt64(bytes.count))
      }
    }
  }

  @Suite("Copies that are made while the connection is lost") struct RemoteLossTests {
    private static let value = RemoteReply.bytes(
      RemoteValue.encode(value: Data("7".utf8), cost: nil, extendedData: nil))

    /// The reply arrives, the connection is lost, all copies are dropped, and only then is this one
    /// made: nobody would tell of its changes.
    @Test(arguments: [false, true])
    func noneIsKept(_ writes: Bool) async throws {
      let directory = try TemporaryDirectory()
      let connection = FakeConnection { _ in [] }
      let tier = try RemoteTier(testing: connection)
      var configuration = CacheConfiguration<String, String>()
      configuration.furtherTiers = [tier]
      let cache = try Cache(
        at: .path(directory.file("copies").path), coder: .string, keyCoder: .string,
        configuration: configuration)
      let mark = Array("larder:test:mark".utf8)
      connection.answer { [weak cache] _ in
        connection.tell(.lost(epoch: 1))
        while cache?.statistics.invalidations == 0 { await Task.yield() }
        // Which is applied behind that.
        connection.tell(.invalidated([mark]))
        while cache?.statistics.invalidations == 1 { await Task.yield() }
        return writes
          ? FakeConnection.transaction(.status("OK"), .integer(-1))
          : FakeConnection.transaction(Self.value, .integer(-1))
      }
      if writes {
        try await cache.set("7", forKey: "k")
      } else {
        #expect(try await cache.value(forKey: "k") == "7")
      }
      #expect(cache.memoryCache.peek(forKey: "k") == nil)
      #expect(try await cache.diskCache?.value(forKey: "k") == nil)
      // Without a loss they are kept. What is read while the mark is removed need not be, if the
      // keys share a group of writers: the third removal, behind those at the opening and the loss.
      while cache.statistics.tiers[0].removals < 3
        || !cache.writers.isGood(cache.writers.token("mark"))
      {
        await Task.yield()
      }
      connection.answer { _ in
        writes
          ? FakeConnection.transaction(.status("OK"), .integer(-1))
          : FakeConnection.transaction(Self.value, .integer(-1))
      }
      if writes {
        try await cache.set("7", forKey: "l")
      } else {
        #expect(try await cache.value(forKey: "l") == "7")
      }
      #expect(cache.memoryCache.peek(forKey: "l") == "7")
      #expect(try await cache.diskCache?.value(forKey: "l") == "7")
      try await cache.close()
    }
  }
#endif
