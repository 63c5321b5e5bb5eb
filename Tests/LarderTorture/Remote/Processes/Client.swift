// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import Larder
  import LarderCore
  import LarderRemote
  import LarderTestSupport
  import Synchronization

  /// What a client is told.
  struct ClientOrders {
    /// Of the server, or of those of a cluster.
    var ports: [Int] = []
    var file = ""
    var capacity = 0
    /// For its disk; empty: it has none.
    var folder = ""
    var machine = 0
    var seed: UInt64 = 0
    var operations = 0
    var keys = 0
    var tasks = 0
    var seconds = 0.0
    var plant: RemotePlant?
    var localLifetime = 0
    var disconnection = Disconnection.drop
    var hasLarge = false
    var ahead = 0.0
    /// Milliseconds.
    var pollInterval = 0

    var arguments: [String] {
      [
        "--area", "remote", "--client", ports.map(String.init).joined(separator: ","), file,
        "\(capacity)", folder,
        "\(machine)", "\(seed)", "\(operations)", "\(keys)", "\(tasks)", "\(seconds)",
        plant?.rawValue ?? "", "\(localLifetime)", "\(disconnection.number)", "\(ahead)",
        "\(pollInterval)", "\(hasLarge)",
      ]
    }

    init() {}

    init(_ words: [String]) throws {
      guard words.count == 16, let capacity = Int(words[2]),
        let machine = Int(words[4]), let seed = UInt64(words[5]), let operations = Int(words[6]),
        let keys = Int(words[7]), let tasks = Int(words[8]), let seconds = Double(words[9]),
        let localLifetime = Int(words[11]),
        let disconnection = Int(words[12]), let ahead = Double(words[13]),
        let pollInterval = Int(words[14]), let hasLarge = Bool(words[15])
      else { throw UsageError("--client is not for people") }
      ports = words[0].split(separator: ",").compactMap { Int($0) }
      (file, self.capacity, folder) = (words[1], capacity, words[3])
      (self.machine, self.seed, self.operations) = (machine, seed, operations)
      (self.keys, self.tasks, self.seconds) = (keys, tasks, seconds)
      plant = RemotePlant(rawValue: words[10])
      (self.localLifetime, self.ahead, self.pollInterval) = (localLifetime, ahead, pollInterval)
      self.disconnection = Disconnection(disconnection)
      self.hasLarge = hasLarge
    }

    func connect() throws -> PlantedConnection {
      let addresses = ports.map { RemoteAddress(host: "127.0.0.1", port: $0) }
      guard let first = addresses.first else { throw UsageError("--client has no port") }
      var server = RemoteServer(host: first.host, port: first.port)
      server.security = .plaintext
      let nodes = NodeEvents()
      let base: any RemoteConnection
      if addresses.count > 1 {
        server.cluster = RemoteCluster(seeds: Array(addresses.dropFirst()))
        server.cluster?.pollInterval = .milliseconds(pollInterval)
        var world = try RedisClusterWorld(server)
        let (connect, plant) = (world.connect, plant)
        world.connect = { PlantedNode(try connect($0), plant, nodes) }
        base = try RedisClusterConnection(server, world)
      } else {
        base = try RedisConnection(server)
      }
      return PlantedConnection(base, plant, nodes) { try? await Task.sleep(for: .milliseconds(3)) }
    }
  }

  /// A process with a cache over the server, which does as it was told until it is done or killed.
  final class Client: Sendable {
    private let orders: ClientOrders
    private let records: Records
    private let cache: Cache<Int, Stamped>
    private let connection: PlantedConnection
    private let nextValue = Atomic<UInt64>(0)
    private let isOver = Atomic(false)
    /// No key of anybody's.
    private let ownKey = 1_000_000

    init(_ words: [String]) throws {
      let orders = try ClientOrders(words)
      self.orders = orders
      records = try Records(orders.file, capacity: orders.capacity)
      let ahead = orders.ahead
      let clock = CacheClock(
        now: { .nanoseconds(Int64(monotonicTime())) }, date: { Date() + ahead })
      connection = try orders.connect()
      var remote = RemoteTierConfiguration()
      remote.keyPrefix = Stamped.prefix
      remote.clock = clock
      remote.localLifetime = .milliseconds(orders.localLifetime)
      remote.onDisconnect = orders.disconnection.policy
      if orders.hasLarge { remote.maximumValueBytes = Stamped.largeByteCount / 2 }
      let tier = try RemoteTier(
        name: "torture", connection: connection, coder: Stamped.coder,
        keyCoder: Stamped.keyCoder, configuration: remote)
      var configuration = CacheConfiguration<Int, Stamped>()
      configuration.clock = clock
      if orders.folder.isEmpty {
        cache = Cache(name: "torture", tiers: [tier], configuration: configuration)
      } else {
        configuration.furtherTiers = [tier]
        cache = try Cache(
          at: .path(orders.folder), coder: Stamped.coder, keyCoder: Stamped.keyCoder,
          configuration: configuration)
      }
    }

    /// Returns when all is done, or the time is up.
    func live() throws {
      let end = monotonicTime() + UInt64(orders.seconds * 1e9)
      let done = DispatchSemaphore(value: 0)
      Task.detached { [self] in
        await withTaskGroup(of: Void.self) { group in
          for task in 0..<orders.tasks {
            let salt = UInt64(orders.machine * 100 + task)
            group.addTask { await self.work(Dice(self.orders.seed, salt: salt), until: end) }
          }
        }
        isOver.store(true, ordering: .releasing)
        done.signal()
      }
      Task.detached { await self.putBarriers() }
      Task.detached { await self.watchStalls() }
      done.wait()
    }

    private func work(_ dice: Dice, until end: UInt64) async {
      var dice = dice
      for _ in 0..<max(1, orders.operations / orders.tasks) {
        if monotonicTime() >= end { return }
        // An operation that fails at once is not to use up all of them.
        if await !act(&dice) { try? await Task.sleep(for: .milliseconds(5)) }
      }
    }

    /// - Returns: Whether it did not fail.
    private func act(_ dice: inout Dice) async -> Bool {
      // Some keys are much more in demand.
      let key = dice.oneIn(2) ? dice.below(max(1, orders.keys / 8)) : dice.below(orders.keys)
      let choice = dice.below(100)
      let kind: Deed.Kind =
        choice < 80 ? .read : choice < 88 ? .load : choice < 97 ? .set : .remove
      let life = kind == .set && dice.oneIn(8) ? dice.between(1, 500) : 0
      let loading = kind == .load && dice.oneIn(2) ? dice.between(0, 20) : 0
      var record = Records.Record()
      record.key = UInt32(key)
      record.kind = kind.rawValue
      record.life = UInt64(life) * 1_000_000
      record.state = Records.begun
      if kind == .set { record.value = newValue() }
      record.begin = monotonicTime()
      guard let place = records.add(record) else { return true }
      var isKnown = false
      do {
        switch kind {
        case .read: found(try await cache.value(forKey: key), place)
        case .load:
          let begin = record.begin
          let value = try await cache.value(forKey: key) { [self] in
            try await load(key, begin, .milliseconds(loading))
          }
          found(value, place)
        case .set:
          try await cache.set(
            Stamped(key: key, id: record.value), forKey: key,
            expiration: life > 0 ? .after(.milliseconds(life)) : nil)
        case .remove: try await cache.remove(forKey: key)
        case .loader: break
        }
        isKnown = true
      } catch {}
      place.pointee.end = monotonicTime()
      place.pointee.state = isKnown ? Records.known : Records.failed
      return isKnown
    }

    private func found(_ value: Stamped?, _ place: UnsafeMutablePointer<Records.Record>) {
      place.pointee.value = value?.id ?? 0
      if let value, value.key != Int(place.pointee.key) { place.pointee.isForeign = 1 }
    }

    /// May run more than once for a load.
    private func load(_ key: Int, _ begin: UInt64, _ time: Duration) async throws -> Stamped {
      let value = newValue()
      var record = Records.Record()
      record.key = UInt32(key)
      record.kind = Deed.Kind.loader.rawValue
      record.begin = begin
      record.loaderBegin = monotonicTime()
      record.loaderValue = value
      record.state = Records.begun
      let place = records.add(record)
      if time > .zero {
        do { try await Task.sleep(for: time) } catch {
          place?.pointee.state = Records.failed
          throw error
        }
      }
      place?.pointee.loaderEnd = monotonicTime()
      place?.pointee.state = Records.known
      return Stamped(key: key, id: value)
    }

    private func newValue() -> ValueID {
      let number = nextValue.add(1, ordering: .relaxed).newValue
      let large = orders.hasLarge && number % 3 == 0 ? largeBit : 0
      return UInt64(orders.machine) << 40 | large | number
    }

    // MARK: - Barriers

    /// Finds out, again and again, when all has been heeded that the server had to tell.
    ///
    /// In a cluster also where the slots were. The answer to a ping comes behind what was told
    /// before it. What was told the cache is handed in turn; so when it has dropped a copy because
    /// of an event that was made up afterwards, it has dropped the others. It is made up twice, as
    /// the cache may be handed several at once, in any order.
    private func putBarriers() async {
      while !isOver.load(ordering: .acquiring) {
        let begin = monotonicTime()
        var isWhole = await connection.ping()
        if isWhole { for _ in 0..<2 where isWhole { isWhole = await dropOwnKey() } }
        if isWhole { note(Records.barrier, begin, monotonicTime()) }
        try? await Task.sleep(for: .milliseconds(10))
      }
    }

    private func dropOwnKey() async -> Bool {
      cache.memoryCache.set(Stamped(key: ownKey, id: 0), forKey: ownKey)
      connection.inject(.invalidated([Stamped.remoteKey(ownKey)]))
      while cache.memoryCache.contains(ownKey) {
        if isOver.load(ordering: .acquiring) { return false }
        try? await Task.sleep(for: .milliseconds(1))
      }
      return true
    }

    /// When the process does not get to run, it cannot hear in time either.
    private func watchStalls() async {
      var last = monotonicTime()
      while !isOver.load(ordering: .acquiring) {
        try? await Task.sleep(for: .milliseconds(20))
        let now = monotonicTime()
        if now - last > 100_000_000 { note(Records.stall, last, now) }
        last = now
      }
    }

    private func note(_ kind: UInt8, _ begin: UInt64, _ end: UInt64) {
      var record = Records.Record()
      (record.begin, record.end, record.kind) = (begin, end, kind)
      record.state = Records.known
      _ = records.add(record)
    }
  }
#endif
