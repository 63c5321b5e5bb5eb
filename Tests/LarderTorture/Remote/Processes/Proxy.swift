// SPDX-License-Identifier: MIT

#if Remote
  import NIOCore
  import NIOPosix

  /// Lies between the machines and their server, and delays, cuts and half-opens their connections.
  ///
  /// Unchecked, because all but its port is only touched on one event loop.
  final class Proxy: @unchecked Sendable {
    private let loop: any EventLoop
    private let serverPort: Int
    private var listener: (any Channel)?
    private var pairs: [Pair] = []

    /// A machine's connection and the one to the server that belongs to it.
    fileprivate final class Pair: @unchecked Sendable {
      let near: any Channel
      var far: (any Channel)?
      /// What came before there was one.
      var early: [ByteBuffer] = []
      /// Nothing arrives any more, and neither end is told of the other's.
      var isHole = false
      /// Until when nothing does, and what came meanwhile.
      var stalledUntil = NIODeadline.now()
      var waiting: [(bytes: ByteBuffer, isNear: Bool)] = []

      init(_ near: any Channel) { self.near = near }
    }

    init(to serverPort: Int) {
      self.serverPort = serverPort
      loop = MultiThreadedEventLoopGroup.singleton.next()
    }

    /// - Returns: The port to connect to.
    func start() throws -> Int {
      let channel = try ServerBootstrap(group: loop)
        .serverChannelOption(ChannelOptions.socketOption(.so_reuseaddr), value: 1)
        .childChannelOption(ChannelOptions.tcpOption(.tcp_nodelay), value: 1)
        .childChannelInitializer { [self] channel in
          channel.eventLoop.makeCompletedFuture {
            let pair = Pair(channel)
            pairs.append(pair)
            try channel.pipeline.syncOperations.addHandler(NearHandler(self, pair))
            connect(pair)
          }
        }
        .bind(host: "127.0.0.1", port: 0).wait()
      guard let port = channel.localAddress?.port else { throw Broken("the proxy has no port") }
      try loop.submit { self.listener = channel }.wait()
      return port
    }

    func end() {
      try? loop.submit { [self] in
        for pair in pairs { close(pair) }
        listener?.close(promise: nil)
      }.wait()
    }

    private func connect(_ pair: Pair) {
      ClientBootstrap(group: loop)
        .channelOption(ChannelOptions.tcpOption(.tcp_nodelay), value: 1)
        .channelInitializer { [self] channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(FarHandler(self, pair))
          }
        }
        .connect(host: "127.0.0.1", port: serverPort)
        .whenComplete { [self] result in
          guard case .success(let far) = result else { return close(pair) }
          guard pair.near.isActive else { return far.close(promise: nil) }
          pair.far = far
          for bytes in pair.early { far.writeAndFlush(bytes, promise: nil) }
          pair.early = []
        }
    }

    fileprivate func pass(_ bytes: ByteBuffer, fromNear isNear: Bool, _ pair: Pair) {
      if pair.isHole { return }
      guard pair.stalledUntil > .now() || !pair.waiting.isEmpty else {
        return deliver(bytes, isNear, pair)
      }
      pair.waiting.append((bytes, isNear))
      if pair.waiting.count > 1 { return }
      loop.scheduleTask(deadline: pair.stalledUntil) { [self] in
        for (bytes, isNear) in pair.waiting { deliver(bytes, isNear, pair) }
        pair.waiting = []
      }
    }

    private func deliver(_ bytes: ByteBuffer, _ isNear: Bool, _ pair: Pair) {
      if pair.isHole { return }
      if !isNear {
        pair.near.writeAndFlush(bytes, promise: nil)
      } else if let far = pair.far {
        far.writeAndFlush(bytes, promise: nil)
      } else {
        pair.early.append(bytes)
      }
    }

    fileprivate func ended(_ pair: Pair, nearEnded: Bool) {
      if pair.isHole && !nearEnded { return }
      close(pair)
    }

    private func close(_ pair: Pair) {
      pairs.removeAll { $0 === pair }
      pair.near.close(promise: nil)
      pair.far?.close(promise: nil)
    }

    // MARK: - Faults

    enum Fault: CaseIterable {
      /// Both sides learn of it.
      case cut
      /// The server learns of it, and the machine does not.
      case halfOpen
      /// Nobody does.
      case hole
      /// Nothing arrives for a while, and then all of it, in order.
      case stall
    }

    /// Does that to one of the connections, or to all.
    func harm(_ fault: Fault, _ number: Int, all: Bool, milliseconds: Int) {
      loop.execute { [self] in
        let chosen = all || pairs.isEmpty ? pairs : [pairs[number % pairs.count]]
        for pair in chosen {
          switch fault {
          case .cut: close(pair)
          case .halfOpen:
            pair.isHole = true
            pair.far?.close(promise: nil)
          case .hole: pair.isHole = true
          case .stall: pair.stalledUntil = .now() + .milliseconds(Int64(milliseconds))
          }
        }
      }
    }
  }

  // Two classes, so that each knows its side without asking.

  private final class NearHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let proxy: Proxy
    private let pair: Proxy.Pair
    init(_ proxy: Proxy, _ pair: Proxy.Pair) { (self.proxy, self.pair) = (proxy, pair) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      proxy.pass(unwrapInboundIn(data), fromNear: true, pair)
    }
    func channelInactive(context: ChannelHandlerContext) { proxy.ended(pair, nearEnded: true) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }
  }

  private final class FarHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let proxy: Proxy
    private let pair: Proxy.Pair
    init(_ proxy: Proxy, _ pair: Proxy.Pair) { (self.proxy, self.pair) = (proxy, pair) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      proxy.pass(unwrapInboundIn(data), fromNear: false, pair)
    }
    func channelInactive(context: ChannelHandlerContext) { proxy.ended(pair, nearEnded: false) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }
  }
#endif
