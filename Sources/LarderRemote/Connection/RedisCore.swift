// SPDX-License-Identifier: MIT

#if Remote
  import LarderCore
  import NIOCore
  import NIOPosix
  import NIOSSL
  import Synchronization

  /// What a ``RedisConnection`` is made of: calls that wait, the channel, the attempts to connect.
  ///
  ///     idle → connecting → ready → waiting → connecting …        → closed, from each
  ///
  /// 1. An attempt has a number, and so has its channel: what a channel of an earlier attempt still
  ///    says is not heard.
  /// 2. The sink hears of a connection's end before the calls under way do, and of a new one before
  ///    anything is sent on it.
  /// 3. Whatever ends a call ends it once; the replies to a call that was given up are counted off
  ///    all the same.
  /// 4. Each call that the circuit allowed ends in `succeed` or `fail`, so a probe always ends.
  ///
  /// Unchecked, because everything but the counters is only touched on the event loop.
  final class RedisCore: @unchecked Sendable {
    private enum State {
      case idle
      case connecting((any Channel)?)
      case ready(any Channel)
      case waiting(Scheduled<Void>)
      case closed
    }

    let nextRequest = Atomic<UInt64>(0)
    let epoch = Atomic<UInt64>(0)
    var sink: (@Sendable (RemoteEvent) -> Void)?

    private let server: RemoteServer
    private let loop: any EventLoop
    private let security: RedisSecurity
    private var state = State.idle
    private var attempt: UInt64 = 0
    private var circuit: RemoteCircuit
    private var backoff: RemoteBackoff
    /// In the order in which they were written; the replies come in the same.
    private var underWay = CircularBuffer<RedisRequest>()
    /// For a connection; in the order in which they came.
    private var queued = CircularBuffer<RedisRequest>()
    private var requests: [UInt64: RedisRequest] = [:]
    /// Whether there is a timer for the oldest call.
    private var isTiming = false
    private var silence: RemoteSilence
    private var lastFailure: LarderError?

    init(_ server: RemoteServer, _ loop: any EventLoop, _ security: RedisSecurity) {
      self.server = server
      self.loop = loop
      self.security = security
      circuit = RemoteCircuit(failures: server.failuresToOpen, openFor: server.openFor)
      backoff = RemoteBackoff(longest: server.maximumBackoff)
      silence = RemoteSilence(longest: server.keepAlive, at: NIODeadline.now().time)
    }

    func onLoop(_ body: @escaping @Sendable (RedisCore) -> Void) {
      loop.execute { [self] in body(self) }
    }

    private var now: Duration { NIODeadline.now().time }

    // MARK: - Calls

    func submit(_ request: RedisRequest, _ patience: Duration?) {
      if case .closed = state { return request.end(.failure(closed)) }
      guard requests.count < server.maximumWaiting else {
        return request.end(
          .failure(
            LarderError(.busy, "\(requests.count) calls wait for the server \(server) already.")))
      }
      guard circuit.allows(at: now) else { return request.end(.failure(unreachable)) }
      let id = request.id
      requests[id] = request
      startTiming(request)
      if let patience, patience < server.timeout {
        request.patience = after(patience) { $0.abandon(id, $0.timedOut(patience)) }
      }
      switch state {
      case .ready(let channel): write(request, to: channel)
      case .idle:
        queued.append(request)
        connect()
      case .waiting(let timer):
        queued.append(request)
        // A probe is not to wait for the next attempt; but others are, or there would be no pause.
        if circuit.isOpen {
          timer.cancel()
          connect()
        }
      case .connecting, .closed: queued.append(request)
      }
    }

    /// The caller does not wait any longer.
    func abandon(_ id: UInt64, _ error: any Error) { requests[id]?.end(.failure(error)) }

    private func write(_ request: RedisRequest, to channel: any Channel) {
      underWay.append(request)
      channel.writeAndFlush(request.bytes, promise: nil)
    }

    private func forget(_ request: RedisRequest) {
      request.patience?.cancel()
      requests[request.id] = nil
    }

    /// Calls time out in the order in which they came, so one timer is enough for all.
    private func startTiming(_ request: RedisRequest) {
      request.deadline = .now() + server.timeout.amount
      if isTiming { return }
      isTiming = true
      loop.scheduleTask(deadline: request.deadline) { [weak self] in self?.expire() }
    }

    /// Ends calls that took longer than the server's time-out.
    private func expire() {
      isTiming = false
      let error = timedOut(server.timeout)
      while let oldest = underWay.first(where: { $0.id != 0 }) ?? queued.first {
        if oldest.deadline > .now() {
          isTiming = true
          loop.scheduleTask(deadline: oldest.deadline) { [weak self] in self?.expire() }
          return
        }
        forget(oldest)
        if queued.first === oldest {
          queued.removeFirst()
          circuit.fail(at: now)
          oldest.end(.failure(error))
        } else {
          oldest.end(.failure(error))
          lose(attempt, error)
        }
      }
    }

    // MARK: - Connecting

    private func connect() {
      attempt += 1
      let id = attempt
      state = .connecting(nil)
      let (server, security) = (server, security)
      after(server.connectTimeout) { core in
        guard case .connecting = core.state, core.attempt == id else { return }
        core.lose(id, core.timedOut(server.connectTimeout))
      }
      ClientBootstrap(group: loop)
        .connectTimeout(server.connectTimeout.amount)
        .channelOption(ChannelOptions.tcpOption(.tcp_nodelay), value: 1)
        .channelInitializer { [self] channel in
          channel.eventLoop.makeCompletedFuture {
            let pipeline = channel.pipeline.syncOperations
            if let context = security.context {
              try pipeline.addHandler(
                NIOSSLClientHandler(context: context, serverHostname: security.name))
            }
            try pipeline.addHandler(RedisHandler(self, id, server.maximumReplyBytes))
          }
        }
        .connect(host: server.host, port: server.port)
        .whenComplete { [self] result in
          switch result {
          case .success(let channel): greet(channel, id)
          case .failure(let error): lose(id, refused(error))
          }
        }
    }

    private func greet(_ channel: any Channel, _ id: UInt64) {
      guard id == attempt, case .connecting = state else { return channel.close(promise: nil) }
      state = .connecting(channel)
      var bytes: [UInt8] = []
      let commands = RedisHandshake.commands(server)
      for command in commands { command.encode(into: &bytes) }
      let hello = RedisRequest(0, commands.count, ByteBuffer(bytes: bytes)) { [self] result in
        guard case .success(let replies) = result else { return }
        if let failure = RedisHandshake.failure(replies, server) { return lose(id, failure) }
        begin(channel)
      }
      write(hello, to: channel)
    }

    /// The server has answered as it should.
    private func begin(_ channel: any Channel) {
      state = .ready(channel)
      circuit.succeed()
      let epoch = epoch.add(1, ordering: .acquiringAndReleasing).newValue
      sink?(.connected(epoch: epoch))
      while let request = queued.popFirst() { write(request, to: channel) }
      keepAlive(attempt)
    }

    /// Asks whether the server is there, when it has been silent.
    private func keepAlive(_ id: UInt64) {
      guard case .ready(let channel) = state, id == attempt else { return }
      let rest = silence.rest(at: now)
      if rest > .zero {
        after(rest) { $0.keepAlive(id) }
        return
      }
      var bytes: [UInt8] = []
      RemoteCommand("PING").encode(into: &bytes)
      let number = nextRequest.add(1, ordering: .relaxed).newValue
      let ping = RedisRequest(number, 1, ByteBuffer(bytes: bytes)) { _ in }
      requests[number] = ping
      startTiming(ping)
      write(ping, to: channel)
      after(server.keepAlive) { $0.keepAlive(id) }
    }

    // MARK: - Receiving

    func receive(_ reply: RemoteReply, _ id: UInt64) {
      guard id == attempt else { return }
      // A push may have waited somewhere for long; a reply is to what was asked just now.
      if case .push(let items) = reply { return receive(push: items) }
      guard let request = underWay.first else {
        return lose(id, LarderError(.remote, "The server \(server) answered what nobody asked."))
      }
      silence.end(byAnswerTo: request.begun.time)
      let isHello = request.id == 0
      guard request.receive(reply) else { return }
      // The handshake may have failed, and the connection with it.
      guard id == attempt, !underWay.isEmpty else { return }
      underWay.removeFirst()
      forget(request)
      if isHello { return }
      circuit.succeed()
      backoff.reset()
    }

    private func receive(push items: [RemoteReply]) {
      guard case .bytes(let kind)? = items.first, kind.elementsEqual("invalidate".utf8),
        items.count == 2
      else { return }
      switch items[1] {
      case .null: sink?(.flushed)
      case .array(let keys):
        sink?(.invalidated(keys.compactMap { if case .bytes(let key) = $0 { key } else { nil } }))
      default: sink?(.flushed)
      }
    }

    /// A connection, or an attempt at one, has come to its end.
    func lose(_ id: UInt64, _ error: LarderError) {
      guard id == attempt else { return }
      attempt += 1
      let channel: (any Channel)?
      switch state {
      case .ready(let open):
        channel = open
        sink?(.lost(epoch: epoch.load(ordering: .acquiring)))
      case .connecting(let open): channel = open
      case .idle, .waiting, .closed: channel = nil
      }
      lastFailure = error
      circuit.fail(at: now)
      if case .closed = state {} else { scheduleConnect() }
      endAll(error)
      channel?.close(promise: nil)
    }

    private func endAll(_ error: LarderError) {
      let all = Array(underWay) + Array(queued)
      underWay.removeAll()
      queued.removeAll()
      for request in all {
        forget(request)
        request.end(.failure(error))
      }
    }

    private func scheduleConnect() {
      var random = SystemRandomNumberGenerator()
      state = .waiting(
        after(backoff.next(using: &random)) { core in
          if case .waiting = core.state { core.connect() }
        })
    }

    func close() {
      if case .closed = state { return }
      if case .waiting(let timer) = state { timer.cancel() }
      let id = attempt
      // What it says after that it says of a connection that is closed.
      let wasReady = if case .ready = state { true } else { false }
      var channel: (any Channel)?
      if case .ready(let open) = state { channel = open }
      if case .connecting(let open) = state { channel = open }
      state = .closed
      attempt = id + 1
      if wasReady { sink?(.lost(epoch: epoch.load(ordering: .acquiring))) }
      endAll(closed)
      channel?.close(promise: nil)
      sink = nil
    }

    // MARK: - Errors and times

    private var closed: LarderError {
      LarderError(.closed, "The connection to \(server) was closed.")
    }

    private var unreachable: LarderError {
      LarderError(
        .remote, "The server \(server) is not asked, as it failed several times in a row.",
        cause: lastFailure)
    }

    private func timedOut(_ time: Duration) -> LarderError {
      // TLS is the default, and a server without it says nothing to who begins so.
      let isGreeting = if case .connecting(_?) = state { true } else { false }
      let hint = isGreeting && server.security.isEncrypted ? " Does it speak TLS on this port?" : ""
      return LarderError(
        .timedOut, "The server \(server) did not answer within \(time).\(hint)")
    }

    private func refused(_ error: any Error) -> LarderError {
      LarderError(.remote, "Could not connect to \(server).", cause: error)
    }

    func lost(_ error: (any Error)?) -> LarderError {
      LarderError(.remote, "The connection to \(server) was lost.", cause: error)
    }

    @discardableResult
    private func after(
      _ time: Duration, _ body: @escaping @Sendable (RedisCore) -> Void
    ) -> Scheduled<Void> {
      loop.scheduleTask(in: time.amount) { [weak self] in
        if let self { body(self) }
      }
    }
  }

  extension NIODeadline {
    /// Since some beginning.
    fileprivate var time: Duration { .nanoseconds(uptimeNanoseconds) }
  }

  extension Duration {
    /// As the event loop has it.
    var amount: TimeAmount { .nanoseconds(max(0, inNanoseconds)) }
  }

  /// Parses what a channel receives, and hands it to the connection.
  final class RedisHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let core: RedisCore
    private let id: UInt64
    private var parser: RESPParser

    init(_ core: RedisCore, _ id: UInt64, _ maximumBytes: Int) {
      self.core = core
      self.id = id
      var limits = RESPParser.Limits()
      limits.bytes = max(1024, maximumBytes)
      parser = RESPParser(limits)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      unwrapInboundIn(data).withUnsafeReadableBytes { parser.append($0) }
      do throws(LarderError) {
        while let reply = try parser.next() { core.receive(reply, id) }
      } catch {
        core.lose(id, error)
        context.close(promise: nil)
      }
    }

    func channelInactive(context: ChannelHandlerContext) { core.lose(id, core.lost(nil)) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      core.lose(id, core.lost(error))
      context.close(promise: nil)
    }
  }
#endif
