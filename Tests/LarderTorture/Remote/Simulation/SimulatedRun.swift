// SPDX-License-Identifier: MIT

#if Remote
  import Larder
  import LarderCore
  import LarderRemote
  import LarderTestSupport

  /// A few machines, a server or a cluster, and a network, from one seed: what each does and what
  /// befalls them.
  ///
  /// Unchecked: all of it happens on the thread of the loop.
  final class SimulatedRun: @unchecked Sendable {
    private let loop = VirtualLoop.shared
    private var dice: Dice
    private let plan: SimulatedPlan
    private let record = SimulatedServer.Record()
    /// One, or those of a cluster, and the network to each.
    private let servers: [SimulatedServer]
    private let networks: [SimulatedNetwork]
    private let cluster: SimulatedCluster?
    private var caches: [Cache<Int, Stamped>] = []
    private var connections: [Weak] = []
    /// Which servers have answered a machine that asked all of them for the map, and when it did.
    private var polls: [Int: (begin: UInt64, at: UInt64, answers: Int)] = [:]
    private var history = History()
    private var nextValue: [UInt64] = []
    private var working = 0
    private var isClosed = false
    /// Which load each loader ran for.
    private var loaders: [Int: Int] = [:]

    /// All that happened, as one number.
    private(set) var trace: UInt64 = 0xCBF2_9CE4_8422_2325
    var deeds: Int { history.deeds.count }
    var isCluster: Bool { plan.isCluster }
    /// What should not have been.
    private(set) var violations: [Violation] = []

    private struct Weak {
      weak var connection: SimulatedConnection?
    }

    /// - Parameter isCluster: nil: the seed decides.
    init(seed: UInt64, _ plant: RemotePlant?, isCluster: Bool? = nil) throws {
      loop.reset()
      ChanceOfAll.dice = Dice(seed, salt: 1)
      var dice = Dice(seed, salt: 2)
      let plan = SimulatedPlan(&dice, isCluster: isCluster)
      self.plan = plan
      let record = record
      servers = (0..<(plan.isCluster ? SimulatedCluster.count : 1)).map { _ in
        SimulatedServer(
          record, expiryDelay: dice.microseconds(0, 120_000), trackedLimit: plan.trackedLimit)
      }
      networks = servers.enumerated().map { index, server in
        SimulatedNetwork(server, Dice(seed, salt: 3 + 1000 * UInt64(index)), latency: plan.latency)
      }
      let keys = (0..<plan.keys).map { Stamped.remoteKey($0) }
      cluster =
        plan.isCluster
        ? SimulatedCluster(servers, keys: keys, Dice(seed, salt: 7), longestStep: plan.longestStep)
        : nil
      self.dice = dice
      history.promise = plan.promise
      nextValue = [UInt64](repeating: 0, count: plan.machines)
      // Calendars differ, by years.
      for machine in 0..<plan.machines { try add(machine, seed, plant) }
      if plan.isCluster { return }
      networks[0].heard = { [unowned self] machine, sent in heed(machine, since: sent) }
    }

    private func add(_ machine: Int, _ seed: UInt64, _ plant: RemotePlant?) throws {
      let salt = UInt64(machine * 10)
      let nodes = NodeEvents()
      let base =
        plan.isCluster
        ? try clusterConnection(machine, seed, plant, nodes)
        : connect(machine, 0, Dice(seed, salt: salt + 4))
      let connection = PlantedConnection(
        base, plant, nodes, pause: { try? await VirtualLoop.shared.sleep(.milliseconds(3)) },
        sending: { [record] in record.sending($0) })
      let clock = loop.clock(ahead: Double(dice.below(2) * machine) * 40_000_000)
      var remote = RemoteTierConfiguration()
      remote.keyPrefix = Stamped.prefix
      remote.clock = clock
      remote.localLifetime = plan.localLifetime
      remote.loadLease = plan.loadLease
      remote.onDisconnect = plan.disconnection.policy
      if plan.hasLarge { remote.maximumValueBytes = Stamped.largeByteCount / 2 }
      let tier = try RemoteTier(
        name: "torture", connection: connection, coder: record.coder,
        keyCoder: Stamped.keyCoder, configuration: remote)
      var configuration = CacheConfiguration<Int, Stamped>()
      configuration.clock = clock
      // Neither may have a thread or a clock of its own.
      configuration.memory.releasesAsynchronously = false
      configuration.memory.autoTrimInterval = .zero
      if plan.remembersAbsence { configuration.negativeLifetime = .milliseconds(100) }
      let slow = plan.isSlow ? [SlowTier(Dice(seed, salt: salt + 5), clock)] : []
      // It empties the slow tier, and blocks until that is done.
      loop.runsAtOnce = true
      caches.append(Cache(name: "torture", tiers: slow + [tier], configuration: configuration))
      loop.runsAtOnce = false
      for user in 0..<plan.users { work(machine, Dice(seed, salt: salt + 100 * UInt64(user) + 6)) }
    }

    private func connect(_ machine: Int, _ server: Int, _ dice: Dice) -> SimulatedConnection {
      let connection = SimulatedConnection(networks[server], machine, dice)
      connection.lost = { [unowned self] machine in
        if plan.disconnection.grace == .zero { heed(machine, since: loop.stamp()) }
      }
      connections.append(Weak(connection: connection))
      return connection
    }

    /// What the library has for a cluster, over simulated connections.
    private func clusterConnection(
      _ machine: Int, _ seed: UInt64, _ plant: RemotePlant?, _ nodes: NodeEvents
    ) throws -> any RemoteConnection {
      var server = RemoteServer(host: "127.0.0.1", port: 7000 + dice.below(servers.count))
      server.timeout = .nanoseconds(Int64(SimulatedConnection.timeout))
      server.cluster = RemoteCluster(
        seeds: dice.oneIn(2) ? [] : servers.indices.map { SimulatedCluster.address($0) })
      server.cluster?.pollInterval = plan.pollInterval
      let start = ContinuousClock.now
      let world = RedisClusterWorld(
        loop: SimulatedEventLoop.shared,
        now: { start + .nanoseconds(Int64(VirtualLoop.shared.now)) },
        connect: { [unowned self] server in
          let index = server.port - 7000
          let salt = UInt64(machine * 10 + 4 + 1000 * (1 + connections.count))
          return PlantedNode(
            connect(machine, index, Dice(seed, salt: salt)), plant, nodes,
            asking: { [unowned self] in beginPoll(machine) },
            asked: { [unowned self] in endPoll(machine, $0) })
        })
      return try RedisClusterConnection(server, world)
    }

    /// All servers are asked at the same time, if they are known.
    private func beginPoll(_ machine: Int) -> UInt64 {
      if polls[machine]?.at != loop.now { polls[machine] = (loop.stamp(), loop.now, 0) }
      return polls[machine]?.begin ?? 0
    }

    /// What a machine has been told by all servers it has heeded, and where the slots were.
    private func endPoll(_ machine: Int, _ begin: UInt64) {
      guard polls[machine]?.begin == begin else { return }
      polls[machine]?.answers += 1
      if polls[machine]?.answers == servers.count { heed(machine, since: begin) }
    }

    /// What a machine was told has been heeded when none of its tasks is runnable any more; over a
    /// slow tier somewhat later.
    private func heed(_ machine: Int, since begin: UInt64) {
      loop.whenIdle { [self] in
        let end = loop.stamp() + (plan.isSlow ? UInt64(SlowTier.slowest) * 100_000 : 0)
        history.barriers[machine, default: []].append(Barrier(begin: begin, end: end))
      }
    }

    // MARK: - What is done

    private func work(_ machine: Int, _ dice: Dice) {
      working += 1
      Task.detached { [self] in
        var dice = dice
        for _ in 0..<plan.deeds {
          let pause = dice.oneIn(3) ? 0 : Int64(dice.microseconds(0, plan.longestPause))
          if pause > 0 { try? await loop.sleep(.nanoseconds(pause)) }
          await act(machine, &dice)
        }
        working -= 1
      }
    }

    private func act(_ machine: Int, _ dice: inout Dice) async {
      let cache = caches[machine]
      var deed = Deed()
      deed.machine = machine
      deed.key = dice.below(plan.keys)
      let choice = dice.below(20)
      deed.kind = choice < 11 ? .read : choice < 15 ? .load : choice < 19 ? .set : .remove
      let key = deed.key
      let place = history.deeds.count
      if deed.kind == .set { deed.value = newValue(machine) }
      let life = deed.kind == .set && dice.oneIn(5) ? dice.between(1, 300) : 0
      deed.life = UInt64(life) * 1_000_000
      deed.begin = loop.stamp()
      deed.end = .max
      history.deeds.append(deed)
      do {
        switch deed.kind {
        case .read: found(try await cache.value(forKey: key), place)
        case .load:
          let time = dice.oneIn(3) ? 0 : dice.microseconds(0, 100_000)
          let value = try await cache.value(forKey: key) { [self] in
            try await load(place, .nanoseconds(Int64(time)))
          }
          found(value, place)
        case .set:
          try await cache.set(
            Stamped(key: key, id: deed.value), forKey: key,
            expiration: life > 0 ? .after(.milliseconds(life)) : nil)
        case .remove: try await cache.remove(forKey: key)
        case .loader: break
        }
        history.deeds[place].isKnown = true
      } catch {}
      history.deeds[place].end = loop.stamp()
      note(history.deeds[place])
    }

    private func found(_ value: Stamped?, _ place: Int) {
      history.deeds[place].value = value?.id ?? 0
      if let value { history.deeds[place].isForeign = value.key != history.deeds[place].key }
    }

    /// May run more than once for a load.
    private func load(_ place: Int, _ time: Duration) async throws -> Stamped {
      var deed = Deed()
      deed.kind = .loader
      deed.key = history.deeds[place].key
      deed.machine = history.deeds[place].machine
      deed.begin = history.deeds[place].begin
      let value = newValue(deed.machine)
      let begin = loop.stamp()
      if time > .zero { try await loop.sleep(time) }
      deed.end = loop.stamp()
      deed.loader = (begin, deed.end, value)
      loaders[history.deeds.count] = place
      history.deeds.append(deed)
      return Stamped(key: deed.key, id: value)
    }

    private func newValue(_ machine: Int) -> ValueID {
      nextValue[machine] += 1
      let large = plan.hasLarge && dice.oneIn(3) ? largeBit : 0
      return UInt64(machine) << 40 | large | nextValue[machine]
    }

    private func note(_ deed: Deed) {
      for number in [
        deed.begin, deed.end, deed.value, UInt64(deed.key), UInt64(deed.kind.rawValue),
        deed.isKnown ? 1 : 0,
      ] {
        trace = (trace ^ number) &* 0x100_0000_01B3
      }
    }

    // MARK: - What goes wrong

    private func scheduleFaults() {
      for _ in 0..<plan.faults {
        loop.at(loop.now + dice.microseconds(1000, plan.horizon)) { [self] in fault() }
      }
      for _ in 0..<plan.moves {
        loop.at(loop.now + dice.microseconds(1000, plan.horizon)) { [self] in cluster?.move() }
      }
    }

    private func fault() {
      let place = dice.below(servers.count)
      let (server, network) = (servers[place], networks[place])
      switch dice.below(8) {
      case 0: server.flush()
      case 1:
        guard server.isUp else { return }
        network.dropAll()
        server.restart(false)
        loop.after(dice.microseconds(1000, 300_000)) { server.restart(true) }
      case 2: network.dropAll()
      default: network.harm(SimulatedNetwork.Fault.allCases[dice.below(5)])
      }
    }

    // MARK: - The end

    func run() throws {
      scheduleFaults()
      let hour: UInt64 = 3_600_000_000_000
      guard loop.run(limit: hour, until: { working == 0 }) else {
        throw Broken("after an hour \(working) users still wait: something is never answered")
      }
      if let unknown = record.unknown {
        throw Broken("the simulated server does not know \(unknown)")
      }
      history.changes = record.changes
      history.clearings = record.clearings
      for (loader, load) in loaders {
        history.deeds[loader].end = max(history.deeds[loader].end, history.deeds[load].end)
      }
      for barriers in history.barriers {
        history.barriers[barriers.key]?.sort { $0.begin < $1.begin }
      }
      violations = Checker.check(history)
      try end(hour)
    }

    private func end(_ hour: UInt64) throws {
      let caches = caches
      Task.detached { [self] in
        for cache in caches { try? await cache.close() }
        isClosed = true
      }
      _ = loop.run(limit: loop.now + hour, until: { isClosed })
      self.caches = []
      for network in networks { network.heard = { _, _ in } }
      for weak in connections { weak.connection?.lost = { _ in } }
      connections = []
      // What is left wakes up, and ends.
      _ = loop.run(limit: loop.now + hour, until: { false })
      ChanceOfAll.dice = nil
    }
  }
#endif
