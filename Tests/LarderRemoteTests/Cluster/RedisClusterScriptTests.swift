// SPDX-License-Identifier: MIT

#if Remote
  import LarderCore
  import LarderTestSupport
  import Testing

  @testable import LarderRemote

  @Suite("Servers that say they are a cluster") struct RedisClusterScriptTests {
    /// Lines of `CLUSTER NODES` with a single master.
    private static func alone(_ port: Int) -> String {
      CommandServer.bulk("a 127.0.0.1:\(port)@1 myself,master - 0 0 1 connected 0-16383\n")
    }

    /// Answers what a client of a cluster asks first.
    private static func map(_ words: [String], _ port: Int) -> String? {
      words == ["CLUSTER", "NODES"] ? alone(port) : words == ["CLUSTER", "SLOTS"] ? "*0\r\n" : nil
    }

    private static let key = Array("k".utf8)

    private static func get(
      _ server: RemoteServer, _ change: (inout RemoteServer) -> Void = { _ in }
    ) async throws -> (LarderError?, RedisClusterConnection) {
      var server = server
      change(&server)
      let connection = try RedisClusterConnection(server)
      let error = await remoteError {
        try await connection.send([RemoteCommand("GET", "k")], key: key, patience: nil)
      }
      return (error, connection)
    }

    @Test func aRedirectionWithoutEndIsGivenUp() async throws {
      let server = try await CommandServer { words, port in
        Self.map(words, port) ?? "-MOVED 1 :\(port)\r\n"
      }
      let (error, _) = try await Self.get(server.server)
      #expect(error?.code == .remote)
      #expect(error?.message.contains("more than 5 times") == true)
      #expect(server.received.filter { $0 == ["GET", "k"] }.count == 6)
    }

    /// What the server does not say well is not followed anywhere.
    @Test func aRedirectionToNowhereIsAskedFor() async throws {
      let count = Locked(0)
      let server = try await CommandServer { words, port in
        if let text = Self.map(words, port) { return text }
        let number = count.withLock { count in
          count += 1
          return count
        }
        return number < 3 ? "-MOVED 99999 ?:1\r\n" : "+here\r\n"
      }
      let (error, _) = try await Self.get(server.server)
      #expect(error == nil)
      #expect(server.received.filter { $0 == ["CLUSTER", "NODES"] }.count >= 3)
    }

    @Test(arguments: [
      "+OK\r\n", "$5\r\nhello\r\n", "-ERR This instance has cluster support disabled\r\n", "*0\r\n",
      "$44\r\na 127.0.0.1:1@1 myself,master - 0 0 1 connected\r\n", "$-1\r\n", "%1\r\n+a\r\n+b\r\n",
    ])
    func aMapThatIsNoneIsAnError(_ text: String) async throws {
      let server = try await CommandServer { words, _ in words[1] == "NODES" ? text : "*0\r\n" }
      let (error, _) = try await Self.get(server.server)
      #expect(error?.code == .remote)
      #expect(!server.received.contains(["GET", "k"]))
    }

    @Test func aMapThatIsTooLargeIsAnError() async throws {
      let server = try await CommandServer { words, _ in
        words[1] == "NODES" ? "$1000000000\r\n" : "*0\r\n"
      }
      let (error, _) = try await Self.get(server.server)
      #expect(error?.code == .remote)
    }

    @Test func aServerThatDoesNotAnswerCostsTheTimeOut() async throws {
      let server = try await CommandServer { _, _ in nil }
      let (error, connection) = try await Self.get(server.server) {
        $0.timeout = .milliseconds(200)
      }
      #expect(error?.code == .timedOut)
      await connection.close()
      let closed = await remoteError {
        try await connection.send([RemoteCommand("GET", "k")], key: Self.key, patience: nil)
      }
      #expect(closed?.code == .closed)
    }

    @Test func seedsAreAskedIfTheFirstIsGone() async throws {
      let server = try await CommandServer { words, port in Self.map(words, port) ?? "+here\r\n" }
      let gone = try RedisServer.freePort()
      let (error, _) = try await Self.get(server.server) {
        $0.cluster?.seeds = [RemoteAddress(host: "127.0.0.1", port: $0.port)]
        $0.port = gone
      }
      #expect(error == nil)
    }

    @Test func aCallThatWaitsForTheMapCanBeCancelled() async throws {
      let server = try await CommandServer { _, _ in nil }
      let connection = try RedisClusterConnection(server.server)
      let task = Task {
        try await connection.send([RemoteCommand("GET", "k")], key: Self.key, patience: nil)
      }
      while server.received.isEmpty { await Task.yield() }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// Both before anything is executed, and only when it would be.
    @Test(arguments: ["ASK", "MOVED"], [false, true])
    func aTransactionIsSentElsewhereAsAWhole(_ word: String, _ isLate: Bool) async throws {
      let other = try await CommandServer { words, port in
        if let text = Self.map(words, port) { return text }
        return words[0] == "EXEC" ? "*1\r\n$1\r\nv\r\n" : "+OK\r\n"
      }
      let redirect = "-\(word) 1 127.0.0.1:\(other.port)\r\n"
      let server = try await CommandServer { words, port in
        switch words[0] {
        case "CLUSTER": Self.map(words, port)
        case "GET": isLate ? "+QUEUED\r\n" : redirect
        case "EXEC": isLate ? redirect : "-EXECABORT no\r\n"
        default: "+OK\r\n"
        }
      }
      let connection = try RedisClusterConnection(server.server)
      let events = Events()
      connection.observe(events.sink)
      let commands = [
        RemoteCommand("CLIENT", "CACHING", "YES"), RemoteCommand("MULTI"),
        RemoteCommand("GET", "k"), RemoteCommand("EXEC"),
      ]
      let replies = try await connection.send(commands, key: Self.key, patience: nil)
      #expect(replies.last == .array([.bytes(Array("v".utf8))]))
      let sent = other.received.map { $0[0] }.filter { $0 != "CLUSTER" }
      let asking = word == "ASK" ? ["ASKING"] : []
      #expect(sent == ["CLIENT"] + asking + ["MULTI", "GET", "EXEC"])
      if word == "ASK" {
        #expect(
          await events.first { if case .connected = $0 { false } else { true } }
            == .untracked(Self.key))
      }
    }

    @Test func errorsOfAClusterSayWhatTheyMean() async throws {
      for (word, why) in [
        ("CLUSTERDOWN", "no server for some slots"), ("CROSSSLOT", "do not go together"),
        ("TRYAGAIN", "is being moved"), ("LOADING", "still loads"),
        ("MOVED 1 secret:1", "answered MOVED: it is part of a cluster, so RemoteServer.cluster"),
      ] {
        let connection = FakeConnection { _ in [.error(word)] }
        let tier = try RemoteTier(testing: connection)
        let error = await remoteError { try await tier.contains("k") }
        #expect(error?.code == .remote && error?.message.contains(why) == true)
        #expect(error?.message.contains("secret") == false)
      }
    }

    @Test func aClusterHasOneDatabase() throws {
      var server = RemoteServer(host: "localhost")
      (server.security, server.database) = (.plaintext, 1)
      let error = #expect(throws: LarderError.self) { try RedisClusterConnection(server) }
      #expect(error?.code == .invalidArgument)
    }

    // MARK: - A single server

    /// Cancelled before the event loop has heard of the call.
    @Test func aCallOfACancelledTaskEnds() async throws {
      let server = try await CommandServer { _, _ in nil }
      let connection = try RedisConnection(server.server)
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await connection.send([RemoteCommand("A")], patience: nil)
      }
      await #expect(throws: CancellationError.self) { try await task.value }
    }

    /// As a connection to a free port of this machine may, which is one to itself.
    @Test(arguments: ["larder", "proto"])
    func aServerThatOnlyRepeatsIsRefused(_ name: String) async throws {
      let port = Locked(0)
      let script = try await ScriptedServer { _, _ in
        var server = RemoteServer(host: "127.0.0.1", port: port.withLock { $0 })
        server.clientName = name
        var bytes: [UInt8] = []
        for command in RedisHandshake.commands(server) { command.encode(into: &bytes) }
        return [.say(bytes)]
      }
      port.withLock { $0 = script.port }
      var server = script.server
      server.clientName = name
      let connection = try RedisConnection(server)
      let error = await remoteError {
        try await connection.send([RemoteCommand("PING")], patience: nil)
      }
      #expect(error?.code == .remote && error?.message.contains("does not speak RESP3") == true)
    }

    @Test(arguments: [
      ("%1\r\n+proto\r\n:3\r\n", true), ("*4\r\n+server\r\n+x\r\n$5\r\nproto\r\n:3\r\n", true),
      ("%1\r\n+proto\r\n:2\r\n", false), ("%0\r\n", false), ("*1\r\n+proto\r\n", false),
    ])
    func theProtocolIsChecked(_ hello: String, _ isGood: Bool) async throws {
      let server = try await ScriptedServer { _, arrival in
        [.say(arrival == 0 ? hello + "+OK\r\n+OK\r\n+OK\r\n" : "+PONG\r\n")]
      }
      let connection = try RedisConnection(server.server)
      let error = await remoteError {
        try await connection.send([RemoteCommand("PING")], patience: nil)
      }
      #expect((error == nil) == isGood)
    }
  }
#endif
