// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderTestSupport

  /// One history: starts the processes, hurts them and their server until they are done, and has
  /// what they recorded checked.
  final class ProcessHistory {
    /// A process, of which one after the other may be a slot's.
    private struct Machine {
      let child: Child
      let orders: ClientOrders
      var diedAt: UInt64?
    }

    private let options: RemoteOptions
    private let folder: URL
    private let seconds: Double
    private let seed: UInt64
    private var dice: Dice
    private let servers: Servers
    private let keys: Int
    private let operationsEach: Int
    private let localLifetime: Int
    private let disconnection: Disconnection
    /// Whether some values are too large for the server.
    private let hasLarge: Bool
    /// Milliseconds.
    private let pollInterval: Int
    private let end: UInt64
    /// Of a slot the last one runs.
    private var slots: [[Machine]] = []
    private var machineCount = 0
    private var clearings: [Clearing] = []
    private var tally = Tally()

    init(
      _ seed: UInt64, _ options: RemoteOptions, _ parent: URL, isCluster: Bool, seconds: Double
    ) throws {
      self.options = options
      self.seed = seed
      self.seconds = seconds
      folder = parent.appendingPathComponent("history-\(seed)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
      dice = Dice(seed)
      let count = options.isShort ? 3 : dice.between(2, 8)
      keys = dice.between(8, 64)
      servers = try Servers(
        in: folder, isCluster: isCluster, keys: keys,
        trackedLimit: dice.oneIn(3) ? 4 : 1_000_000)
      let operations = options.isShort ? min(options.operations, 6000) : options.operations
      operationsEach = max(1, operations / count)
      localLifetime = dice.oneIn(3) ? dice.between(100, 2000) : 60_000
      disconnection = Disconnection(&dice, grace: 100...3000)
      pollInterval = dice.between(20, 500)
      hasLarge = dice.oneIn(3) || options.plant == .noStandIn
      end = monotonicTime() + UInt64(seconds * 1e9)
      tally.histories = 1
      tally.clusters = isCluster ? 1 : 0
      for slot in 0..<count {
        slots.append([])
        try start(slot)
      }
    }

    func run() throws -> (Tally, [Violation]) {
      defer { try? FileManager.default.removeItem(at: folder) }
      while slots.contains(where: { $0.last?.child.isRunning ?? false }) {
        usleep(UInt32(dice.between(20, 400) * 1000))
        if monotonicTime() >= end + 10_000_000_000 { throw Broken("a process never ended") }
        try hurt()
      }
      for slot in slots.indices {
        for place in slots[slot].indices where slots[slot][place].diedAt == nil {
          let ending = slots[slot][place].child.wait()
          if ending != .status(0) { throw Broken("a process ended with \(ending)") }
          slots[slot][place].diedAt = monotonicTime()
        }
      }
      servers.end()
      let history = try collect()
      return (tally, Checker.check(history))
    }

    private func start(_ slot: Int) throws {
      var orders = ClientOrders()
      orders.ports = servers.ports.shuffled(using: &dice)
      orders.machine = machineCount
      orders.file = folder.appendingPathComponent("records-\(machineCount)").path
      orders.operations = operationsEach
      orders.seconds = max(0.5, (Double(end) - Double(monotonicTime())) / 1e9)
      orders.capacity = operationsEach + Int(orders.seconds * 200) + 100
      // Every other one has a disk, which the next process in its place finds again.
      if slot % 2 == 0 { orders.folder = folder.appendingPathComponent("cache-\(slot)").path }
      orders.seed = seed
      orders.keys = keys
      orders.tasks = dice.between(1, 4)
      orders.plant = options.plant
      orders.localLifetime = localLifetime
      orders.disconnection = disconnection
      orders.hasLarge = hasLarge
      orders.pollInterval = pollInterval
      orders.ahead = Double(dice.between(-1, 1)) * Double(dice.below(100_000_000))
      machineCount += 1
      tally.processes += 1
      slots[slot].append(Machine(child: try Child(remote: orders.arguments), orders: orders))
    }

    // MARK: - What goes wrong

    private func hurt() throws {
      let all = dice.oneIn(4)
      let time = dice.between(1, 400)
      let place = dice.below(servers.all.count)
      let server = servers.all[place]
      if servers.isCluster, !dice.oneIn(3), try servers.moveOn(&dice) { tally.moves += 1 }
      switch dice.below(20) {
      case 0 where !servers.isMoving:
        let begin = monotonicTime()
        try servers.kill(place) { [self] in
          clear(place, since: begin, "server \(place) was killed")
          usleep(UInt32(dice.between(0, 500) * 1000))
        }
        tally.serverKills += 1
      case 1...2: try killClient()
      case 3...4:
        let begin = monotonicTime()
        try server.say("FLUSHALL")
        clear(place, since: begin, "FLUSHALL of server \(place)")
        tally.flushes += 1
      case 5...6:
        try server.say("CLIENT", "KILL", "TYPE", "normal")
        tally.cuts += 1
      case 7:
        server.stop()
        usleep(UInt32(time * 1000))
        server.go()
      case 8...15:
        let fault = Proxy.Fault.allCases[dice.below(Proxy.Fault.allCases.count)]
        servers.harm(place, fault, dice.below(1000), all: all, milliseconds: time)
        tally.cuts += 1
      default: break
      }
    }

    /// A server has forgotten all it had.
    private func clear(_ place: Int, since begin: UInt64, _ what: String) {
      let end = monotonicTime()
      var clearing = Clearing(begin: begin, end: end, what: what)
      clearing.keys = servers.keys(of: place)?.subtracting(servers.movingKeys)
      clearings.append(clearing)
      if !servers.isMoving { return }
      (clearing.keys, clearing.isKnown) = (servers.movingKeys, false)
      clearings.append(clearing)
    }

    private func killClient() throws {
      let slot = dice.below(slots.count)
      guard let last = slots[slot].last, last.child.isRunning else { return }
      last.child.kill()
      _ = last.child.wait()
      slots[slot][slots[slot].count - 1].diedAt = monotonicTime()
      tally.clientKills += 1
      if monotonicTime() < end { try start(slot) }
    }

    // MARK: - What was recorded

    private func collect() throws -> History {
      var history = History()
      history.clearings = clearings
      history.promise.localLifetime = UInt64(localLifetime) * 1_000_000
      history.promise.afterLoss += nanoseconds(disconnection.grace)
      if servers.isCluster { history.promise.afterLoss += 250_000_000 }
      // What the system takes to run a process is counted as a stall only if it is long.
      history.promise.margin = 2_000_000_000
      // A key that moves takes its remaining life along.
      history.promise.expiryMargin = servers.isCluster ? 500_000_000 : 20_000_000
      for machine in slots.flatMap({ $0 }) {
        let died = machine.diedAt ?? monotonicTime()
        let folder = machine.orders.folder
        if !folder.isEmpty { history.disks[machine.orders.machine] = folder.hashValue }
        let records = try Records(machine.orders.file, capacity: machine.orders.capacity)
        let first = history.deeds.count
        for record in records.all { add(record, machine.orders.machine, died, &history) }
        endLoaders(&history.deeds[first...], died)
      }
      for machine in history.barriers.keys {
        history.barriers[machine]?.sort { $0.begin < $1.begin }
        tally.barriers += history.barriers[machine]?.count ?? 0
      }
      return history
    }

    /// What a loader made is stored before the load ends, and shared with those who wait for it.
    private func endLoaders(_ deeds: inout ArraySlice<Deed>, _ died: UInt64) {
      struct Load: Hashable {
        let key: Int
        let begin: UInt64
      }
      var ends: [Load: UInt64] = [:]
      for deed in deeds where deed.kind == .load {
        ends[Load(key: deed.key, begin: deed.begin)] = deed.end
      }
      for place in deeds.indices where deeds[place].kind == .loader {
        let load = Load(key: deeds[place].key, begin: deeds[place].begin)
        deeds[place].end = max(deeds[place].end, ends[load] ?? died)
      }
    }

    private func add(
      _ record: Records.Record, _ machine: Int, _ died: UInt64, _ history: inout History
    ) {
      let time = Barrier(begin: record.begin, end: record.end)
      if record.kind == Records.barrier { history.barriers[machine, default: []].append(time) }
      if record.kind == Records.stall { history.stalls[machine, default: []].append(time) }
      guard let kind = Deed.Kind(rawValue: record.kind) else { return }
      var deed = Deed()
      (deed.kind, deed.key, deed.machine) = (kind, Int(record.key), machine)
      (deed.begin, deed.value, deed.life) = (record.begin, record.value, record.life)
      deed.end = record.state == Records.begun ? died : record.end
      deed.isKnown = record.state == Records.known
      deed.isForeign = record.isForeign != 0
      if kind == .loader {
        // What was cancelled made nothing; what a killed process had begun had not yet.
        if record.state != Records.known { return }
        deed.isKnown = false
        deed.loader = (record.loaderBegin, record.loaderEnd, record.loaderValue)
        deed.end = record.loaderEnd
        return history.deeds.append(deed)
      }
      tally.operations += 1
      if !deed.isKnown { tally.failedOperations += 1 }
      history.deeds.append(deed)
    }
  }
#endif
