// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
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
    ///   - folder: For the name by which the program knows what to be.
    ///   - port: nil for any.
    init(in folder: String, port wanted: Int? = nil) throws {
      guard let program = Self.program else { throw Broken("there is no redis-server here") }
      let link = "\(folder)/redis-server"
      let file = URL(fileURLWithPath: program).resolvingSymlinksInPath().path
      try? FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
      port = try wanted ?? Self.freePort()
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

    private static func freePort() throws -> Int {
      let channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .bind(host: "127.0.0.1", port: 0).wait()
      defer { try? channel.close().wait() }
      guard let port = channel.localAddress?.port else { throw Broken("there is no free port") }
      return port
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
    func say(_ command: String) throws {
      let channel = try ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(AnswerHandler())
          }
        }
        .connect(host: "127.0.0.1", port: port).wait()
      channel.writeAndFlush(ByteBuffer(string: command + "\r\n"), promise: nil)
      // The handler closes it when there is an answer.
      try channel.closeFuture.wait()
    }
  }

  private final class AnswerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.close(promise: nil) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }
  }
#endif
