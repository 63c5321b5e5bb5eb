// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderCore
  import LarderTestSupport
  import Testing

  @testable import Larder
  @testable import LarderRemote

  @Suite("A real cluster", .enabled(if: RedisServer.isInstalled, RedisServer.whyNot), .serialized)
  struct RedisClusterTests {
    private static func slot(_ key: String) -> Int {
      RedisSlot.of(Array("larder:test:\(key)".utf8))
    }

    /// A slot of that key with its owner and another master.
    private static func place(_ key: String, _ redis: RedisCluster) -> (Int, old: Int, new: Int) {
      let old = redis.owner(of: slot(key))
      return (slot(key), old, (old + 1) % redis.servers.count)
    }

    private static func tier(
      _ redis: RedisCluster
    ) throws -> (RemoteTier<String, String>, RedisClusterConnection) {
      let connection = try RedisClusterConnection(redis.patient)
      return (try RemoteTier(testing: connection), connection)
    }

    @Test func keysGoToTheirMastersAndAllOfThemAreRemoved() async throws {
      let redis = try await RedisCluster()
      let ((tier, _), (other, _)) = (try Self.tier(redis), try Self.tier(redis))
      var random = SeededGenerator(seed: 16_384)
      for number in 0..<300 {
        let bytes = (0..<Int.random(in: 0...20, using: &random)).map { _ in
          Array("ab{}{}é \n".utf8).randomElement(using: &random) ?? 0
        }
        let reply = try await redis.send(
          to: number % 3, "CLUSTER", "KEYSLOT", String(decoding: bytes, as: UTF8.self))
        let slot = RedisSlot.of(Array(String(decoding: bytes, as: UTF8.self).utf8))
        #expect(reply == .integer(Int64(slot)))
      }
      // Some of one slot, most of slots of their own.
      let keys = (0..<400).map { $0 % 4 == 0 ? "x{tag}\($0)" : "y\($0)" }
      for key in keys { try await tier.set(CacheTierEntry(value: key), forKey: key) }
      for key in keys { #expect(try await other.entry(forKey: key)?.value == key) }
      for server in redis.servers.indices {
        guard case .integer(let count) = try await redis.send(to: server, "DBSIZE") else { return }
        #expect(count > 50)
      }
      try await other.remove(forKey: "y1")
      #expect(try await tier.remove(prefix: "x") == 100)
      #expect(try await tier.contains("x{tag}0") == false)
      #expect(try await tier.contains("y2"))
      try await tier.removeAll(progress: nil)
      for server in redis.servers.indices {
        #expect(try await redis.send(to: server, "DBSIZE") == .integer(0))
      }
      #expect(tier.statistics.removals == 399 && tier.statistics.connections == 3)
    }

    @Test func eachMasterTellsWhatChangesOnIt() async throws {
      let redis = try await RedisCluster()
      let ((one, _), (other, _)) = (try Self.tier(redis), try Self.tier(redis))
      let heard = try Heard(one)
      for key in ["a", "b", "c", "d", "e", "f"] {
        try await one.set(CacheTierEntry(value: "1"), forKey: key)
        try await other.set(CacheTierEntry(value: "2"), forKey: key)
        #expect(await heard.next() == .keys([key]))
      }
      try await redis.send(to: 1, "FLUSHALL")
      #expect(await heard.next() == .all)
    }

    /// Caches that poll read and write at each stage.
    @Test func cachesReadAndWriteWhileASlotMoves() async throws {
      let redis = try await RedisCluster()
      var server = redis.patient
      server.cluster?.pollInterval = .milliseconds(10)
      var configuration = RemoteTierConfiguration()
      configuration.localLifetime = .seconds(86_400)
      configuration.keyPrefix = "larder:test:"
      let folders = [try TemporaryDirectory(), try TemporaryDirectory()]
      let caches = try folders.map {
        try Cache<String, Int>(
          at: .path($0.file("copies").path), remote: server, remoteConfiguration: configuration)
      }
      // All of the same slot; each is absent until it is written.
      let keys = (0..<8).map { "{tag}\($0)" }
      let (slot, old, new) = Self.place("{tag}", redis)
      func check(_ stage: Int) async throws {
        for (index, key) in keys.enumerated() where index < 4 || index == stage + 4 {
          let (writer, reader) = (caches[index % 2], caches[(index + 1) % 2])
          _ = try await reader.value(forKey: key)
          try await writer.set(stage, forKey: key)
          #expect(try await writer.value(forKey: key) == stage)
          try await until { try await reader.value(forKey: key) == stage }
          // What is loaded while a move is heard of is kept nowhere.
          var loaded = "\(key) loaded at \(stage) "
          repeat {
            loaded += "again "
            #expect(try await reader.value(forKey: loaded) { stage } == stage)
          } while try await writer.value(forKey: loaded) { -1 } != stage
        }
      }
      try await check(0)
      try await redis.beginMove(slot, from: old, to: new)
      try await check(1)
      try await redis.moveKeys(slot, from: old, to: new)
      try await check(2)
      try await redis.endMove(slot, to: new)
      try await check(3)
      let last = caches[0]
      for index in 0..<4 { #expect(try await last.value(forKey: keys[index]) == 3) }
      for cache in caches { try await cache.close() }
    }

    @Test(arguments: [false, true])
    func anAbsentKeyIsReadWhenItsSlotHasMoved(_ isByMigration: Bool) async throws {
      let redis = try await RedisCluster()
      let ((reader, connection), (writer, _)) = (try Self.tier(redis), try Self.tier(redis))
      let (slot, old, new) = Self.place("k", redis)
      #expect(try await reader.entry(forKey: "k") == nil)
      #expect(try await reader.entry(forKey: "k") == nil)
      #expect(reader.statistics.rememberedMisses == 1)
      if isByMigration {
        try await redis.move(slot, from: old, to: new)
      } else {
        try await redis.endMove(slot, to: new)
      }
      // Follows MOVED, if it did not ask who owns what before.
      try await writer.set(CacheTierEntry(value: "new"), forKey: "k")
      try await connection.poll()
      #expect(try await reader.entry(forKey: "k")?.value == "new")
      // The new owner tells what changes.
      let heard = try Heard(reader)
      try await writer.set(CacheTierEntry(value: "newer"), forKey: "k")
      #expect(await heard.next() == .keys(["k"]))
      #expect(reader.statistics.flushes >= 1)
    }

    /// It is written at the server that the slot moves to, and nobody tells who knows that it was
    /// absent at the other one.
    @Test func anAbsentKeyIsReadWhileItsSlotMoves() async throws {
      let redis = try await RedisCluster()
      let ((reader, connection), (writer, _)) = (try Self.tier(redis), try Self.tier(redis))
      let (slot, old, new) = Self.place("k", redis)
      #expect(try await reader.entry(forKey: "k") == nil)
      try await redis.beginMove(slot, from: old, to: new)
      try await writer.set(CacheTierEntry(value: "new"), forKey: "k")
      try await connection.poll()
      #expect(try await reader.entry(forKey: "k")?.value == "new")
    }

    @Test func whatIsReadFromTheNextOwnerIsNotKept() async throws {
      let redis = try await RedisCluster()
      let (reader, _) = try Self.tier(redis)
      let (slot, old, new) = Self.place("{k}", redis)
      try await redis.beginMove(slot, from: old, to: new)
      let heard = try Heard(reader)
      for _ in 0..<2 { #expect(try await reader.entry(forKey: "{k}") == nil) }
      #expect(reader.statistics.rememberedMisses == 0)
      // The cache above would keep what it writes.
      try await reader.set(CacheTierEntry(value: "v"), forKey: "{k}")
      #expect(await heard.next() == .keys(["{k}"]))
      let found = try #require(try await reader.entry(forKey: "{k}"))
      let end = try #require(found.expiration?.date)
      #expect(found.value == "v" && end <= .now)
      // Loads of several machines are as they are elsewhere.
      let load = try await reader.beginLoad(forKey: "{k}2", reason: .missing)
      guard case .granted(let lease) = load else {
        Issue.record("no lease")
        return
      }
      guard case .changed = try await reader.beginLoad(forKey: "{k}2", reason: .missing) else {
        Issue.record("waits for what is not announced")
        return
      }
      #expect(try await lease.publish(CacheTierEntry(value: "w")))
      try await redis.moveKeys(slot, from: old, to: new)
      try await redis.endMove(slot, to: new)
      #expect(try await reader.entry(forKey: "{k}2")?.value == "w")
      #expect(try await reader.entry(forKey: "{k}")?.value == "v")
    }

    @Test func aSlotThatWasAwayBetweenTwoPollsIsNoticed() async throws {
      let redis = try await RedisCluster()
      let (reader, connection) = try Self.tier(redis)
      let (slot, old, new) = Self.place("k", redis)
      #expect(try await reader.entry(forKey: "k") == nil)
      try await connection.poll()
      let before = reader.statistics.flushes
      // Nothing has changed.
      try await connection.poll()
      #expect(reader.statistics.flushes == before)
      #expect(try await reader.entry(forKey: "k") == nil)
      #expect(reader.statistics.misses == 1)
      try await redis.move(slot, from: old, to: new)
      try await redis.move(slot, from: new, to: old)
      try await connection.poll()
      #expect(reader.statistics.flushes == before + 1)
      #expect(try await reader.entry(forKey: "k") == nil)
      #expect(reader.statistics.misses == 2)
    }

    @Test func theOthersGoOnWhenAMasterIsKilled() async throws {
      let redis = try await RedisCluster()
      var server = redis.patient
      (server.timeout, server.connectTimeout) = (.seconds(2), .seconds(2))
      let tier = try RemoteTier(testing: RedisClusterConnection(server))
      let keys = (0..<64).map(String.init)
      for key in keys {
        while (try? await tier.set(CacheTierEntry(value: key), forKey: key)) == nil {}
      }
      let heard = try Heard(tier)
      redis.servers[1].end()
      // With copies of the others' entries: nothing says which are whose.
      #expect(await heard.next() == .all)
      for key in keys {
        if redis.owner(of: Self.slot(key)) == 1 {
          let error = await remoteError { try await tier.entry(forKey: key) }
          #expect(error?.code == .remote || error?.code == .timedOut)
        } else {
          while (try? await tier.entry(forKey: key))?.value != key {}
        }
      }
      #expect(tier.statistics.lostConnections >= 1)
      await tier.close()
    }

    /// `SCAN` of one master, and keys that are no longer there.
    @Test func callsToOneMasterFollowWhatHasMoved() async throws {
      let redis = try await RedisCluster()
      let (tier, connection) = try Self.tier(redis)
      let keys = (0..<30).map { "\($0 % 2 == 0 ? "{k}" : "")\($0)" }
      for key in keys { try await tier.set(CacheTierEntry(value: key), forKey: key) }
      let (slot, old, new) = Self.place("{k}", redis)
      let masters = try await connection.masters
      #expect(masters.count == 3)
      try await redis.move(slot, from: old, to: new)
      let first = try #require(masters.first)
      let replies = try await first.send(
        keys.map { RemoteCommand("UNLINK", "larder:test:\($0)") }, patience: nil)
      #expect(replies == keys.map { _ in .integer(1) })
    }
  }
#endif
