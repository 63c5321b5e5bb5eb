// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderRemote
  import LarderTestSupport
  import NIOCore
  import NIOPosix
  import Testing

  /// A server of a test's own, on loopback, with nothing on disk. Ends with the last reference to
  /// it, or with the test's process.
  final class RedisServer: Sendable {
    /// The program, or the one that the environment names; nil where there is none.
    static let program: String? = {
      let environment = ProcessInfo.processInfo.environment
      if let wished = environment["LARDER_TEST_REDIS"], !wished.isEmpty { return wished }
      let path = environment["PATH"] ?? ""
      let folders = path.split(separator: ":").map(String.init) + ["/usr/bin", "/usr/local/bin"]
      // Debian's redis-tools has the server under another name, and no service that is started.
      return ["redis-server", "valkey-server", "redis-check-rdb"].lazy
        .flatMap { name in folders.map { "\($0)/\(name)" } }
        .first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    static let isInstalled = program != nil
    static let whyNot: Comment = "There is no redis-server here: `.ci/deps remote` installs one."

    /// Some are built without: then it is not certificates that they miss.
    static let hasTLS: Bool = {
      do {
        _ = try RedisServer(["--tls-port", "PORT"])
        return true
      } catch {
        return (error as? Refused)?.text.contains("Failed to configure TLS") ?? false
      }
    }()

    static let spawning = NSLock()

    /// It cannot do what its arguments ask for.
    private struct Refused: Error {
      let text: String
    }

    let port: Int
    private let pid: Int32
    /// nil once it was ended: its number may be another process's then.
    private let pipes: Locked<(input: Pipe, output: Pipe)?>
    private let directory: TemporaryDirectory

    /// Starts one.
    ///
    /// - Parameters:
    ///   - port: nil for any.
    ///   - arguments: Further ones of `redis-server`. `PORT` is the port, which is not another
    ///     one's then.
    init(port wanted: Int? = nil, _ arguments: [String] = []) throws {
      let program = try #require(Self.program)
      directory = try TemporaryDirectory()
      // What it is called says what it does.
      let server = directory.file("redis-server")
      try FileManager.default.createSymbolicLink(
        at: server, withDestinationURL: URL(fileURLWithPath: program).resolvingSymlinksInPath())
      var started: (Int, Int32, Pipe, Pipe)?
      // Somebody else may have taken the port meanwhile.
      for _ in 0..<100 where started == nil {
        let port = try wanted ?? Self.freePort()
        started = try Self.start(server.path, port, directory.url.path, arguments)
      }
      let (port, pid, input, output) = try #require(started)
      (self.port, self.pid) = (port, pid)
      pipes = Locked((input, output))
    }

    private static func start(
      _ program: String, _ port: Int, _ folder: String, _ arguments: [String]
    ) throws -> (Int, Int32, Pipe, Pipe)? {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      // The input ends with this process, however that ends.
      let script = """
        "$@" <&- & server=$!; echo "pid $server"; cat >/dev/null; kill -9 $server; wait $server
        """
      let plain = arguments.contains("PORT") ? "0" : String(port)
      process.arguments =
        [
          "-c", script, "sh", program, "--port", plain, "--bind", "127.0.0.1", "--save", "",
          "--appendonly", "no", "--dir", folder, "--daemonize", "no",
        ] + arguments.map { $0 == "PORT" ? String(port) : $0 }
      // Another process that is started meanwhile would keep the pipes open.
      let (input, output) = try spawning.withLock {
        let pipes = (Pipe(), Pipe())
        process.standardInput = pipes.0
        process.standardOutput = pipes.1
        process.standardError = pipes.1
        try process.run()
        return pipes
      }
      var text = ""
      while true {
        let more = output.fileHandleForReading.availableData
        text += String(decoding: more, as: UTF8.self)
        if text.contains("Ready to accept connections") { break }
        // The shell has the output open as long as the server has not failed, and itself reads.
        let isRefused = text.contains("FATAL") || text.firstRange(of: /Failed .* TLS.*\n/) != nil
        if more.isEmpty || text.contains("Failed listening") || isRefused {
          waitForEnd(input, output)
          if isRefused { throw Refused(text: text) }
          return nil
        }
      }
      let words = text.split(whereSeparator: \.isWhitespace)
      guard let place = words.firstIndex(of: "pid"), let pid = Int32(words[place + 1]) else {
        return nil
      }
      return (port, pid, input, output)
    }

    /// A free port. It and the one for the other servers of a cluster, which is higher by 10,000,
    /// are below those that systems give to connections: one of these, even one that looks for the
    /// server, would have the port when the server is to be started again.
    static func freePort() throws -> Int {
      while true {
        let port = Int.random(in: 10_000..<22_000)
        guard
          let channel = try? ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: port).wait()
        else { continue }
        try channel.close().wait()
        return port
      }
    }

    /// Freezes it: it accepts, and says nothing.
    func stop() { kill(pid, SIGSTOP) }
    func go() { kill(pid, SIGCONT) }

    /// Ends it as a crash does.
    func end() {
      guard let (input, output) = pipes.withLock({ $0.take() }) else { return }
      kill(pid, SIGKILL)
      Self.waitForEnd(input, output)
    }

    /// Ends the shell's `cat`, and with it the shell, and waits for the last of the three that has
    /// the output open.
    ///
    /// Not `waitUntilExit`: it waits for the end of everybody who has inherited a socket of
    /// Foundation's, and polls meanwhile on one of the few threads that run tasks. A killed shell's
    /// `cat` has it and goes on, and with two such waits no test of the process went on.
    private static func waitForEnd(_ input: Pipe, _ output: Pipe) {
      try? input.fileHandleForWriting.close()
      while !output.fileHandleForReading.availableData.isEmpty {}
    }

    deinit { end() }

    /// With time-outs that no loaded machine exceeds.
    var patient: RemoteServer {
      var server = RemoteServer(host: "127.0.0.1", port: port)
      server.security = .plaintext
      server.timeout = .seconds(600)
      server.connectTimeout = .seconds(600)
      server.keepAlive = .seconds(6000)
      return server
    }
  }
#endif
