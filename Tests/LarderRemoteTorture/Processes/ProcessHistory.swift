// SPDX-License-Identifier: MIT

#if Remote
  import Foundation

  /// One history: starts the processes, hurts them and their server until they are done, and has
  /// what they recorded checked.
  final class ProcessHistory {
    /// A process, of which one after the other may be a slot's.
    private struct Machine {
      let child: Child
      let orders: ClientOrders
      var diedAt: UInt64?
    }

    private let options: Options
    private let folder: URL
    private let seconds: Double
    private let seed: UInt64
    private var dice: Dice
    private var server: Server
    private let proxy: Proxy
    private let proxyPort: Int
    private let keys: Int
    private let operationsEach: Int
    private let localLifetime: Int
    private let grace: Int
    private let end: UInt64
    /// Of a slot the last one runs.
    private var slots: [[Machine]] = []
    private var machineCount = 0
    private var clearings: [Clearing] = []
    private var tally = Tally()

    init(_ seed: UInt64, _ options: Options, _ parent: URL, seconds: Double) throws {
      self.options = options
      self.seed = seed
      self.seconds = seconds
      folder = parent.appendingPathComponent("history-\(seed)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
      dice = Dice(seed)
      server = try Server(in: folder.path)
      proxy = Proxy(to: server.port)
      proxyPort = try proxy.start()
      let count = options.isShort ? 3 : dice.between(2, 8)
      keys = dice.between(8, 64)
      let operations = options.isShort ? min(options.operations, 6000) : options.operations
      operationsEach = max(1, operations / count)
      localLifetime = dice.oneIn(3) ? dice.between(100, 2000) : 60_000
      grace = dice.oneIn(4) ? dice.between(100, 3000) : 0
      end = monotonicTime() + UInt64(seconds * 1e9)
      tally.histories = 1
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
          let status = slots[slot][place].child.wait()
          if status != 0 { throw Broken("a process ended with \(status)") }
          slots[slot][place].diedAt = monotonicTime()
        }
      }
      proxy.end()
      server.end()
      let history = try collect()
      return (tally, Checker.check(history))
    }

    private func start(_ slot: Int) throws {
      var orders = ClientOrders()
      orders.port = proxyPort
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
      orders.grace = grace
      orders.ahead = Double(dice.between(-1, 1)) * Double(dice.below(100_000_000))
      machineCount += 1
      tally.processes += 1
      slots[slot].append(Machine(child: try Child(orders.arguments), orders: orders))
    }

    // MARK: - What goes wrong

    private func hurt() throws {
      let all = dice.oneIn(4)
      let time = dice.between(1, 400)
      switch dice.below(20) {
      case 0: try killServer()
      case 1...2: try killClient()
      case 3...4:
        let begin = monotonicTime()
        try server.say("FLUSHALL")
        clearings.append(Clearing(begin: begin, end: monotonicTime(), what: "FLUSHALL"))
        tally.flushes += 1
      case 5...6:
        try server.say("CLIENT KILL TYPE normal")
        tally.cuts += 1
      case 7:
        server.stop()
        usleep(UInt32(time * 1000))
        server.go()
      case 8...15:
        let fault = Proxy.Fault.allCases[dice.below(Proxy.Fault.allCases.count)]
        proxy.harm(fault, dice.below(1000), all: all, milliseconds: time)
        tally.cuts += 1
      default: break
      }
    }

    private func killServer() throws {
      let port = server.port
      let begin = monotonicTime()
      server.end()
      clearings.append(
        Clearing(begin: begin, end: monotonicTime(), what: "the server was killed"))
      tally.serverKills += 1
      usleep(UInt32(dice.between(0, 500) * 1000))
      server = try Server(in: folder.path, port: port)
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
      history.promise.afterLoss += UInt64(grace) * 1_000_000
      // What the system takes to run a process is counted as a stall only if it is long.
      history.promise.margin = 2_000_000_000
      history.promise.expiryMargin = 20_000_000
      for machine in slots.flatMap({ $0 }) {
        let died = machine.diedAt ?? monotonicTime()
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
