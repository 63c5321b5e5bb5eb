// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderCore
  import LarderTestSupport
  import Testing

  @testable import LarderRemote

  /// A process that ships is killed again and again, and connections are cut meanwhile. In the end
  /// the stream holds each number once.
  ///
  /// `LARDER_SHIP_KILLS` says how often, and `LARDER_SEED` repeats a run as far as processes let
  /// one.
  @Suite(
    "Killed shippers", .serialized, .enabled(if: RedisServer.isInstalled, RedisServer.whyNot))
  final class LogShipKillTests {
    private static let kills =
      ProcessInfo.processInfo.environment["LARDER_SHIP_KILLS"].flatMap { Int($0) } ?? 10
    /// A process that was killed may be cut short anywhere, or not have come to its first call.
    private static let idleKills = 5

    private let directory: TemporaryDirectory
    private let redis: RedisServer
    private let connection: RedisConnection
    private var random = SeededGenerator(seed: 2026)
    private var url: URL { directory.file("log") }

    init() throws {
      directory = try TemporaryDirectory()
      redis = try RedisServer()
      connection = try RedisConnection(redis.patient)
    }

    /// - Parameter write: Called again and again while the process runs.
    private func kill(
      _ role: String, _ reader: StreamReader, write: () throws -> Void = {}
    ) async throws {
      let process = try Child("LarderRemoteMachine", [role, url.path, "\(redis.port)"])
      let isIdle = Int.random(in: 0..<Self.idleKills, using: &random) == 0
      let wanted = Int64.random(in: 1...400, using: &random)
      let before = try await reader.count
      var turns = 0
      while process.isRunning, !isIdle || turns < wanted / 10 {
        try write()
        if turns % 40 == 39 {
          let cut = RemoteCommand("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
          _ = try await reader.send(cut)
        }
        if try await reader.count >= before + wanted { break }
        turns += 1
      }
      process.kill(SIGKILL)
      #expect(await process.wait() == -SIGKILL, "\(process.errors)")
    }

    /// What the stream does not have once.
    private func judge(_ reader: StreamReader, newest: UInt64) async throws -> UInt64 {
      var last: UInt64 = 0
      var missing: UInt64 = 0
      var id = "0-0"
      while true {
        let entries = try await reader.entries(after: id)
        if entries.isEmpty { break }
        for entry in entries {
          let number = try #require(UInt64(entry.id.dropLast(2)))
          if let lost = entry.fields["lost"] {
            let count = try #require(UInt64(String(decoding: lost, as: UTF8.self)))
            #expect(number == last + count, "A gap of \(count) at \(number) came after \(last).")
            missing += count
          } else {
            #expect(number == last + 1, "\(number) came after \(last).")
            #expect(entry.fields["message"] == Array(shippedMessage(number)), "\(number)")
          }
          last = number
          id = entry.id
        }
      }
      #expect(last == newest)
      return missing
    }

    private func reader(_ log: MessageLog<Data>) throws -> (StreamReader, RedisStreamSink) {
      let sink = try RedisStreamSink(
        connection: connection, stream: "killed", identity: log.identity())
      return (StreamReader(connection: try RedisConnection(redis.patient), key: sink.key), sink)
    }

    @Test func aReaderOfALogThatOverwritesShipsEachNumberOnce() async throws {
      let log = try MessageLog(
        at: .url(url), capacity: 64.kilobytes, whenFull: .overwriteOldest, coder: .data)
      let (reader, sink) = try reader(log)
      func append(_ count: Int) throws {
        for _ in 0..<count { try log.append(shippedMessage(log.statistics.nextSequence)) }
      }
      for number in 0..<Self.kills {
        // More than the log holds, now and then: what is not shipped yet is gone.
        if number % 4 == 1 { try append(2000) }
        try await kill("read", reader) { try append(Int.random(in: 0...30, using: &random)) }
      }
      try await LogShipper(log, consumer: "last", sink: sink).shipAll()
      let newest = try log.statistics.nextSequence - 1
      let missing = try await judge(reader, newest: newest)
      #expect(missing > 0 && missing < newest)
      print("shipped \(newest), \(missing) of them in gaps, \(Self.kills) kills")
    }

    @Test func theOwnerOfALogThatRefusesLosesNothing() async throws {
      var log = try MessageLog(
        at: .url(url), capacity: 64.kilobytes, whenFull: .refuse, coder: .data)
      let (reader, _) = try reader(log)
      try await log.close()
      for _ in 0..<Self.kills { try await kill("own", reader) }
      log = try MessageLog(at: .url(url), capacity: 64.kilobytes, whenFull: .refuse, coder: .data)
      let (_, sink) = try self.reader(log)
      try await LogShipper(log, consumer: "shipper", sink: sink).shipAll()
      let newest = try log.statistics.nextSequence - 1
      #expect(try await judge(reader, newest: newest) == 0)
      #expect(try log.consumer(named: "shipper").acknowledged == newest)
      print("shipped \(newest), \(Self.kills) kills")
    }
  }
#endif
