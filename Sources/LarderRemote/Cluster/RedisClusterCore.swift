// SPDX-License-Identifier: MIT

#if Remote
  import LarderCore
  import NIOCore
  import Synchronization

  /// What a ``RedisClusterConnection`` is made of: the map of the cluster, and a connection to each
  /// of its servers that is needed.
  ///
  /// 1. All connections share an event loop, on which the sink is called, and on which the map
  ///    changes: first the map, then the sink is told. So a call that begins after the sink was
  ///    told goes by the new map, and the reply to one that began before is not kept.
  /// 2. A connection that no longer belongs to a master is not heard any more; the sink is told
  ///    `flushed` for that. It ends when the calls on it have ended.
  /// 3. A server that refuses commands has not executed them: only these are sent to another one.
  final class RedisClusterCore: Sendable {
    /// A connection to a server.
    struct Node {
      let id: UInt64
      let connection: any RemoteConnection
      /// That of the cluster; 0 before there was a connection.
      var epoch: UInt64 = 0
    }

    struct State {
      var sink: (@Sendable (RemoteEvent) -> Void)?
      var topology: RedisTopology?
      var nodes: [RemoteAddress: Node] = [:]
      var nextNode: UInt64 = 0
      var epoch: UInt64 = 0
      var isClosed = false
      // See RedisClusterCore+Polling.
      var isPolling = false
      var isPollWanted = false
      var timer: RepeatedTask?
      var waiting: [AsyncStream<Void>.Continuation] = []
      var failure: LarderError?
    }

    static let maximumRedirections = 5

    let server: RemoteServer
    let cluster: RemoteCluster
    let state = Mutex(State())
    let world: RedisClusterWorld
    var loop: any EventLoop { world.loop }

    init(_ server: RemoteServer, _ world: RedisClusterWorld) {
      self.server = server
      self.world = world
      cluster = server.cluster ?? RemoteCluster()
    }

    // MARK: - Connections

    func connection(to address: RemoteAddress) throws -> any RemoteConnection {
      try state.withLock { state in
        if state.isClosed { throw closed }
        if let node = state.nodes[address] { return node.connection }
        var server = server
        (server.host, server.port) = (address.host, address.port)
        let connection = try world.connect(server)
        state.nextNode += 1
        let id = state.nextNode
        connection.observe { [weak self] in self?.receive($0, from: address, id) }
        state.nodes[address] = Node(id: id, connection: connection)
        return connection
      }
    }

    /// On the event loop.
    private func receive(_ event: RemoteEvent, from address: RemoteAddress, _ id: UInt64) {
      var told: (RemoteEvent, (@Sendable (RemoteEvent) -> Void)?)?
      told = state.withLock { state in
        guard let node = state.nodes[address], node.id == id else { return nil }
        switch event {
        case .connected:
          state.epoch += 1
          state.nodes[address]?.epoch = state.epoch
          return (.connected(epoch: state.epoch), state.sink)
        case .lost: return (.lost(epoch: node.epoch), state.sink)
        case .invalidated, .untracked, .flushed: return (event, state.sink)
        }
      }
      guard let (event, sink) = told else { return }
      sink?(event)
      // Another server may have taken its place.
      if case .lost = event { poll() }
    }

    /// Tells the sink something, and returns when it has been told.
    func tell(_ event: RemoteEvent) async {
      await withCheckedContinuation { continuation in
        loop.execute { [self] in
          state.withLock { $0.sink }?(event)
          continuation.resume()
        }
      }
    }

    func close() async {
      let (nodes, timer, waiting) = state.withLock { state in
        state.isClosed = true
        defer { (state.timer, state.waiting) = (nil, []) }
        return (state.nodes.values, state.timer, state.waiting)
      }
      timer?.cancel()
      for continuation in waiting { continuation.finish() }
      // They are heard until they have ended.
      for node in nodes { await node.connection.close() }
      state.withLock { state in
        (state.nodes, state.sink) = ([:], nil)
      }
    }

    // MARK: - Calls

    /// Commands that go to one server.
    private struct Step {
      let address: RemoteAddress
      let isAsk: Bool
      var units: [Range<Int>]
    }

    /// - Parameter first: Who is asked first; nil: the owner of the key.
    func send(
      _ commands: [RemoteCommand], _ key: [UInt8]?, to first: RemoteAddress?, _ patience: Duration?
    ) async throws -> [RemoteReply] {
      if commands.isEmpty { return [] }
      let end = world.now() + min(patience ?? server.timeout, server.timeout)
      var replies = Array(repeating: RemoteReply.null, count: commands.count)
      let hasMap = state.withLock { $0.topology != nil }
      var address = first
      if address == nil { address = try await owner(of: key, until: end) }
      var steps = address.map { [Step(address: $0, isAsk: false, units: commands.units)] } ?? []
      var wasAsk = false
      for redirections in 0...Self.maximumRedirections {
        var redirected: [Step] = []
        for step in steps {
          wasAsk = wasAsk || step.isAsk
          let rest = redirections == 0 && hasMap ? patience : max(end - world.now(), .zero)
          try await send(commands, step, rest, &replies)
          for unit in step.units {
            guard let (next, isAsk) = try await target(replies[unit], step.address, key, end)
            else { continue }
            if let same = redirected.firstIndex(where: { $0.address == next && $0.isAsk == isAsk })
            {
              redirected[same].units.append(unit)
            } else {
              redirected.append(Step(address: next, isAsk: isAsk, units: [unit]))
            }
          }
        }
        if redirected.isEmpty {
          // What a server answers that only takes part in the move of a slot is not tracked.
          if wasAsk, let key { await tell(.untracked(key)) }
          return replies
        }
        steps = redirected
      }
      throw LarderError(
        .remote,
        "The cluster at \(server) redirected a call more than \(Self.maximumRedirections) times.")
    }

    private func send(
      _ commands: [RemoteCommand], _ step: Step, _ patience: Duration?,
      _ replies: inout [RemoteReply]
    ) async throws {
      let sent =
        step.isAsk
        ? commands.asking(step.units)
        : step.units.joined().map { (place: $0, command: commands[$0]) }
      let connection = try connection(to: step.address)
      // It may have been replaced meanwhile.
      defer { withExtendedLifetime(connection) {} }
      let found = try await connection.send(sent.map(\.command), patience: patience)
      for (place, reply) in zip(sent.map(\.place), found) {
        if let place { replies[place] = reply }
      }
    }

    /// Who has to be sent again what was answered like this.
    ///
    /// - Returns: nil if it was not refused.
    private func target(
      _ replies: ArraySlice<RemoteReply>, _ asked: RemoteAddress, _ key: [UInt8]?,
      _ end: ContinuousClock.Instant
    ) async throws -> (RemoteAddress, isAsk: Bool)? {
      for reply in replies {
        if let redirect = RedisRedirect(reply) {
          if !redirect.isAsk { poll() }
          return (redirect.address.resolved(at: asked), redirect.isAsk)
        }
        // The server does not know the address either.
        if reply == .error("MOVED") {
          try await poll(until: end)
          return (try await owner(of: key, until: end), false)
        }
      }
      return nil
    }

    /// The master that owns a key's slot; without a key any.
    private func owner(
      of key: [UInt8]?, until end: ContinuousClock.Instant
    ) async throws -> RemoteAddress {
      let slot = key.map { RedisSlot.of($0) }
      for isLast in [false, true] {
        let (topology, failure) = try state.withLock { state in
          if state.isClosed { throw closed }
          return (state.topology, state.failure)
        }
        if let topology {
          let owner =
            slot.map { topology.owner(of: $0) } ?? topology.masters.randomElement()?.address
          if let owner { return owner }
        }
        if !isLast {
          try await poll(until: end)
          continue
        }
        if topology == nil { throw failure ?? timedOut }
      }
      throw LarderError(
        .remote,
        "No server of the cluster at \(server) owns the slot \(slot.map(String.init) ?? "").")
    }

    // MARK: - Errors

    var closed: LarderError {
      LarderError(.closed, "The connections to the cluster at \(server) were closed.")
    }

    var timedOut: LarderError {
      LarderError(
        .timedOut,
        "The cluster at \(server) did not say within \(server.timeout) who owns which slots."
      )
    }
  }
#endif
