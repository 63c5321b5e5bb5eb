// SPDX-License-Identifier: MIT

#if Remote
  import LarderRemote
  import LarderTestSupport
  import Testing

  @testable import LarderRemote

  /// Masters of a test's own, on loopback, that share the slots.
  final class RedisCluster: Sendable {
    let servers: [RedisServer]
    let ids: [String]
    /// To each of them, one that follows nothing.
    private let connections: [RedisConnection]

    init(_ count: Int = 3) async throws {
      servers = try (0..<count).map { _ in
        try RedisServer(
          [
            "--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1",
            "--cluster-node-timeout", "600000", "--cluster-require-full-coverage", "no",
          ])
      }
      let connections = try servers.map { try RedisConnection($0.patient) }
      self.connections = connections
      var ids: [String] = []
      for (index, connection) in connections.enumerated() {
        ids.append(try await Self.text(connection, ["CLUSTER", "MYID"]))
        let first = RedisTopology.slotCount * index / count
        let end = RedisTopology.slotCount * (index + 1) / count
        for words in [
          ["CLUSTER", "SET-CONFIG-EPOCH", "\(index + 1)"],
          ["CLUSTER", "ADDSLOTS"] + (first..<end).map(String.init),
          ["CLUSTER", "MEET", "127.0.0.1", "\(servers[0].port)"],
        ] {
          _ = try await Self.send(connection, words)
        }
      }
      self.ids = ids
      for connection in connections {
        try await until {
          let text = try await Self.text(connection, ["CLUSTER", "INFO"])
          return text.contains("cluster_state:ok") && text.contains("cluster_known_nodes:\(count)")
            && text.contains("cluster_slots_assigned:16384")
        }
      }
    }

    /// With time-outs that no loaded machine exceeds, and polls only when a test asks for them.
    var patient: RemoteServer {
      var server = servers[0].patient
      server.cluster = RemoteCluster(
        seeds: servers.dropFirst().map { RemoteAddress(host: "127.0.0.1", port: $0.port) })
      server.cluster?.pollInterval = .seconds(86_400)
      return server
    }

    /// Sends a command to one of them.
    @discardableResult
    func send(to index: Int, _ words: String...) async throws -> RemoteReply {
      try await Self.send(connections[index], words)
    }

    private static func send(
      _ connection: RedisConnection, _ words: [String]
    ) async throws -> RemoteReply {
      let command = RemoteCommand(words[0], words.dropFirst().map { Array($0.utf8) })
      let reply = try #require(try await connection.send([command], patience: nil).first)
      if case .error = reply { try #require(Bool(false), "\(words.prefix(3)): \(reply)") }
      return reply
    }

    private static func text(
      _ connection: RedisConnection, _ words: [String]
    ) async throws -> String {
      guard case .bytes(let bytes) = try await send(connection, words) else { return "" }
      return String(decoding: bytes, as: UTF8.self)
    }

    /// Who owned a slot in the beginning.
    func owner(of slot: Int) -> Int {
      servers.indices.last { RedisTopology.slotCount * $0 / servers.count <= slot } ?? 0
    }

    // MARK: - Moving a slot

    /// From then on keys of the slot that are absent are looked for at the other one.
    func beginMove(_ slot: Int, from old: Int, to new: Int) async throws {
      try await send(to: new, "CLUSTER", "SETSLOT", "\(slot)", "IMPORTING", ids[old])
      try await send(to: old, "CLUSTER", "SETSLOT", "\(slot)", "MIGRATING", ids[new])
    }

    func moveKeys(_ slot: Int, from old: Int, to new: Int) async throws {
      let reply = try await send(to: old, "CLUSTER", "GETKEYSINSLOT", "\(slot)", "1000")
      guard case .array(let keys) = reply, !keys.isEmpty else { return }
      let start = ["127.0.0.1", "\(servers[new].port)", "", "0", "600000", "KEYS"]
      let arguments =
        start.map { Array($0.utf8) }
        + keys.compactMap { if case .bytes(let key) = $0 { key } else { nil } }
      let moved = try await connections[old].send(
        [RemoteCommand("MIGRATE", arguments)], patience: nil)
      try #require(moved == [.status("OK")])
    }

    /// The new owner knows it first.
    func endMove(_ slot: Int, to new: Int) async throws {
      for index in [new] + servers.indices.filter({ $0 != new }) {
        try await send(to: index, "CLUSTER", "SETSLOT", "\(slot)", "NODE", ids[new])
      }
    }

    func move(_ slot: Int, from old: Int, to new: Int) async throws {
      try await beginMove(slot, from: old, to: new)
      try await moveKeys(slot, from: old, to: new)
      try await endMove(slot, to: new)
    }
  }

  extension RedisClusterConnection {
    /// Asks all masters what they own, not before now.
    func poll() async throws {
      // The first may have begun already.
      for _ in 0..<2 { try await core.poll(until: .now + .seconds(86_400)) }
    }
  }
#endif
