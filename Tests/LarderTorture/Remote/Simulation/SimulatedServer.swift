// SPDX-License-Identifier: MIT

#if Remote
  import LarderCore
  import LarderRemote

  /// What a server does that a tier uses: keys that expire, tracking with `OPTIN` and `NOLOOP` that
  /// is limited, and the two scripts of a load.
  ///
  /// Of one thread only.
  final class SimulatedServer {
    private struct Entry {
      var bytes: [UInt8]
      var expires: UInt64?
    }

    /// What it has been asked by a client: who, and in what state that is.
    final class Client {
      let machine: Int
      var tracksNext = false
      /// Whether it is told of what happens while its own commands are executed: not with `NOLOOP`.
      var hearsOwn = true
      var isAsking = false
      /// Something of the transaction was refused.
      var isRefused = false
      var isQueueing = false
      var queue: [RemoteCommand] = []
      /// Gets what the server sends unasked.
      var push: (RemoteEvent) -> Void = { _ in }

      init(_ machine: Int) { self.machine = machine }
    }

    private let loop = VirtualLoop.shared
    private var entries: [[UInt8]: Entry] = [:]
    private var tracking: [[UInt8]: [Client]] = [:]
    private(set) var clients: [Client] = []
    /// Late enough for a copy to need a deadline of its own.
    private let expiryDelay: UInt64
    /// Of how many keys it remembers who has read them.
    private let trackedLimit: Int
    private(set) var isUp = true
    private let record: Record
    /// What it knows of the cluster; nil for a server that is alone.
    var member: SimulatedCluster.Member?

    /// What was done by all servers together.
    ///
    /// Unchecked: all of it happens on the thread of the loop.
    final class Record: @unchecked Sendable {
      fileprivate(set) var changes: [Int: [Change]] = [:]
      fileprivate(set) var clearings: [Clearing] = []
      /// A command that no server knows: then there is nothing to be learnt from it.
      fileprivate(set) var unknown: String?
      /// What a tier made bytes of last: it sends them before another task runs.
      private var encoded: ValueID = 0
      private var standIns: [[UInt8]: ValueID] = [:]

      /// A coder as the one of all, which says what stands in for which value.
      var coder: Coder<Stamped> {
        Coder(
          encode: { [self] stamped in
            encoded = stamped.id
            return try Stamped.coder.encode(stamped)
          }, decode: { try Stamped.coder.decode($0) })
      }

      func sending(_ commands: [RemoteCommand]) {
        for standIn in commands.compactMap(\.standIn) { standIns[standIn] = encoded }
      }

      fileprivate func value(of bytes: [UInt8]) -> ValueID {
        guard Stamped.isStandIn(bytes) else { return Stamped(remote: bytes)?.id ?? 0 }
        let value = standIns[bytes] ?? 0
        if !isLarge(value) { unknown = "the value that something stands in for" }
        return value
      }
    }

    init(_ record: Record, expiryDelay: UInt64, trackedLimit: Int) {
      self.record = record
      self.expiryDelay = expiryDelay
      self.trackedLimit = trackedLimit
    }

    func connect(_ client: Client) { clients.append(client) }

    func disconnect(_ client: Client) {
      clients.removeAll { $0 === client }
      for key in tracking.keys { forget(key, client) }
    }

    private func forget(_ key: [UInt8], _ client: Client) {
      tracking[key]?.removeAll { $0 === client }
      if tracking[key]?.isEmpty ?? false { tracking[key] = nil }
    }

    /// - Parameter when: Whether it is to be there, afterwards.
    func restart(_ isUp: Bool) {
      self.isUp = isUp
      if isUp { return }
      clearAll("the server was killed")
      tracking = [:]
      clients = []
    }

    func flush() {
      clearAll("FLUSHALL")
      tracking = [:]
      for client in clients { client.push(.flushed) }
    }

    private func clearAll(_ what: String) {
      let keys = entries.keys.map { ($0, text($0)) }.sorted { $0.1 < $1.1 }
      entries = [:]
      // What the others have stays.
      if member != nil { return keys.forEach { note($0.0, -1) } }
      let now = loop.stamp()
      record.clearings.append(Clearing(begin: now, end: now, what: what))
    }

    // MARK: - Commands

    func execute(_ command: RemoteCommand, _ client: Client) -> RemoteReply {
      if tracking.count > trackedLimit,
        let key = tracking.keys.min(by: { $0.lexicographicallyPrecedes($1) })
      {
        invalidate(key, client)
      }
      switch command.name {
      // Each of the two is for the next command alone: both together cannot be had.
      case "CLIENT" where command.arguments.first == Array("CACHING".utf8):
        (client.tracksNext, client.isAsking) = (true, false)
        return .status("OK")
      case "ASKING":
        (client.tracksNext, client.isAsking) = (false, true)
        return .status("OK")
      case "MULTI":
        client.isQueueing = true
        return .status("OK")
      case "EXEC":
        let (queue, isRefused) = (client.queue, client.isRefused)
        (client.queue, client.isQueueing, client.isRefused) = ([], false, false)
        defer { (client.tracksNext, client.isAsking) = (false, false) }
        if isRefused { return .error("EXECABORT") }
        return .array(queue.map { perform($0, client) })
      default:
        if let refusal = redirect(command, client) {
          if client.isQueueing {
            client.isRefused = true
          } else {
            (client.tracksNext, client.isAsking) = (false, false)
          }
          return refusal
        }
        if client.isQueueing {
          client.queue.append(command)
          return .status("QUEUED")
        }
        defer { (client.tracksNext, client.isAsking) = (false, false) }
        return perform(command, client)
      }
    }

    /// What it says if the command's key is another server's.
    private func redirect(_ command: RemoteCommand, _ client: Client) -> RemoteReply? {
      guard let member, command.name != "CLUSTER", command.name != "CLIENT" else { return nil }
      let place = command.name == "EVAL" ? 2 : 0
      guard command.arguments.count > place else { return nil }
      let key = command.arguments[place]
      expire(key)
      return member.redirect(key, isThere: entries[key] != nil, isAsking: client.isAsking)
    }

    private func perform(_ command: RemoteCommand, _ client: Client) -> RemoteReply {
      let arguments = command.arguments
      switch command.name {
      case "PING": return .status("PONG")
      case "CLIENT":
        client.hearsOwn = !arguments.contains(Array("NOLOOP".utf8))
        return .status("OK")
      case "CLUSTER": return text(arguments[0]) == "NODES" ? member?.nodes ?? .null : .array([])
      case "GET":
        return get(arguments[0], client).map { .bytes($0) } ?? .null
      case "STRLEN": return .integer(Int64(get(arguments[0], client)?.count ?? 0))
      case "GETRANGE":
        let last = Int(text(arguments[2])) ?? 0
        return .bytes(Array((get(arguments[0], client) ?? []).prefix(last + 1)))
      case "PTTL":
        guard get(arguments[0], client) != nil, let entry = entries[arguments[0]] else {
          return .integer(-2)
        }
        guard let expires = entry.expires else { return .integer(-1) }
        return .integer(Int64((expires - min(expires, loop.now)) / 1_000_000))
      case "SET":
        let life = arguments.count == 4 ? UInt64(text(arguments[3])) : nil
        set(arguments[0], arguments[1], life, client)
        return .status("OK")
      case "UNLINK", "DEL":
        return .integer(Int64(arguments.count(where: { remove($0, client) })))
      case "EVAL": return run(arguments, client)
      default:
        record.unknown = command.name
        return .error("ERR")
      }
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// One of the two scripts, by what they do.
    private func run(_ arguments: [[UInt8]], _ client: Client) -> RemoteReply {
      let script = text(arguments[0])
      let key = arguments[2]
      let given = Array(arguments.dropFirst(3))
      // Some look at the beginning of a value alone: the first 17 bytes, or as many as are given.
      let isPart = script.contains("GETRANGE")
      if script.contains("then return v end") {
        if let found = get(key, client) { return .bytes(isPart ? Array(found.prefix(17)) : found) }
        set(key, given[0], UInt64(text(given[1])), client)
        return .null
      }
      guard script.contains("if #ARGV ") else {
        record.unknown = "EVAL of another script"
        return .error("ERR")
      }
      let found = get(key, client)
      let start = isPart ? found.map { Array($0.prefix(given[0].count)) } : found
      if script.contains("~= ARGV[1]"), start != given[0] { return .integer(0) }
      // A planted defect has them remove what stands in for a value.
      let isRemoval = given.count == 1 || !script.contains("#ARGV == 1")
      switch given.count {
      case _ where isRemoval: _ = remove(key, client, standIn: given.dropFirst().first)
      case 2: set(key, given[1], nil, client)
      default: set(key, given[1], UInt64(text(given[2])), client)
      }
      return .integer(1)
    }

    // MARK: - Keys

    private func get(_ key: [UInt8], _ client: Client) -> [UInt8]? {
      expire(key, client)
      if client.tracksNext, !(tracking[key] ?? []).contains(where: { $0 === client }) {
        tracking[key, default: []].append(client)
      }
      return entries[key]?.bytes
    }

    private func set(_ key: [UInt8], _ bytes: [UInt8], _ life: UInt64?, _ client: Client) {
      let expires = life.map { loop.now + $0 * 1_000_000 }
      put(key, Entry(bytes: bytes, expires: expires))
      note(key, client.machine)
      invalidate(key, client)
    }

    private func put(_ key: [UInt8], _ entry: Entry) {
      entries[key] = entry
      guard let expires = entry.expires else { return }
      loop.at(expires + expiryDelay) { [self] in
        if entries[key]?.expires == expires { expire(key) }
      }
    }

    /// Hands an entry to another server of the cluster.
    ///
    /// - Parameter isTold: Whether both tell who tracks the key.
    func pass(_ key: [UInt8], to other: SimulatedServer, isTold: Bool) {
      expire(key)
      guard let entry = entries.removeValue(forKey: key) else { return }
      other.put(key, entry)
      if isTold { for server in [self, other] { server.invalidate(key, nil) } }
    }

    /// - Parameter standIn: What should be there now.
    private func remove(_ key: [UInt8], _ client: Client, standIn: [UInt8]? = nil) -> Bool {
      expire(key, client)
      guard entries.removeValue(forKey: key) != nil else {
        // It has been as the caller wants it since before.
        note(key, client.machine, standIn)
        return false
      }
      note(key, client.machine, standIn)
      invalidate(key, client)
      return true
    }

    /// - Parameter client: Whose command finds it.
    private func expire(_ key: [UInt8], _ client: Client? = nil) {
      guard let expires = entries[key]?.expires, expires <= loop.now else { return }
      entries[key] = nil
      note(key, -1)
      invalidate(key, client)
    }

    private func note(_ key: [UInt8], _ machine: Int, _ standIn: [UInt8]? = nil) {
      let name = text(key).dropFirst(Stamped.prefix.count)
      guard let number = Int(name) else { return }
      let now = loop.stamp()
      let id = (entries[key]?.bytes ?? standIn).map(record.value(of:)) ?? 0
      record.changes[number, default: []].append(
        Change(value: id, begin: now, end: now, isKnown: true, machine: machine))
    }

    /// Everybody who tracked the key is told, and is then no longer.
    ///
    /// - Parameter current: Whose command is being executed.
    private func invalidate(_ key: [UInt8], _ current: Client?) {
      guard let tracked = tracking.removeValue(forKey: key) else { return }
      for client in tracked where client !== current || client.hearsOwn {
        client.push(.invalidated([key]))
      }
    }
  }
#endif
