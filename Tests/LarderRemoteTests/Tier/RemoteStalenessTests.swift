// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import Larder
  import LarderCore
  import LarderTestSupport
  import Testing

  @testable import LarderRemote

  @Suite("How stale copies are") struct RemoteStalenessTests {
    private let sleepers = Sleepers()
    private let now = Locked(Duration.zero)
    private let key = Array("larder:test:k".utf8)

    private static func value() -> [UInt8] {
      RemoteValue.encode(value: Data("v".utf8), cost: nil, extendedData: nil)
    }

    private func configure(_ configuration: inout RemoteTierConfiguration) {
      configuration.stalenessSampling = 1
      configuration.clock = CacheClock(
        now: { now.withLock { $0 } },
        date: { Date(timeIntervalSince1970: 1e9) + (now.withLock { $0 } / .seconds(1)) },
        sleep: { try await sleepers.sleep($0) })
    }

    /// Lets so much time pass, by and by, until that is so.
    private func pass(until isSo: () -> Bool) async {
      while !isSo() {
        sleepers.move(by: .seconds(3600))
        await Task.yield()
      }
    }

    /// Reads an entry, and has it compared with a version.
    private func tier(
      _ connection: FakeConnection, serverHas version: @escaping @Sendable () -> [UInt8],
      _ value: [UInt8]
    ) async throws -> RemoteTier<String, String> {
      let tier = try RemoteTier(testing: connection, configure)
      connection.answer { commands in
        if commands.contains(where: { $0.name == "GETRANGE" }) { return [.bytes(version())] }
        return FakeConnection.transaction(.bytes(value), .integer(-1))
      }
      _ = try await tier.entry(forKey: "k")
      return tier
    }

    @Test func aCopyThatIsWhatTheServerHasIsNotStale() async throws {
      let value = Self.value()
      let tier = try await tier(
        FakeConnection { _ in [] }, serverHas: { Array(value.prefix(16)) }, value)
      await pass { tier.statistics.stalenessChecks == 1 }
      #expect(tier.statistics.staleMilliseconds.allSatisfy { $0 == 0 })
      #expect(tier.statistics.unannouncedChanges == 0)
      // Once is enough.
      _ = try await tier.entry(forKey: "k")
      await pass { tier.statistics.stalenessChecks == 2 }
    }

    @Test func whatIsAnnouncedLateIsMeasured() async throws {
      let connection = FakeConnection { _ in [] }
      let tier = try await tier(connection, serverHas: { Self.value() }, Self.value())
      await pass { tier.statistics.stalenessChecks == 1 }
      now.withLock { $0 += .milliseconds(5) }
      connection.tell(.invalidated([key]))
      // From 4 to 7.
      #expect(tier.statistics.staleMilliseconds.firstIndex(of: 1) == 3)
      #expect(tier.statistics.unannouncedChanges == 0)
    }

    @Test func whatIsNeverAnnouncedIsCounted() async throws {
      let tier = try await tier(
        FakeConnection { _ in [] }, serverHas: { Self.value() }, Self.value())
      await pass { tier.statistics.unannouncedChanges == 1 }
      #expect(tier.statistics.description.contains("1 changed unannounced"))
    }

    @Test func whatIsAnnouncedBeforeTheReplyIsNotStale() async throws {
      let connection = FakeConnection { _ in [] }
      let asked = Locked(0)
      let key = key
      let tier = try await tier(
        connection,
        serverHas: {
          connection.tell(.invalidated([key]))
          asked.withLock { $0 += 1 }
          return Self.value()
        }, Self.value())
      await pass { asked.withLock { $0 } == 1 }
      // Nor what was announced before the copy was made.
      connection.answer { _ in
        connection.tell(.invalidated([key]))
        return FakeConnection.transaction(.bytes(Self.value()), .integer(-1))
      }
      for _ in 0..<3 { _ = try await tier.entry(forKey: "k") }
      while sleepers.count > 0 { sleepers.move(by: .seconds(3600)) }
      #expect(tier.statistics.stalenessChecks == 0 && tier.statistics.unannouncedChanges == 0)
    }

    /// A connection that keeps to itself what it hears is found.
    @Test(.enabled(if: RedisServer.isInstalled, RedisServer.whyNot), arguments: [false, true])
    func aDefectIsFound(_ isDeaf: Bool) async throws {
      let redis = try RedisServer()
      let connection = try InterferingConnection(redis)
      if isDeaf { connection.deafen() }
      let tier = try RemoteTier(testing: connection, configure)
      let other = try RemoteTier(testing: redis)
      let heard = try Heard(tier)
      for round in 0..<10 {
        try await other.set(CacheTierEntry(value: "\(round)"), forKey: "k\(round)")
        _ = try await tier.entry(forKey: "k\(round)")
        try await other.set(CacheTierEntry(value: "new"), forKey: "k\(round)")
        if !isDeaf { #expect(await heard.next() == .keys(["k\(round)"])) }
      }
      if isDeaf {
        await pass { tier.statistics.unannouncedChanges == 10 }
      } else {
        while sleepers.count > 0 { sleepers.move(by: .seconds(3600)) }
        #expect(tier.statistics.unannouncedChanges == 0)
      }
      #expect(tier.statistics.staleMilliseconds.allSatisfy { $0 == 0 })
    }
  }
#endif
