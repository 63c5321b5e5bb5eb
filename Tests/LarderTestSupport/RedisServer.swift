// SPDX-License-Identifier: MIT

public import Foundation

/// A Redis or Valkey server of one's own, on loopback, with nothing on disk: what it had is gone
/// when it is killed. Ends with the last reference to it, or with this process, however that ends.
public final class RedisServer: Sendable {
  /// The program, or the one that the environment names; nil where there is none.
  public static let program: String? = {
    let environment = ProcessInfo.processInfo.environment
    if let wished = environment["LARDER_TEST_REDIS"], !wished.isEmpty { return wished }
    let path = environment["PATH"] ?? ""
    let folders = path.split(separator: ":").map(String.init) + ["/usr/bin", "/usr/local/bin"]
    // Debian's redis-tools has the server under another name, and no service that is started.
    return ["redis-server", "valkey-server", "redis-check-rdb"].lazy
      .flatMap { name in folders.map { "\($0)/\(name)" } }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }()

  /// Whether there is a program.
  public static let isInstalled = program != nil

  /// Some are built without: then it is not certificates that they miss.
  public static let hasTLS: Bool = {
    do {
      _ = try RedisServer(["--tls-port", "PORT"])
      return true
    } catch {
      return (error as? Failure)?.text.contains("Failed to configure TLS") ?? false
    }
  }()

  /// Held while a process with pipes is started: another one that is started meanwhile would keep
  /// them open.
  public static let spawning = NSLock()

  /// It was not started.
  public struct Failure: Error, CustomStringConvertible {
    /// What it printed.
    let text: String

    /// As a report says it.
    public var description: String { "redis-server did not start: \(text.suffix(1000))" }
  }

  /// Where it listens.
  public let port: Int
  private let pid: Int32
  /// nil once it was ended: its number may be another process's then.
  private let pipes: Locked<(input: Pipe, output: Pipe)?>
  private let directory: TemporaryDirectory?

  /// Starts one, and waits until it can be connected to.
  ///
  /// - Parameters:
  ///   - folder: What it knows of its cluster is kept there, for the next one. A temporary one if
  ///     nil.
  ///   - port: Any that is free if nil.
  ///   - arguments: Further ones of `redis-server`. `PORT` is the port, which is not another
  ///     one's then.
  public init(
    in folder: String? = nil, port wanted: Int? = nil, _ arguments: [String] = []
  ) throws {
    guard let program = Self.program else { throw Failure(text: "there is none here") }
    directory = folder == nil ? try TemporaryDirectory() : nil
    let folder = folder ?? directory?.url.path ?? ""
    // What it is called says what it does.
    let server = "\(folder)/redis-server"
    let file = URL(fileURLWithPath: program).resolvingSymlinksInPath().path
    if !FileManager.default.fileExists(atPath: server) {
      try FileManager.default.createSymbolicLink(atPath: server, withDestinationPath: file)
    }
    // Somebody else may have taken the port meanwhile.
    for _ in 0..<100 {
      let port = try wanted ?? Self.freePort()
      guard let (pid, input, output) = try Self.start(server, port, folder, arguments) else {
        continue
      }
      (self.port, self.pid) = (port, pid)
      pipes = Locked((input, output))
      return
    }
    throw Failure(text: "no port is free")
  }

  /// - Returns: nil if the port is another's.
  private static func start(
    _ program: String, _ port: Int, _ folder: String, _ arguments: [String]
  ) throws -> (Int32, Pipe, Pipe)? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    // The input ends with this process, however that ends. The server's process says its own number
    // before it is the server: said by the shell beside it, it may come after "Ready".
    let script = """
      sh -c 'echo "pid $$"; exec "$@"' sh "$@" <&- & server=$!
      cat >/dev/null; kill -9 $server; wait $server
      """
    let plain = arguments.contains("PORT") ? "0" : String(port)
    process.arguments =
      [
        "-c", script, "sh", program, "--port", plain, "--bind", "127.0.0.1", "--save", "",
        "--appendonly", "no", "--dir", folder, "--daemonize", "no",
      ] + arguments.map { $0 == "PORT" ? String(port) : $0 }
    let (input, output) = try spawning.withLock {
      let pipes = (Pipe(), Pipe())
      process.standardInput = pipes.0
      process.standardOutput = pipes.1
      process.standardError = pipes.1
      try process.run()
      return pipes
    }
    var text = ""
    while !text.contains("Ready to accept connections") {
      let more = output.fileHandleForReading.availableData
      text += String(decoding: more, as: UTF8.self)
      // The shell has the output open as long as the server has not failed, and itself reads.
      let isRefused = text.contains("FATAL") || text.firstRange(of: /Failed .* TLS.*\n/) != nil
      if more.isEmpty || text.contains("Failed listening") || isRefused {
        waitForEnd(input, output)
        if isRefused { throw Failure(text: text) }
        return nil
      }
    }
    let words = text.split(whereSeparator: \.isWhitespace)
    guard let place = words.firstIndex(of: "pid"), let pid = Int32(words[place + 1]) else {
      throw Failure(text: text)
    }
    return (pid, input, output)
  }

  /// A free port, and so is the one for the other servers of a cluster, which is higher by 10,000.
  /// Both are below those that systems give to connections: one of these, even one that looks for
  /// the server, would have the port when the server is to be started again.
  public static func freePort() throws -> Int {
    for _ in 0..<1000 {
      let port = Int.random(in: 10_000..<22_000)
      if isFree(port) && isFree(port + 10_000) { return port }
    }
    throw Failure(text: "no port is free")
  }

  private static func isFree(_ port: Int) -> Bool {
    #if canImport(Glibc)
      let stream = Int32(SOCK_STREAM.rawValue)
    #else
      let stream = SOCK_STREAM
    #endif
    let listener = socket(AF_INET, stream, 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafeBytes(of: &address) { address in
      address.withMemoryRebound(to: sockaddr.self) { address in
        bind(listener, address.baseAddress, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  /// Freezes it: it accepts, and says nothing.
  public func stop() { kill(pid, SIGSTOP) }

  /// After `stop`.
  public func go() { kill(pid, SIGCONT) }

  /// Ends it as a crash does; it is gone afterwards.
  public func end() {
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
    // The write end is ours alone, and open.
    try? input.fileHandleForWriting.close()
    while !output.fileHandleForReading.availableData.isEmpty {}
  }

  deinit { end() }
}
