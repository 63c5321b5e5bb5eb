// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import LarderRemote
  import LarderTestSupport

  /// One server, or the three masters of a cluster, each behind a proxy. They keep their ports and,
  /// in a cluster, their slots when they are killed.
  final class Servers {
    private(set) var all: [RedisServer] = []
    private let proxies: [Proxy]
    /// Where machines connect to.
    let ports: [Int]
    private let folders: [String]
    private var arguments: [[String]] = []
    private var ids: [String] = []
    /// Who owns the slots that keys are of; of a slot that moves, who did.
    private var owners: [Int: Int] = [:]
    /// When they were moved.
    private var movedAt: [Int: UInt64] = [:]
    private let keys: [Int: [Int]]
    private var move: Move?

    /// Slots that are being moved.
    private struct Move {
      let slots: [Int]
      let from: Int
      let to: Int
      let returns: Bool
      var step = 0
      var failures = 0
    }

    var isCluster: Bool { all.count > 1 }
    var isMoving: Bool { move != nil }

    /// - Parameters:
    ///   - keys: How many there may be.
    ///   - trackedLimit: Of how many it is remembered who has read them.
    init(in folder: URL, isCluster: Bool, keys: Int, trackedLimit: Int) throws {
      let count = isCluster ? 3 : 1
      let own = try (0..<count).map { _ in try RedisServer.freePort() }
      let proxies = own.map { Proxy(to: $0) }
      self.proxies = proxies
      ports = try proxies.map { try $0.start() }
      self.keys = Dictionary(grouping: 0..<keys) { RedisSlot.of(Stamped.remoteKey($0)) }
      folders = try (0..<count).map { index in
        let folder = folder.appendingPathComponent("server-\(index)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        return folder.path
      }
      for index in 0..<count {
        // The others and the machines are told the proxy's port.
        let cluster = [
          "--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1",
          "--cluster-announce-port", "\(ports[index])",
          "--cluster-announce-bus-port", "\(own[index] + 10_000)",
          "--cluster-node-timeout", "600000", "--cluster-require-full-coverage", "no",
        ]
        let tracked = ["--tracking-table-max-keys", "\(trackedLimit)"]
        arguments.append(tracked + (isCluster ? cluster : []))
        all.append(try RedisServer(in: folders[index], port: own[index], arguments[index]))
      }
      if isCluster { try join() }
    }

    private func join() throws {
      let count = all.count
      for (index, server) in all.enumerated() {
        ids.append(try text(index, "CLUSTER", "MYID"))
        let slots = (16_384 * index / count)..<(16_384 * (index + 1) / count)
        for slot in keys.keys where slots.contains(slot) { owners[slot] = index }
        try server.say("CLUSTER", "SET-CONFIG-EPOCH", "\(index + 1)")
        _ = try server.say(["CLUSTER", "ADDSLOTS"] + slots.map(String.init))
        let first = all[0].port
        try server.say("CLUSTER", "MEET", "127.0.0.1", "\(first)", "\(first + 10_000)")
      }
      for index in all.indices {
        while true {
          let text = try text(index, "CLUSTER", "INFO")
          if text.contains("cluster_state:ok"), text.contains("cluster_known_nodes:\(count)"),
            text.contains("cluster_slots_assigned:16384")
          {
            break
          }
          usleep(5000)
        }
      }
    }

    private func text(_ index: Int, _ words: String...) throws -> String {
      guard case .bytes(let bytes) = try all[index].say(words) else { return "" }
      return String(decoding: bytes, as: UTF8.self)
    }

    /// Kills one and starts it again.
    ///
    /// - Parameter pause: Done while it is not there.
    func kill(_ index: Int, pause: () -> Void) throws {
      let port = all[index].port
      all[index].end()
      pause()
      all[index] = try RedisServer(in: folders[index], port: port, arguments[index])
    }

    func harm(_ index: Int, _ fault: Proxy.Fault, _ number: Int, all: Bool, milliseconds: Int) {
      proxies[index].harm(fault, number, all: all, milliseconds: milliseconds)
    }

    func end() {
      for proxy in proxies { proxy.end() }
      for server in all { server.end() }
    }

    // MARK: - Slots

    /// What a server has when no slot moves; nil: all there is.
    func keys(of index: Int) -> Set<Int>? {
      if !isCluster { return nil }
      return Set(keys.filter { owners[$0.key] == index }.flatMap(\.value))
    }

    /// What moves now, and may be at either server.
    var movingKeys: Set<Int> { Set((move?.slots ?? []).flatMap { keys[$0] ?? [] }) }

    private static let slotsAtATime = 6
    /// Nanoseconds until a slot moves again: who was told `ASK` may come late, and is not to be
    /// taken for one who was told so by the next move.
    private static let rest: UInt64 = 2_000_000_000

    /// Begins to move slots, or goes on with that.
    ///
    /// - Returns: Whether a move has ended.
    func moveOn(_ dice: inout Dice) throws -> Bool {
      guard let move else {
        let from = dice.below(all.count)
        let to = (from + dice.between(1, all.count - 1)) % all.count
        let now = monotonicTime()
        let slots = owners.keys.sorted().filter {
          owners[$0] == from && now > (movedAt[$0] ?? 0) + Self.rest
        }.shuffled(using: &dice)
        self.move = Move(
          slots: Array(slots.prefix(Self.slotsAtATime)), from: from, to: to,
          returns: dice.oneIn(2))
        return false
      }
      do {
        if try !perform(move) {
          self.move?.step += 1
          return false
        }
      } catch let error as Broken {
        // A server that was started again takes two seconds to be part of the cluster; and one may
        // still have a key, which is to go first.
        self.move?.failures += 1
        self.move?.step = min(move.step, 1)
        guard move.failures < 1000 else { throw error }
        usleep(10_000)
        return false
      }
      self.move = nil
      guard move.returns else { return true }
      // At once, so that it may happen between two polls.
      self.move = Move(slots: move.slots, from: move.to, to: move.from, returns: false)
      while try !moveOn(&dice) {}
      return true
    }

    /// - Returns: Whether it was the last step.
    private func perform(_ move: Move) throws -> Bool {
      switch move.step {
      case 0:
        try set(move.to, move, "IMPORTING", move.from)
        try set(move.from, move, "MIGRATING", move.to)
      case 1: try migrate(move)
      default:
        // The new owner knows it first.
        for index in [move.to] + all.indices.filter({ $0 != move.to }) {
          try set(index, move, "NODE", move.to)
        }
        for slot in move.slots { (owners[slot], movedAt[slot]) = (move.to, monotonicTime()) }
        return true
      }
      return false
    }

    private func set(_ index: Int, _ move: Move, _ what: String, _ other: Int) throws {
      for slot in move.slots {
        try all[index].say("CLUSTER", "SETSLOT", "\(slot)", what, ids[other])
      }
    }

    private func migrate(_ move: Move) throws {
      let start = ["MIGRATE", "127.0.0.1", "\(all[move.to].port)", "", "0", "60000", "KEYS"]
      for slot in move.slots {
        let names = (keys[slot] ?? []).map {
          String(decoding: Stamped.remoteKey($0), as: UTF8.self)
        }
        do { _ = try all[move.from].say(start + names) } catch let error as Broken {
          // That slot has moved already, and another one has not.
          guard error.description.contains(" with MOVED") else { throw error }
        }
      }
    }
  }
#endif
