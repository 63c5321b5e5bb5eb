// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderCore
  import LarderTestSupport
  import Testing

  @testable import LarderRemote

  /// Collects what a connection tells, and lets a test wait for it.
  final class Events: Sendable {
    private let stream: AsyncStream<RemoteEvent>
    let sink: @Sendable (RemoteEvent) -> Void
    /// Whose they are, and where it connects to: without them there are no more events.
    let source = Locked<(RedisConnection, ScriptedServer)?>(nil)

    init() {
      let (stream, continuation) = AsyncStream<RemoteEvent>.makeStream()
      self.stream = stream
      sink = { continuation.yield($0) }
    }

    /// Waits for one.
    func first(_ isWanted: (RemoteEvent) -> Bool) async -> RemoteEvent? {
      for await event in stream where isWanted(event) { return event }
      return nil
    }
  }

  func remoteError<R>(_ body: () async throws -> R) async -> LarderError? {
    do {
      _ = try await body()
      return nil
    } catch {
      return error as? LarderError
    }
  }

  @Suite(
    "A connection to a real server", .enabled(if: RedisServer.isInstalled, RedisServer.whyNot))
  struct RedisConnectionTests {
    @Test func repliesGoToWhoAsked() async throws {
      let redis = try RedisServer()
      let connection = try RedisConnection(redis.patient)
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<500 {
          group.addTask {
            let text = String(number)
            let replies = try await connection.send(
              [RemoteCommand("SET", text, text), RemoteCommand("GET", text)], patience: nil)
            return replies == [.status("OK"), .bytes(Array(text.utf8))]
          }
        }
        for try await isRight in group { #expect(isRight) }
      }
      #expect(connection.epoch == 1)
      await connection.close()
      #expect(
        await remoteError { try await connection.send([RemoteCommand("PING")], patience: nil) }?
          .code == .closed)
    }

    @Test func aTrackedKeyIsAnnouncedAndAFlushToo() async throws {
      let redis = try RedisServer()
      let (events, writer) = (Events(), try RedisConnection(redis.patient))
      let reader = try RedisConnection(redis.patient)
      reader.observe(events.sink)
      _ = try await reader.send(
        [RemoteCommand("CLIENT", "CACHING", "YES"), RemoteCommand("GET", "k")], patience: nil)
      _ = try await writer.send([RemoteCommand("SET", "k", "1")], patience: nil)
      #expect(await events.first { $0 != .connected(epoch: 1) } == .invalidated([[107]]))
      _ = try await writer.send([RemoteCommand("FLUSHALL")], patience: nil)
      #expect(await events.first { _ in true } == .flushed)
    }

    @Test func aServerThatStartsAgainIsConnectedToByItself() async throws {
      let redis = try RedisServer()
      let events = Events()
      let connection = try RedisConnection(redis.patient)
      connection.observe(events.sink)
      _ = try await connection.send([RemoteCommand("PING")], patience: nil)
      redis.end()
      #expect(await events.first { $0 != .connected(epoch: 1) } == .lost(epoch: 1))
      let again = try RedisServer(port: redis.port)
      #expect(await events.first { _ in true } == .connected(epoch: 2))
      let replies = try await connection.send([RemoteCommand("PING")], patience: nil)
      #expect(replies == [.status("PONG")])
      _ = again
    }

    @Test func whoIsNotWhoTheySayIsToldSoWithoutTheirPassword() async throws {
      let redis = try RedisServer(["--requirepass", "the-right-one"])
      var server = redis.patient
      server.credentials = RemoteCredentials(password: "the-wrong-one")
      let connection = try RedisConnection(server)
      let error = await remoteError {
        try await connection.send([RemoteCommand("PING")], patience: nil)
      }
      #expect(error?.code == .remote)
      #expect(error?.message.contains("refused user or password") == true)
      #expect(!String(reflecting: error).contains("wrong-one"))
      let nobody = try RedisConnection(redis.patient)
      let why = await remoteError {
        try await nobody.send([RemoteCommand("PING")], patience: nil)
      }
      #expect(why?.message.contains("asks for a user and a password") == true)
      server.credentials = RemoteCredentials(password: "the-right-one")
      let right = try RedisConnection(server)
      let replies = try await right.send([RemoteCommand("PING")], patience: nil)
      #expect(replies == [.status("PONG")])
      var dumped = ""
      dump(server, to: &dumped)
      #expect(!"\(server) \(String(reflecting: server)) \(dumped)".contains("right-one"))
    }

    /// It accepts, as its system does that for it, and then says nothing.
    @Test func aFrozenServerCostsATimeOutAndThenNothing() async throws {
      let redis = try RedisServer()
      var server = redis.patient
      server.timeout = .milliseconds(250)
      server.connectTimeout = .milliseconds(250)
      server.failuresToOpen = 2
      server.openFor = .seconds(6000)
      let events = Events()
      let connection = try RedisConnection(server)
      connection.observe(events.sink)
      while await remoteError({ try await connection.send([RemoteCommand("PING")], patience: nil) })
        != nil
      {}
      redis.stop()
      let error = await remoteError {
        try await connection.send([RemoteCommand("PING")], patience: nil)
      }
      #expect(error?.code == .timedOut)
      #expect(
        await events.first { if case .lost = $0 { true } else { false } }
          == .lost(epoch: connection.epoch))
      // The circuit opens when it cannot be connected to either.
      while true {
        let error = await remoteError {
          try await connection.send([RemoteCommand("PING")], patience: nil)
        }
        if error?.message.contains("is not asked") == true { break }
      }
      redis.go()
      // The attempts to connect go on, and the first that succeeds closes it.
      _ = await events.first { if case .connected = $0 { true } else { false } }
      while await remoteError({ try await connection.send([RemoteCommand("PING")], patience: nil) })
        != nil
      {}
    }
  }

  @Suite("A server that misbehaves") struct MisbehavingServerTests {
    private static func failure(
      _ change: (inout RemoteServer) -> Void = { _ in },
      _ script: @escaping @Sendable (Int, Int) -> [ScriptedServer.Step]
    ) async throws -> (error: LarderError?, events: Events, server: ScriptedServer) {
      let scripted = try await ScriptedServer(script)
      var server = scripted.server
      change(&server)
      let events = Events()
      let connection = try RedisConnection(server)
      connection.observe(events.sink)
      events.source.withLock { $0 = (connection, scripted) }
      let error = await remoteError {
        try await connection.send([RemoteCommand("PING")], patience: nil)
      }
      return (error, events, scripted)
    }

    private static let welcome = ScriptedServer.Step.say(ScriptedServer.welcome)

    @Test(arguments: [
      "hello, who is there?\r\n", "$99999999999\r\n", "*2147483647\r\n", "+OK\r\n:1\r\n",
      "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
    ])
    func garbageEndsTheConnection(_ text: String) async throws {
      let (error, events, scripted) = try await Self.failure { connection, arrival in
        arrival == 0 ? [Self.welcome] : connection == 0 ? [.say(text)] : [.say("+PONG\r\n")]
      }
      // One reply too many is known after the first was good.
      #expect(text.hasPrefix("+OK") ? error == nil : error?.code == .remote)
      #expect(await events.first { $0 != .connected(epoch: 1) } == .lost(epoch: 1))
      #expect(await events.first { _ in true } == .connected(epoch: 2))
      #expect(scripted.connections >= 2)
    }

    @Test func aReplyInPiecesIsOne() async throws {
      let (error, _, _) = try await Self.failure { _, arrival in
        arrival == 0
          ? [Self.welcome] : "*2\r\n$3\r\nabc\r\n:1\r\n".utf8.map { .say([$0]) }
      }
      #expect(error == nil)
    }

    @Test(arguments: ["", "$100\r\nabc", "*3\r\n:1\r\n"])
    func silenceAndHalfRepliesEndByTheTimeOut(_ text: String) async throws {
      let (error, events, _) = try await Self.failure({
        $0.timeout = .milliseconds(250)
        // Where the call ended before there was a connection.
        $0.keepAlive = .milliseconds(10)
      }) { _, arrival in
        arrival == 0 ? [Self.welcome] : arrival == 1 ? [.say(text)] : []
      }
      #expect(error?.code == .timedOut)
      #expect(await events.first { if case .lost = $0 { true } else { false } } != nil)
    }

    @Test func aServerThatNeverGreetsIsGivenUp() async throws {
      let (error, _, _) = try await Self.failure({ $0.connectTimeout = .milliseconds(100) }) {
        _, _ in []
      }
      #expect(error?.code == .timedOut)
    }

    @Test(arguments: [
      "-ERR unknown command, with args beginning with: 'me' 'secret'\r\n+OK\r\n+OK\r\n+OK\r\n",
      "%0\r\n-ERR secret\r\n+OK\r\n+OK\r\n", "%0\r\n+OK\r\n-NOPERM secret\r\n+OK\r\n",
      "+OK\r\n+OK\r\n+OK\r\n+OK\r\n",
    ])
    func aServerThatCannotTrackIsRefused(_ text: String) async throws {
      let (error, _, _) = try await Self.failure { _, _ in [.say(text)] }
      #expect(error?.code == .remote)
      #expect(error.map { !String(reflecting: $0).contains("secret") } == true)
    }

    @Test func aConnectionThatEndsWithoutAWordIsNoticed() async throws {
      let (error, events, _) = try await Self.failure { connection, arrival in
        arrival == 0 ? [Self.welcome] : connection == 0 ? [.close] : [.say("+PONG\r\n")]
      }
      #expect(error?.code == .remote)
      #expect(await events.first { $0 != .connected(epoch: 1) } == .lost(epoch: 1))
      #expect(await events.first { _ in true } == .connected(epoch: 2))
    }

    /// Half open: nothing arrives and nothing ends. Only asking shows it.
    @Test func asilentConnectionIsAskedAndGivenUp() async throws {
      let scripted = try await ScriptedServer { connection, arrival in
        arrival == 0 ? [Self.welcome] : connection == 0 && arrival > 1 ? [] : [.say("+PONG\r\n")]
      }
      var server = scripted.server
      server.keepAlive = .milliseconds(10)
      server.timeout = .milliseconds(500)
      let events = Events()
      let connection = try RedisConnection(server)
      connection.observe(events.sink)
      _ = await remoteError { try await connection.send([RemoteCommand("PING")], patience: nil) }
      #expect(await events.first { $0 != .connected(epoch: 1) } == .lost(epoch: 1))
      #expect(await events.first { _ in true } == .connected(epoch: 2))
    }

    @Test func whoLosesPatienceDoesNotEndTheConnection() async throws {
      let scripted = try await ScriptedServer { _, arrival in
        switch arrival {
        case 0: [Self.welcome]
        case 1: []
        default: [.say("+first\r\n+second\r\n")]
        }
      }
      let connection = try RedisConnection(scripted.server)
      let first = await remoteError {
        try await connection.send([RemoteCommand("A")], patience: .milliseconds(10))
      }
      #expect(first?.code == .timedOut)
      // Both at once would be one arrival.
      while !scripted.received.suffix(7).elementsEqual("$1\r\nA\r\n".utf8) { await Task.yield() }
      let second = try await connection.send([RemoteCommand("B")], patience: nil)
      #expect(second == [.status("second")])
      #expect(connection.epoch == 1)
    }

    @Test func aCancelledCallEnds() async throws {
      let scripted = try await ScriptedServer { _, arrival in arrival == 0 ? [Self.welcome] : [] }
      let connection = try RedisConnection(scripted.server)
      let task = Task { try await connection.send([RemoteCommand("A")], patience: nil) }
      while !scripted.received.suffix(7).elementsEqual("$1\r\nA\r\n".utf8) {
        await Task.yield()
      }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func oneCallTooManyIsRefused() async throws {
      let scripted = try await ScriptedServer { _, arrival in arrival == 0 ? [Self.welcome] : [] }
      var server = scripted.server
      server.maximumWaiting = 1
      let connection = try RedisConnection(server)
      let task = Task { try await connection.send([RemoteCommand("A")], patience: nil) }
      while scripted.received.isEmpty { await Task.yield() }
      #expect(
        await remoteError { try await connection.send([RemoteCommand("B")], patience: nil) }?.code
          == .busy)
      await connection.close()
      #expect(await remoteError { try await task.value }?.code == .closed)
    }

    @Test func aCircuitOpensProbesAndCloses() {
      var circuit = RemoteCircuit(failures: 2, openFor: .seconds(2))
      var answers: [Bool] = []
      circuit.fail(at: .seconds(1))
      answers.append(circuit.allows(at: .seconds(1)))
      circuit.fail(at: .seconds(1))
      // Open, a probe, and nobody beside it.
      for second in [2, 3, 3] { answers.append(circuit.allows(at: .seconds(second))) }
      circuit.fail(at: .seconds(4))
      for second in [5, 6] { answers.append(circuit.allows(at: .seconds(second))) }
      circuit.succeed()
      for second in [6, 6] { answers.append(circuit.allows(at: .seconds(second))) }
      #expect(answers == [true, false, true, false, false, true, true, true])
    }

    /// Else a server that is gone would be noticed later, by as long as its last answer took.
    @Test func silenceIsCountedFromTheQuestion() {
      var silence = RemoteSilence(longest: .seconds(2), at: .seconds(10))
      #expect(silence.rest(at: .seconds(11)) == .seconds(1))
      silence.end(byAnswerTo: .seconds(12))
      // However long the answer took, and whichever came before it.
      silence.end(byAnswerTo: .seconds(11))
      #expect(silence.rest(at: .seconds(13)) == .seconds(1))
      #expect(silence.rest(at: .seconds(20)) == .zero)
    }

    @Test func attemptsWaitLongerAndLongerAndNeverForEver() {
      var random = SeededGenerator(seed: 7)
      var backoff = RemoteBackoff(longest: .seconds(2))
      let waits = (0..<100).map { _ in backoff.next(using: &random) }
      #expect(waits.prefix(1).allSatisfy { $0 >= .milliseconds(25) && $0 <= .milliseconds(50) })
      #expect(waits.dropFirst(3).prefix(1).allSatisfy { $0 >= .milliseconds(200) })
      #expect(waits.dropFirst(6).allSatisfy { $0 >= .seconds(1) && $0 <= .seconds(2) })
      backoff.reset()
      let first = backoff.next(using: &random)
      #expect(first <= .milliseconds(50))
    }
  }
#endif
