// SPDX-License-Identifier: MIT

#if Remote
  import LarderCore
  import LarderTestSupport
  import NIOCore
  import NIOPosix
  import Testing

  @testable import LarderRemote

  /// A server that greets as one does, and answers each other command as a test wants.
  final class CommandServer: Sendable {
    private struct State {
      var answer: @Sendable ([String], Int) -> String?
      var received: [[String]] = []
    }

    let port: Int
    private let channel: any Channel
    private let state: Locked<State>

    /// - Parameter answer: What to say to a command, from the server of that port; nil for nothing.
    init(_ answer: @escaping @Sendable (_ words: [String], _ port: Int) -> String?) async throws {
      let state = Locked(State(answer: answer))
      self.state = state
      channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Handler(state))
          }
        }
        .bind(host: "127.0.0.1", port: 0).get()
      port = try #require(channel.localAddress?.port)
    }

    deinit { channel.close(promise: nil) }

    /// Without what every connection begins with.
    var received: [[String]] { state.withLock { $0.received } }

    var server: RemoteServer {
      var server = RemoteServer(host: "127.0.0.1", port: port)
      server.security = .plaintext
      server.timeout = .seconds(600)
      server.connectTimeout = .seconds(600)
      server.keepAlive = .seconds(6000)
      server.failuresToOpen = 1000
      server.cluster = RemoteCluster()
      server.cluster?.pollInterval = .seconds(86_400)
      return server
    }

    static func bulk(_ text: String) -> String { "$\(text.utf8.count)\r\n\(text)\r\n" }

    private final class Handler: ChannelInboundHandler {
      typealias InboundIn = ByteBuffer
      private let state: Locked<State>
      private var parser = RESPParser()

      init(_ state: Locked<State>) { self.state = state }

      func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        unwrapInboundIn(data).withUnsafeReadableBytes { parser.append($0) }
        while case .array(let items)? = try? parser.next() {
          let words = items.map { item in
            if case .bytes(let bytes) = item { String(decoding: bytes, as: UTF8.self) } else { "" }
          }
          guard let text = answer(words, context.channel.localAddress?.port ?? 0) else { continue }
          context.channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
        }
      }

      private func answer(_ words: [String], _ port: Int) -> String? {
        if words.first == "HELLO" { return "%1\r\n+proto\r\n:3\r\n" }
        if words.first == "SELECT" || words.starts(with: ["CLIENT", "TRACKING"])
          || words.starts(with: ["CLIENT", "SETINFO"])
        {
          return "+OK\r\n"
        }
        let answer = state.withLock { state in
          state.received.append(words)
          return state.answer
        }
        return answer(words, port)
      }

      func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
      }
    }
  }
#endif
