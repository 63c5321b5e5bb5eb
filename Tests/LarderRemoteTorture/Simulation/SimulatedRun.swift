// SPDX-License-Identifier: MIT

#if Remote
  import Larder
  import LarderCore
  import LarderRemote

  /// A few machines, a server and a network, from one seed: what each does and what befalls them.
  ///
  /// Unchecked: all of it happens on the thread of the loop.
  final class SimulatedRun: @unchecked Sendable {
    /// What of it the seed decides at the beginning.
    private struct Plan {
      var machines = 2
      var users = 2
      var deeds = 12
      var keys = 2
      var isSlow = false
      var grace: Duration?
      var localLifetime = Duration.seconds(60)
      var loadLease = Duration.seconds(30)
      var remembersAbsence = false
      var latency = (least: 100, most: 2000)
      /// Between two deeds of a user, in microseconds.
      var longestPause = 20_000
      var faults = 0

      init(_ dice: inout Dice) {
        machines = dice.between(2, 3)
        users = dice.between(1, 3)
        deeds = dice.between(6, 20)
        keys = dice.between(1, 3)
        isSlow = dice.oneIn(3)
        if dice.oneIn(5) { grace = .milliseconds(dice.between(100, 5000)) }
        if dice.oneIn(4) { localLifetime = .milliseconds(dice.between(5, 2000)) }
        if dice.oneIn(4) { loadLease = .milliseconds(dice.between(1, 100)) }
        remembersAbsence = dice.oneIn(4)
        if dice.oneIn(3) { latency = (1000, 20_000) }
        if dice.oneIn(3) { longestPause = 1_000_000 }
        faults = dice.oneIn(4) ? 0 : dice.between(1, 6)
      }
    }

    private let loop = VirtualLoop.shared
    private var dice: Dice
    private let plan: Plan
    private let server: SimulatedServer
    private let network: SimulatedNetwork
    private var caches: [Cache<Int, Stamped>] = []
    private var connections: [SimulatedConnection] = []
    private var history = History()
    private var nextValue: [UInt64] = []
    private var working = 0
    private var isClosed = false
    /// Which load each loader ran for.
    private var loaders: [Int: Int] = [:]

    /// All that happened, as one number.
    private(set) var trace: UInt64 = 0xCBF2_9CE4_8422_2325
    var deeds: Int { history.deeds.count }

    init(seed: UInt64, _ plant: Plant?) throws {
      loop.reset()
      ChanceOfAll.dice = Dice(seed, salt: 1)
      var dice = Dice(seed, salt: 2)
      plan = Plan(&dice)
      server = SimulatedServer(expiryDelay: dice.microseconds(0, 120_000))
      self.dice = dice
      network = SimulatedNetwork(server, Dice(seed, salt: 3), latency: plan.latency)
      history.promise = promise()
      nextValue = [UInt64](repeating: 0, count: plan.machines)
      // Calendars differ, by years.
      for machine in 0..<plan.machines { try add(machine, seed, plant) }
      network.heard = { [unowned self] machine, sent in heed(machine, since: sent) }
    }

    private func promise() -> Promise {
      var promise = Promise()
      promise.afterLoss =
        SimulatedConnection.keepAlive + SimulatedConnection.timeout
        + nanoseconds(plan.grace ?? .zero)
      promise.localLifetime = nanoseconds(plan.localLifetime)
      // A message may be stalled for so long, and a machine hears of the end only behind it.
      promise.margin = 600_000_000
      return promise
    }

    private func add(_ machine: Int, _ seed: UInt64, _ plant: Plant?) throws {
      let salt = UInt64(machine * 10)
      let base = SimulatedConnection(network, machine, Dice(seed, salt: salt + 4))
      base.lost = { [unowned self] machine in
        if plan.grace == nil { heed(machine, since: loop.stamp()) }
      }
      connections.append(base)
      let connection = PlantedConnection(base, plant) {
        try? await VirtualLoop.shared.sleep(.milliseconds(3))
      }
      let clock = loop.clock(ahead: Double(dice.below(2) * machine) * 40_000_000)
      var remote = RemoteTierConfiguration()
      remote.keyPrefix = Stamped.prefix
      remote.clock = clock
      remote.localLifetime = plan.localLifetime
      remote.loadLease = plan.loadLease
      if let grace = plan.grace { remote.onDisconnect = .serveStale(for: grace) }
      let tier = try RemoteTier(
        name: "torture", connection: connection, coder: Stamped.coder,
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
      return UInt64(machine) << 40 | nextValue[machine]
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
      let horizon = plan.deeds * plan.longestPause / 3
      for _ in 0..<plan.faults {
        loop.at(loop.now + dice.microseconds(1000, horizon + 2000)) { [self] in fault() }
      }
    }

    private func fault() {
      switch dice.below(8) {
      case 0: server.flush()
      case 1:
        guard server.isUp else { return }
        network.dropAll()
        server.restart(false)
        loop.after(dice.microseconds(1000, 300_000)) { [self] in server.restart(true) }
      case 2: network.dropAll()
      default: network.harm(SimulatedNetwork.Fault.allCases[dice.below(5)])
      }
    }

    // MARK: - The end

    /// - Returns: What should not have been.
    func run() throws -> [Violation] {
      scheduleFaults()
      let hour: UInt64 = 3_600_000_000_000
      guard loop.run(limit: hour, until: { working == 0 }) else {
        throw Broken("after an hour \(working) users still wait: something is never answered")
      }
      if let unknown = server.unknown {
        throw Broken("the simulated server does not know \(unknown)")
      }
      history.changes = server.changes
      history.clearings = server.clearings
      for (loader, load) in loaders {
        history.deeds[loader].end = max(history.deeds[loader].end, history.deeds[load].end)
      }
      for barriers in history.barriers {
        history.barriers[barriers.key]?.sort { $0.begin < $1.begin }
      }
      let violations = Checker.check(history)
      try end(hour)
      return violations
    }

    private func end(_ hour: UInt64) throws {
      let caches = caches
      Task.detached { [self] in
        for cache in caches { try? await cache.close() }
        isClosed = true
      }
      _ = loop.run(limit: loop.now + hour, until: { isClosed })
      self.caches = []
      network.heard = { _, _ in }
      for connection in connections { connection.lost = { _ in } }
      connections = []
      // What is left wakes up, and ends.
      _ = loop.run(limit: loop.now + hour, until: { false })
      ChanceOfAll.dice = nil
    }
  }
#endif
