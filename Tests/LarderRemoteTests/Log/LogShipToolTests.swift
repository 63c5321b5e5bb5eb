// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderCore
  import LarderRemote
  import LarderTestSupport
  import Testing

  @testable import LarderLogTool

  @Suite("larder log ship", .enabled(if: RedisServer.isInstalled, RedisServer.whyNot))
  struct LogShipToolTests {
    private let directory: TemporaryDirectory
    private var url: URL { directory.file("log") }

    init() throws { directory = try TemporaryDirectory() }

    /// A `larder log ship` that runs beside the test.
    private func start(
      _ arguments: [String], environment: [String: String] = [:]
    ) throws -> Child {
      try Child("larder", ["log", "ship"] + arguments, environment: environment)
    }

    private func log() throws -> MessageLog<String> {
      try MessageLog(
        at: .url(url), capacity: 64.kilobytes, whenFull: .overwriteOldest, coder: .string)
    }

    private func arguments(_ port: Int, _ more: String...) -> [String] {
      [url.path, "--to", "redis://127.0.0.1:\(port)", "--stream", "s", "--timeout", "600"] + more
    }

    private func reader(_ redis: RedisServer, _ log: MessageLog<String>) throws -> StreamReader {
      let identity = try log.identity().uuidString.lowercased()
      return StreamReader(
        connection: try RedisConnection(redis.patient), key: "s:\(identity)")
    }

    @Test func whatTheLogHoldsIsShippedOnce() async throws {
      let redis = try RedisServer()
      let log = try log()
      for number in 1...5 { try log.append("m\(number)") }
      let reader = try reader(redis, log)
      try await log.close()
      for _ in 0..<2 {
        let run = try start(arguments(redis.port, "--once", "--batch", "2", "--consumer", "me"))
        #expect(await run.wait() == 0, "\(run.errors)")
        #expect(run.errors.contains("shipped "))
      }
      #expect(try await reader.texts == (1...5).map { "\($0)-0 m\($0)" })
      #expect(try self.log().consumer(named: "me").acknowledged == 5)
    }

    @Test func aLogIsFollowedBesideItsWriterUntilCtrlC() async throws {
      let redis = try RedisServer()
      let log = try log()
      let reader = try reader(redis, log)
      let run = try start(arguments(redis.port))
      for number in 1...3 {
        try log.append("m\(number)")
        while try await reader.count < number, run.isRunning {}
      }
      // As Ctrl-C does; a job in the background of a script ignores that.
      run.kill(SIGTERM)
      #expect(await run.wait() == 0, "\(run.errors)")
      // The last reply may not have come before the signal.
      #expect(run.errors.contains("shipped 3 messages") || run.errors.contains("; 1 left"))
      #expect(try await reader.texts == (1...3).map { "\($0)-0 m\($0)" })
    }

    @Test func aPasswordComesFromTheEnvironmentOrAFile() async throws {
      let redis = try RedisServer(["--requirepass", "sesame"])
      try log().append("m")
      let file = directory.file("password")
      try Data("sesame\n".utf8).write(to: file)
      let good = [
        try start(arguments(redis.port, "--once", "--password-file", file.path)),
        try start(
          arguments(redis.port, "--once"), environment: ["LARDER_REDIS_PASSWORD": "sesame"]),
      ]
      for run in good { #expect(await run.wait() == 0, "\(run.errors)") }
      for password in ["abracadabra", ""] {
        let run = try start(
          arguments(redis.port, "--once"), environment: ["LARDER_REDIS_PASSWORD": password])
        #expect(await run.wait() == 2)
        #expect(!run.errors.contains("abracadabra"))
      }
    }

    @Test func aServerThatIsAwayIsAFailureOfOneThatEnds() async throws {
      try log().append("m")
      let run = try start(arguments(try RedisServer.freePort(), "--once"))
      #expect(await run.wait() == 2)
      #expect(run.errors.contains("tried again") && run.errors.contains("1 left"))
      // Also where it is not even asked any more.
      let notes = run.errors.split(separator: "\n").filter { $0.contains("not asked") }
      #expect(notes.allSatisfy { $0.contains("Could not connect") })
    }

    @Test func anOlderCopyIsRefused() async throws {
      let redis = try RedisServer()
      let log = try log()
      _ = try log.identity()
      let copy = directory.file("copy")
      try log.append("m")
      try await log.close(durability: .power)
      try FileManager.default.copyItem(at: url, to: copy)
      let more = try self.log()
      // More than a copy skips when it is opened, as after a power cut.
      for _ in 0..<20_000 { try more.append("more") }
      try await more.close()
      #expect(try await start(arguments(redis.port, "--once")).wait() == 0)
      try FileManager.default.removeItem(at: url)
      try FileManager.default.moveItem(at: copy, to: url)
      let run = try start(arguments(redis.port, "--once"))
      #expect(await run.wait() == 2)
      #expect(run.errors.contains("another log"))
    }

    @Test func whatMakesNoSenseIsWrongUsage() async throws {
      let secret = "redis://user:sesame@localhost"
      for wrong in [
        ["--to", secret], ["--to", "http://localhost"], ["--to", "redis://localhost/x"],
        ["--to", "localhost:6379"], ["--to", "redis://localhost", "--batch", "0"],
        ["--to", "redis://localhost", "--max-length", "0"],
        ["--to", "redis://localhost", "--consumer", ""],
        ["--to", "redis://localhost", "--authorities", "x"], [],
      ] {
        let run = try start([url.path, "--stream", "s"] + wrong)
        #expect(await run.wait() == 64)
        #expect(!run.errors.contains("sesame"))
      }
    }

    @Test(
      arguments: [
        ("redis://cache.internal", "cache.internal", 6379, nil, 0, false),
        ("rediss://log@cache.internal:7000/3", "cache.internal", 7000, "log", 3, true),
        ("REDIS://127.0.0.1/", "127.0.0.1", 6379, nil, 0, false),
        ("redis://[::1]:6380", "::1", 6380, nil, 0, false),
      ] as [(String, String, Int, String?, Int, Bool)])
    func aServerIsNamedByAURL(
      text: String, host: String, port: Int, user: String?, database: Int, isEncrypted: Bool
    ) throws {
      let location = try RedisLocation(text)
      #expect(location.host == host && location.port == port && location.user == user)
      #expect(location.database == database && location.isEncrypted == isEncrypted)
    }
  }
#endif
