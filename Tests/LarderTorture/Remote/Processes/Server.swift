// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderRemote
  import NIOCore
  import NIOPosix

  /// A server of the harness's own, on loopback, with nothing on disk: what it had is gone when it
  /// is killed. Ends with this process, however that ends.
  final class Server {
    /// The program; nil where there is none.
    static let program: String? = {
      let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
      let folders = path.split(separator: ":").map(String.init) + ["/usr/bin", "/usr/local/bin"]
      // Debian's redis-tools has the server under another name, and no service that is started.
      return ["redis-server", "valkey-server", "redis-check-rdb"].lazy
        .flatMap { name in folders.map { "\($0)/\(name)" } }
        .first { FileManager.default.isExecutableFile(atPath: $0) }
    }()

    let port: Int
    private let pid: Int32
    private let process = Process()
    private let input = Pipe()

    /// - Parameters:
    ///   - folder: For the name by which the program knows what to be, and what it knows of its
    ///     cluster.
    ///   - port: nil for any.
    ///   - further: Arguments.
    init(in folder: String, port: Int? = nil, _ further: [String] = []) throws {
      let port = try port ?? Self.freePort()
      self.port = port
      guard let program = Self.program else { throw Broken("there is no redis-server here") }
      let link = "\(folder)/redis-server"
      let file = URL(fileURLWithPath: program).resolvingSymlinksInPath().path
      try? FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
      // The input ends with this process, however that ends.
      let script = """
        "$@" <&- & server=$!; echo "pid $server"; cat >/dev/null; kill -9 $server; wait $server
        """
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = [
        "-c", script, "sh", link, "--port", "\(port)", "--bind", "127.0.0.1", "--save", "",
        "--appendonly", "no", "--dir", folder, "--daemonize", "no",
        // A machine that does not read is no reason to forget it.
        "--client-output-buffer-limit", "normal 0 0 0",
      ]
      process.arguments? += further
      let output = Pipe()
      process.standardInput = input
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
      var text = ""
      while !text.contains("Ready to accept connections") {
        let more = output.fileHandleForReading.availableData
        text += String(decoding: more, as: UTF8.self)
        if more.isEmpty || text.contains("Failed listening") || text.contains("FATAL") {
          try? input.fileHandleForWriting.close()
          throw Broken("redis-server did not start on port \(port)")
        }
      }
      let words = text.split(whereSeparator: \.isWhitespace)
      guard let place = words.firstIndex(of: "pid"), let pid = Int32(words[place + 1]) else {
        throw Broken("redis-server did not say what it is")
      }
      self.pid = pid
    }

    /// A free port, and so is the one for the other servers of a cluster, which is higher by
    /// 10,000. Both are below those that systems give to connections: one of these, even one that
    /// looks for the server, would have the port when the server is to be started again.
    static func freePort() throws -> Int {
      func bind(_ port: Int) throws -> any Channel {
        try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
          .bind(host: "127.0.0.1", port: port).wait()
      }
      for _ in 0..<1000 {
        let port = Int.random(in: 10_000..<22_000)
        guard let channel = try? bind(port) else { continue }
        defer { try? channel.close().wait() }
        guard let other = try? bind(port + 10_000) else { continue }
        try? other.close().wait()
        return port
      }
      throw Broken("there is no free port")
    }

    /// Freezes it: it accepts, and says nothing.
    func stop() { kill(pid, SIGSTOP) }
    func go() { kill(pid, SIGCONT) }

    /// Ends it as a crash does; it is gone afterwards.
    func end() {
      kill(pid, SIGKILL)
      try? input.fileHandleForWriting.close()
      process.waitUntilExit()
    }

    deinit { if process.isRunning { end() } }

    /// Sends it a command, behind the proxy's back, and waits for the answer.
    @discardableResult
    func say(_ words: String...) throws -> RemoteReply { try say(words) }

    func say(_ words: [String]) throws -> RemoteReply {
      var server = RemoteServer(host: "127.0.0.1", port: port)
      server.security = .plaintext
      (server.timeout, server.connectTimeout) = (.seconds(60), .seconds(60))
      let connection = try RedisConnection(server)
      let command = RemoteCommand(words[0], words.dropFirst().map { Array($0.utf8) })
      let result = Box<Result<[RemoteReply], any Error>>()
      let done = DispatchSemaphore(value: 0)
      Task.detached {
        do {
          result.value = .success(
            try await connection.send([command], key: nil, patience: nil))
        } catch {
          result.value = .failure(error)
        }
        await connection.close()
        done.signal()
      }
      done.wait()
      guard let reply = try result.value?.get().first else { throw Broken("no answer") }
      if case .error(let text) = reply {
        throw Broken("the server answered \(words.prefix(3)) with \(text)")
      }
      return reply
    }

    /// Unchecked: written before a semaphore is signalled, read after.
    private final class Box<Value>: @unchecked Sendable { var value: Value? }
  }
#endif
