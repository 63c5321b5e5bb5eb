// SPDX-License-Identifier: MIT
import Foundation

#if HAS_REMOTE
  import Larder
  import LarderCore
  import LarderRemote

  /// A `redis-server` with nothing on disk, on loopback at a free port. Ends with its last
  /// reference or with this program, however that ends.
  final class RedisProcess {
    let port: Int
    private let input = Pipe()
    private let shell = Process()

    /// - Parameter folder: For the link that names the program.
    init(_ folder: URL) throws {
      // Debian's redis-tools has the server under another name; its own name says what it does.
      guard let program = ["redis-server", "redis-check-rdb"].lazy.compactMap(Self.path).first
      else { throw Failure(description: "there is no redis-server on the path") }
      let link = folder.appendingPathComponent("redis-server")
      try? FileManager.default.removeItem(at: link)  // Mostly there was none.
      try FileManager.default.createSymbolicLink(
        at: link, withDestinationURL: URL(fileURLWithPath: program).resolvingSymlinksInPath())
      port = try Self.freePort()
      shell.executableURL = URL(fileURLWithPath: "/bin/sh")
      // The input ends with this program.
      let script = "\"$@\" <&- & server=$!; cat >/dev/null; kill -9 $server; wait $server"
      shell.arguments = [
        "-c", script, "sh", link.path, "--port", "\(port)", "--bind", "127.0.0.1", "--save", "",
        "--appendonly", "no", "--dir", folder.path, "--daemonize", "no",
      ]
      let output = Pipe()
      shell.standardInput = input
      shell.standardOutput = output
      shell.standardError = FileHandle.nullDevice
      try shell.run()
      var text = ""
      while !text.contains("Ready to accept connections") {
        let more = output.fileHandleForReading.availableData
        text += String(decoding: more, as: UTF8.self)
        if more.isEmpty || text.contains("Failed listening") || text.contains("FATAL") {
          throw Failure(description: "redis-server did not start: \(text.suffix(500))")
        }
      }
    }

    deinit {
      try? input.fileHandleForWriting.close()  // It ends with this program at the latest.
      shell.waitUntilExit()
    }

    /// A program on the path.
    static func path(of program: String) -> String? {
      let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
      return path.split(separator: ":").map { "\($0)/\(program)" }
        .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// One that nobody listens at just now.
    private static func freePort() throws -> Int {
      let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(listener) }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let status = withUnsafeMutablePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          let status = bind(listener, address, size)
          return status == 0 ? getsockname(listener, address, &size) : status
        }
      }
      guard status == 0 else { throw Failure(description: "no port is free on loopback") }
      return Int(UInt16(bigEndian: address.sin_port))
    }

    // MARK: - Ours

    /// A connection in plain text. Its time-outs are long, for a busy machine.
    static func server(_ port: Int) -> RemoteServer {
      var server = RemoteServer(host: "127.0.0.1", port: port)
      server.security = .plaintext
      server.timeout = .seconds(10)
      server.connectTimeout = .seconds(10)
      return server
    }

    /// Memory, and what else is local, over a server, through a connection of its own.
    static func cache<Key, Value>(
      _ port: Int, _ name: String, _ coder: Coder<Value>, _ keyCoder: KeyCoder<Key>,
      _ configuration: CacheConfiguration<Key, Value> = .init(),
      over local: [any CacheTier<Key, Value>] = []
    ) throws -> Cache<Key, Value> {
      var remote = RemoteTierConfiguration()
      // Longer than a run.
      remote.localLifetime = .seconds(3600)
      let tier = try RemoteTier(
        name: name, server: server(port), coder: coder, keyCoder: keyCoder, configuration: remote)
      return Cache(name: name, tiers: local + [tier], configuration: configuration)
    }

    // MARK: - The rival

    /// Has `redis-benchmark` send a command over one connection, `__rand_int__` in it a number
    /// below `keys`.
    ///
    /// - Returns: Its time for a command and the reply, in nanoseconds.
    func benchmark(_ command: [String], count: Int, keys: Int) throws -> Double {
      guard let program = Self.path(of: "redis-benchmark") else {
        throw Failure(description: "there is no redis-benchmark on the path")
      }
      let process = Process()
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments =
        [
          "-h", "127.0.0.1", "-p", "\(port)", "-c", "1", "-n", "\(count)", "-r", "\(keys)", "--csv",
        ] + command
      let output = Pipe()
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      // "GET key","23364.49","0.040", …: the second is requests per second.
      let fields = text.split(separator: "\n").last?.split(separator: ",") ?? []
      guard fields.count > 1, let rate = Double(fields[1].filter { $0 != "\"" }), rate > 0 else {
        throw Failure(description: "redis-benchmark said: \(text.suffix(200))")
      }
      return 1e9 / rate
    }
  }

  extension Bench {
    /// The server of all rows.
    func redis() throws -> RedisProcess { try shared("redis") { try RedisProcess(folder) } }
  }

  extension Cache {
    /// Stores many entries, 64 at a time.
    func fill(_ entries: [(key: Key, value: Value)]) throws {
      try wait { [self] in
        try await withThrowingTaskGroup { group in
          for first in 0..<64 {
            group.addTask {
              for entry in stride(from: first, to: entries.count, by: 64).lazy.map({ entries[$0] })
              {
                try await self.set(entry.value, forKey: entry.key)
              }
            }
          }
          try await group.waitForAll()
        }
      }
    }
  }
#endif
