// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderCore
  import LarderTestSupport
  import Testing

  @testable import LarderRemote

  @Suite("Streams", .enabled(if: RedisServer.isInstalled, RedisServer.whyNot))
  struct RedisStreamSinkTests {
    private let redis: RedisServer
    private let connection: RedisConnection
    private let identity = UUID()

    init() throws {
      redis = try RedisServer()
      connection = try RedisConnection(redis.patient)
    }

    private func sink(
      _ change: (inout RedisStreamConfiguration) -> Void = { _ in }
    ) throws -> RedisStreamSink {
      var configuration = RedisStreamConfiguration()
      change(&configuration)
      return try RedisStreamSink(
        connection: connection, stream: "events", identity: identity, configuration: configuration)
    }

    private func reader(_ sink: RedisStreamSink) -> StreamReader {
      StreamReader(connection: connection, key: sink.key)
    }

    private func batch(_ numbers: ClosedRange<UInt64>) -> LogBatch {
      var batch = LogBatch()
      for number in numbers {
        batch.append(.message(.init(sequence: number, bytes: Data("m\(number)".utf8))))
      }
      return batch
    }

    private func code(_ body: () async throws -> Void) async -> LarderError.Code? {
      do {
        try await body()
        return nil
      } catch {
        return (error as? LarderError)?.code
      }
    }

    // MARK: - Entries

    @Test func recordsAreEntriesUnderTheirNumbers() async throws {
      let sink = try sink()
      #expect(sink.key == "events:\(identity.uuidString.lowercased())")
      #expect(try await sink.lastSequence() == nil)
      var batch = LogBatch()
      let bytes = Data([0, 13, 10, 255])
      batch.append(.gap(1...3))
      batch.append(.message(.init(sequence: 4, bytes: bytes, time: 1_700_000_000_123_456_789)))
      batch.append(.message(.init(sequence: 5, bytes: Data(), isPartial: true)))
      batch.append(.gap(6...6))
      try await sink.append(batch, after: nil)
      let entries = try await reader(sink).entries()
      #expect(entries.map(\.id) == ["3-0", "4-0", "5-0", "6-0"])
      #expect(
        entries.map(\.fields) == [
          ["lost": Array("3".utf8)],
          ["message": Array(bytes), "time": Array("1700000000123456789".utf8)],
          ["message": [], "partial": Array("1".utf8)], ["lost": Array("1".utf8)],
        ])
      #expect(try await sink.lastSequence() == 6)
    }

    @Test func theLargestNumbersAreExact() async throws {
      let sink = try sink()
      let last = UInt64.max - 2
      var batch = LogBatch()
      batch.append(.gap(1...last))
      try await sink.append(batch, after: nil)
      #expect(try await sink.lastSequence() == last)
      try await sink.append(self.batch(last + 1...last + 2), after: last)
      #expect(try await sink.lastSequence() == .max)
      #expect(await code { try await sink.append(self.batch(9...9), after: last + 1) } == .conflict)
    }

    @Test func onlyWhatComesNextIsAppended() async throws {
      let sink = try sink()
      try await sink.append(batch(1...3), after: nil)
      for last in [nil, 0, 1, 2, 4] as [UInt64?] {
        let next = (last ?? 0) + 1
        #expect(await code { try await sink.append(batch(next...9), after: last) } == .conflict)
      }
      #expect(try await reader(sink).texts == ["1-0 m1", "2-0 m2", "3-0 m3"])
      try await sink.append(batch(4...5), after: 3)
      #expect(try await reader(sink).count == 5)
    }

    @Test func whatIsTrimmedOrDeletedIsRemembered() async throws {
      let sink = try sink { $0.maximumLength = 100 }
      try await sink.append(batch(1...1000), after: nil)
      let count = try await reader(sink).count
      #expect(count >= 100 && count < 500)
      _ = try await reader(sink).send(RemoteCommand("XTRIM", sink.key, "MAXLEN", "0"))
      #expect(try await sink.lastSequence() == 1000)
      try await sink.append(batch(1001...1002), after: 1000)
      #expect(try await reader(sink).count == 2)
    }

    @Test func groupsMayBeMadeBeforeTheFirstEntry() async throws {
      let sink = try sink()
      let made = try await reader(sink).send(
        RemoteCommand("XGROUP", "CREATE", sink.key, "workers", "0", "MKSTREAM"))
      #expect(made == .status("OK"))
      #expect(try await sink.lastSequence() == nil)
      try await sink.append(batch(1...2), after: nil)
      #expect(try await sink.lastSequence() == 2)
    }

    @Test func whatIsNoStreamOfALogIsAnError() async throws {
      let sink = try sink()
      _ = try await reader(sink).send(RemoteCommand("SET", sink.key, "secret"))
      for body in [
        { _ = try await sink.lastSequence() }, { try await sink.append(batch(1...1), after: nil) },
      ] as [() async throws -> Void] {
        #expect(await code(body) == .configurationMismatch)
      }
      _ = try await reader(sink).send(RemoteCommand("DEL", sink.key))
      _ = try await reader(sink).send(RemoteCommand("XADD", sink.key, "7-7", "a", "b"))
      #expect(await code { _ = try await sink.lastSequence() } == .configurationMismatch)
      #expect(
        await code { try await sink.append(batch(1...1), after: nil) } == .configurationMismatch)
    }

    @Test func aServerWithoutMemoryRefusesAndIsAskedAgain() async throws {
      let sink = try sink()
      let reader = reader(sink)
      _ = try await reader.send(RemoteCommand("CONFIG", "SET", "maxmemory", "1"))
      #expect(await code { try await sink.append(batch(1...3), after: nil) } == .remote)
      _ = try await reader.send(RemoteCommand("CONFIG", "SET", "maxmemory", "0"))
      #expect(try await sink.lastSequence() == nil)
      try await sink.append(batch(1...3), after: nil)
      #expect(try await reader.count == 3)
    }

    // MARK: - Confirmations

    @Test func replicasAreWaitedFor() async throws {
      let replica = try RedisServer(["--replicaof", "127.0.0.1", "\(redis.port)"])
      let sink = try sink { $0.confirmation = .replicas(1, within: .milliseconds(300)) }
      // Until it has connected.
      while await code({ try await sink.append(batch(1...1), after: nil) }) == .remote {
        if try await self.sink().lastSequence() == 1 { break }
      }
      while await code({ _ = try await sink.lastSequence() }) != nil {}
      replica.stop()
      #expect(await code { try await sink.append(batch(2...2), after: 1) } == .remote)
      // It is there, and does not count yet.
      #expect(try await self.sink().lastSequence() == 2)
      #expect(await code { _ = try await sink.lastSequence() } == .remote)
      replica.go()
      while await code({ _ = try await sink.lastSequence() }) != nil {}
      #expect(try await sink.lastSequence() == 2)
    }

    @Test func aServerThatCannotConfirmIsAnError() async throws {
      let sink = try sink { $0.confirmation = .disk(within: .milliseconds(50)) }
      // Without an append-only file, or without the command.
      #expect(await code { try await sink.append(batch(1...1), after: nil) } == .remote)
    }

    @Test func whatTheFilesOfADiskConfirmCounts() async throws {
      let replies = Locked<[RemoteReply]>([])
      let connection = FakeConnection { commands in
        #expect(commands.map(\.name) == ["EVAL", "WAITAOF"])
        #expect(commands.last?.arguments == ["1", "2", "50"].map { Array($0.utf8) })
        return [.status("OK"), .array(replies.withLock { $0 })]
      }
      var configuration = RedisStreamConfiguration()
      configuration.confirmation = .disk(replicas: 2, within: .milliseconds(50))
      let sink = try RedisStreamSink(
        connection: connection, stream: "s", identity: identity, configuration: configuration)
      for (own, others, isEnough) in [(1, 2, true), (0, 2, false), (1, 1, false), (1, 3, true)] {
        replies.withLock { $0 = [.integer(Int64(own)), .integer(Int64(others))] }
        #expect(
          await code { try await sink.append(batch(1...1), after: nil) }
            == (isEnough ? nil : .remote))
      }
    }

    // MARK: - Configurations, errors

    @Test func whatIsOutOfRangeIsRefused() throws {
      let changes: [(inout RedisStreamConfiguration) -> Void] = [
        { $0.maximumLength = 0 }, { $0.confirmation = .replicas(-1, within: .seconds(1)) },
        { $0.confirmation = .disk(within: .zero) },
      ]
      for change in changes { #expect(errorCode { try sink(change) } == .invalidArgument) }
      #expect(
        errorCode { try RedisStreamSink(connection: connection, stream: "", identity: identity) }
          == .invalidArgument)
    }

    @Test func errorsHaveNoContents() async throws {
      let secret = "a message that nobody is to see"
      var batch = LogBatch()
      batch.append(.message(.init(sequence: 1, bytes: Data(secret.utf8))))
      let answers: [[RemoteReply]] = [
        [.bytes(Array(secret.utf8))], [.array([.bytes(Array(secret.utf8))])], [.error("ERR")], [],
        [.null], [.bytes(Array("7-0".utf8))], [.bytes(Array("7-1".utf8))],
      ]
      for answer in answers {
        let connection = FakeConnection { _ in answer }
        let sink = try RedisStreamSink(connection: connection, stream: "s", identity: identity)
        do {
          try await sink.append(batch, after: nil)
          Issue.record("\(answer) was taken for success.")
        } catch {
          #expect(!"\(error)".contains("nobody"))
        }
      }
    }

    // MARK: - Shipping

    @Test func aLogIsShippedThroughCutConnections() async throws {
      let directory = try TemporaryDirectory()
      let log = try MessageLog(
        at: .url(directory.file("log")), capacity: 1.megabytes, whenFull: .refuse, coder: .data)
      let sink = try RedisStreamSink(
        connection: connection, stream: "log", identity: log.identity())
      var configuration = LogShipperConfiguration()
      configuration.maximumBatchCount = 10
      configuration.clock = CacheClock(now: { .zero }, date: { Date() }, sleep: { _ in })
      configuration.timeout = nil
      let shipper = try LogShipper(
        log, consumer: "redis", sink: sink, configuration: configuration)
      let running = Task { try await shipper.run() }
      let reader = StreamReader(
        connection: try RedisConnection(redis.patient), key: sink.key)
      for number in 1...UInt64(500) {
        try log.append(shippedMessage(number))
        if number.isMultiple(of: 50) {
          _ = try await reader.send(RemoteCommand("CLIENT", "KILL", "TYPE", "normal"))
        }
      }
      while shipper.statistics.lag > 0 { await Task.yield() }
      let entries = try await reader.entries()
      #expect(entries.map(\.id) == (1...500).map { "\($0)-0" })
      #expect(
        entries.map { $0.fields["message"] } == (1...500).map { Array(shippedMessage($0)) })
      #expect(shipper.statistics.messages == 500)
      running.cancel()
      await #expect(throws: CancellationError.self) { try await running.value }
    }

    @Test func aDeletedStreamGetsWhatTheLogHas() async throws {
      let directory = try TemporaryDirectory()
      let log = try MessageLog(
        at: .url(directory.file("log")), capacity: 1.megabytes, whenFull: .refuse, coder: .string)
      let sink = try RedisStreamSink(
        connection: connection, stream: "log", identity: log.identity())
      let shipper = try LogShipper(log, consumer: "redis", sink: sink)
      for number in 1...5 { try log.append("m\(number)") }
      try await shipper.shipAll()
      try log.remove(through: 3)
      _ = try await reader(sink).send(RemoteCommand("FLUSHALL"))
      try await shipper.shipAll()
      #expect(try await reader(sink).texts == ["3-0 lost 3", "4-0 m4", "5-0 m5"])
    }
  }
#endif
