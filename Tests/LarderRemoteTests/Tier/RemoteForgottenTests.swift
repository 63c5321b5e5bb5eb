// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import Larder
  import LarderCore
  import LarderTestSupport
  import Testing

  @testable import LarderRemote

  /// A server that needs room forgets who has read what, or entries, and tells who has read them:
  /// also who sent the command for which it needs the room.
  @Suite("What a server forgets", .enabled(if: RedisServer.isInstalled, RedisServer.whyNot))
  struct RemoteForgottenTests {
    private static let keys = (0..<32).map { "k\($0)" }
    private static let value = String(repeating: "v", count: 10_000)

    /// Reads what another machine has written.
    private func readAll(
      _ tier: RemoteTier<String, String>, _ other: RemoteTier<String, String>
    ) async throws {
      for key in Self.keys {
        try await other.set(CacheTierEntry(value: Self.value), forKey: key)
      }
      for key in Self.keys { #expect(try await tier.entry(forKey: key) != nil) }
    }

    /// What a tier was told so far: a reply comes behind it.
    private func told(
      _ tier: RemoteTier<String, String>, _ heard: Heard<String>
    ) async throws -> Set<String> {
      _ = try await tier.contains("another")
      guard case .keys(let keys) = await heard.next() else { return [] }
      return Set(keys)
    }

    @Test func aFullTrackingTableLosesNoChange() async throws {
      let redis = try RedisServer(["--tracking-table-max-keys", "4"])
      let (one, other) = (try RemoteTier(testing: redis), try RemoteTier(testing: redis))
      let heard = try Heard(one)
      try await readAll(one, other)
      for key in Self.keys { try await other.remove(forKey: key) }
      #expect(try await told(one, heard) == Set(Self.keys))
    }

    @Test func anEvictedEntryIsAnnouncedToWhoeverEvictsIt() async throws {
      let redis = try RedisServer(["--maxmemory", "4mb", "--maxmemory-policy", "allkeys-random"])
      let (one, other) = (try RemoteTier(testing: redis), try RemoteTier(testing: redis))
      let heard = try Heard(one)
      try await readAll(one, other)
      // Twice as much as there is room for.
      for number in 0..<800 {
        try await one.set(CacheTierEntry(value: Self.value), forKey: "new \(number)")
      }
      var gone: Set<String> = []
      for key in Self.keys where try await !other.contains(key) { gone.insert(key) }
      #expect(!gone.isEmpty)
      #expect(try await told(one, heard).isSuperset(of: gone))
    }

    /// Else what is loaded instead would not be kept: its key seems to be changed meanwhile.
    @Test func whoeverFindsThatAnEntryHasExpiredIsNotToldSo() async throws {
      let redis = try RedisServer(["--enable-debug-command", "yes"])
      let one = try RemoteTier(testing: redis)
      let plain = try RedisConnection(redis.patient)
      // So that nobody else finds it.
      let onlyReaders = RemoteCommand("DEBUG", "SET-ACTIVE-EXPIRE", "0")
      #expect(try await plain.send([onlyReaders], patience: nil) == [.status("OK")])
      let entry = CacheTierEntry(value: "v", expiration: .after(.milliseconds(20)))
      try await one.set(entry, forKey: "k")
      try await Task.sleep(for: .milliseconds(50))
      #expect(try await one.entry(forKey: "k") == nil)
      _ = try await one.contains("another")
      #expect(one.statistics.invalidations == 0)
    }
  }
#endif
