// SPDX-License-Identifier: MIT

#if Remote
  import LarderCore
  import NIOCore
  import Synchronization

  // Each master is asked what it owns, not only one of them what all do: only the master itself
  // knows that a slot is about to move away from it, and it knows first that it has moved.
  extension RedisClusterCore {
    /// Asks who owns what, behind whatever is being asked already.
    func poll() {
      let begins = state.withLock { state in
        state.isPollWanted = true
        if state.isPolling || state.isClosed { return false }
        state.isPolling = true
        return true
      }
      if begins { Task.detached { await self.run() } }
    }

    /// Asks, or joins who does, and waits for the replies.
    func poll(until end: ContinuousClock.Instant) async throws {
      let (replies, continuation) = AsyncStream.makeStream(of: Void.self)
      let isPolling = state.withLock { state in
        if state.isClosed { continuation.finish() } else { state.waiting.append(continuation) }
        return state.isPolling
      }
      if !isPolling { poll() }
      let timer = loop.scheduleTask(in: (end - world.now()).amount) { continuation.finish() }
      defer { timer.cancel() }
      for await _ in replies {}
      try Task.checkCancellation()
    }

    func currentMasters() async throws -> [RemoteAddress] {
      try await poll(until: world.now() + server.timeout)
      return try state.withLock { state in
        if state.isClosed { throw closed }
        guard let topology = state.topology else { throw state.failure ?? timedOut }
        return topology.masters.map(\.address)
      }
    }

    private func run() async {
      var goesOn = true
      while goesOn {
        state.withLock { $0.isPollWanted = false }
        await ask()
        let (waiting, isWanted) = state.withLock { state in
          defer { state.waiting = [] }
          state.isPolling = state.isPollWanted && !state.isClosed
          return (state.waiting, state.isPolling)
        }
        for continuation in waiting { continuation.finish() }
        goesOn = isWanted
      }
    }

    private var seeds: Set<RemoteAddress> {
      Set([RemoteAddress(host: server.host, port: server.port)] + cluster.seeds)
    }

    /// Asks all masters, and the seeds if there are none that answer.
    private func ask() async {
      var (views, failure) = ([RedisView](), LarderError?.none)
      var topology: RedisTopology?
      let known = state.withLock { ($0.topology?.masters ?? []).map(\.address) }
      var asked: Set<RemoteAddress> = []
      var next = known.isEmpty ? seeds : Set(known)
      while !next.isEmpty, asked.count < RedisTopology.maximumMasters {
        asked.formUnion(next)
        for result in await ask(next) {
          do { views.append(try result.get()) } catch { failure = error }
        }
        topology = RedisTopology(views)
        next = (topology.map { Set($0.masters.map(\.address)) } ?? seeds).subtracting(asked)
        // Nobody has to wait for masters that do not answer.
        if let topology, known.isEmpty { await use(topology) }
      }
      if let topology { await use(topology) }
      if !views.isEmpty {
        failure = LarderError(.remote, "The server \(server) knows of no cluster with slots.")
      }
      state.withLock { $0.failure = topology == nil ? failure : nil }
    }

    private func ask(
      _ addresses: Set<RemoteAddress>
    ) async -> [Result<RedisView, LarderError>] {
      await withTaskGroup(of: Result<RedisView, LarderError>.self) { group in
        for address in addresses {
          group.addTask { [self] in
            do {
              let connection = try connection(to: address)
              let replies = try await connection.send(RedisView.commands, patience: nil)
              return .success(try RedisView(replies, from: address))
            } catch {
              return .failure(
                error as? LarderError
                  ?? LarderError(.remote, "Could not ask \(address).", cause: error))
            }
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
    }

    /// Goes by a map from now on.
    private func use(_ topology: RedisTopology) async {
      await withCheckedContinuation { continuation in
        loop.execute { [self] in
          change(to: topology)
          continuation.resume()
        }
      }
    }

    /// On the event loop.
    private func change(to topology: RedisTopology) {
      let (sink, retired) = state.withLock { state in
        if state.isClosed { return (nil as (@Sendable (RemoteEvent) -> Void)?, [Node]()) }
        let old = state.topology
        state.topology = topology
        if state.timer == nil {
          let interval = max(cluster.pollInterval, .milliseconds(1)).amount
          state.timer = loop.scheduleRepeatedTask(initialDelay: interval, delay: interval) {
            [weak self] _ in self?.poll()
          }
        }
        let addresses = Set(topology.masters.map(\.address))
        let retired = state.nodes.filter { !addresses.contains($0.key) }
        for address in retired.keys { state.nodes[address] = nil }
        let isChanged = old != nil && (old != topology || !retired.isEmpty)
        return (isChanged ? state.sink : nil, Array(retired.values))
      }
      sink?(.flushed)
      withExtendedLifetime(retired) {}
    }
  }
#endif
