// SPDX-License-Identifier: MIT

#if Remote
  import LarderRemote
  import LarderTestSupport
  import NIOCore
  import NIOPosix
  import Testing

  /// A server that says what a test wants it to, whatever it is asked.
  final class ScriptedServer: Sendable {
    /// What it does when something arrives.
    enum Step: Sendable {
      case say([UInt8])
      case close

      static func say(_ text: String) -> Step { .say(Array(text.utf8)) }
    }

    /// What a server answers to the handshake.
    static let welcome = "%1\r\n+proto\r\n:3\r\n+OK\r\n+OK\r\n+OK\r\n"

    private struct State {
      var connections = 0
      var received: [UInt8] = []
    }

    let port: Int
    private let channel: any Channel
    private let state: Locked<State>

    /// - Parameter script: What to do about the arrival of that number, from 0, on a connection.
    init(_ script: @escaping @Sendable (_ connection: Int, _ arrival: Int) -> [Step]) async throws {
      let state = Locked(State())
      self.state = state
      channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .childChannelInitializer { channel in
          let number = state.withLock { state in
            state.connections += 1
            return state.connections - 1
          }
          return channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(
              Handler(number, script) { bytes in state.withLock { $0.received += bytes } })
          }
        }
        .bind(host: "127.0.0.1", port: 0).get()
      port = try #require(channel.localAddress?.port)
    }

    deinit { channel.close(promise: nil) }

    var connections: Int { state.withLock { $0.connections } }
    var received: [UInt8] { state.withLock { $0.received } }

    var server: RemoteServer {
      var server = RemoteServer(host: "127.0.0.1", port: port)
      server.security = .plaintext
      server.timeout = .seconds(600)
      server.connectTimeout = .seconds(600)
      server.keepAlive = .seconds(6000)
      server.failuresToOpen = 1000
      return server
    }

    private final class Handler: ChannelInboundHandler {
      typealias InboundIn = ByteBuffer
      private let number: Int
      private let script: @Sendable (Int, Int) -> [Step]
      private let hear: ([UInt8]) -> Void
      private var arrivals = 0

      init(
        _ number: Int, _ script: @escaping @Sendable (Int, Int) -> [Step],
        _ hear: @escaping ([UInt8]) -> Void
      ) {
        self.number = number
        self.script = script
        self.hear = hear
      }

      func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        hear(Array(unwrapInboundIn(data).readableBytesView))
        let steps = script(number, arrivals)
        arrivals += 1
        for step in steps {
          switch step {
          case .say(let bytes):
            context.channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
          case .close: context.close(promise: nil)
          }
        }
      }

      func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
      }
    }
  }
#endif
