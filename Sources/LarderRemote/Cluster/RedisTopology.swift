// SPDX-License-Identifier: MIT

#if Remote
  import LarderCore

  /// Which masters a cluster has, and which slots each one owns.
  ///
  /// Two are the same only if nothing has moved between them. Owners alone do not tell: a slot may
  /// have moved away and back. Whoever takes one over gets a higher epoch, so epochs are
  /// compared, too; and which slots are about to move, because a key that is absent can from then
  /// on be written elsewhere, and who remembers that it is absent is not told.
  struct RedisTopology: Equatable, Sendable {
    static let slotCount = 16_384
    /// More than a cluster can have.
    static let maximumMasters = 1024

    struct Master: Equatable, Sendable {
      let id: String
      let address: RemoteAddress
      let epoch: UInt64
      let moving: [String]
      /// Whether it said so itself. If not, it may have something to tell.
      let hasAnswered: Bool
    }

    let masters: [Master]
    /// Of each slot the place of its owner in the masters, or else their count.
    private let owners: [UInt16]

    /// Brings together what several servers say. Who answers speaks for itself; of the others the
    /// latest is taken.
    ///
    /// - Returns: nil if nobody owns any slot.
    init?(_ views: [RedisView]) {
      let answered = Set(views.map(\.own))
      var found: [String: RedisView.Node] = [:]
      // One that no other server knows has left the cluster.
      var known: Set<String> = answered.count > 1 ? [] : answered
      for view in views.sorted(by: { $0.own < $1.own }) {
        for node in view.nodes {
          if node.id != view.own { known.insert(node.id) }
          if node.id != view.own && answered.contains(node.id) { continue }
          if let other = found[node.id], other.epoch > node.epoch { continue }
          found[node.id] = node
        }
      }
      // A slot that two claim belongs to the later one.
      let nodes = found.values.filter { $0.isMaster && known.contains($0.id) }
        .sorted { ($0.epoch, $0.id) < ($1.epoch, $1.id) }.suffix(Self.maximumMasters)
      var owners = Array(repeating: UInt16(nodes.count), count: Self.slotCount)
      var masters: [Master] = []
      for node in nodes {
        guard let address = node.address else { continue }
        for slots in node.slots { for slot in slots { owners[slot] = UInt16(masters.count) } }
        masters.append(
          Master(
            id: node.id, address: address, epoch: node.epoch, moving: node.moving,
            hasAnswered: answered.contains(node.id)))
      }
      if owners.allSatisfy({ $0 >= masters.count }) { return nil }
      (self.masters, self.owners) = (masters, owners)
    }

    /// - Returns: nil if nobody owns it.
    func owner(of slot: Int) -> RemoteAddress? {
      let owner = Int(owners[slot])
      return owner < masters.count ? masters[owner].address : nil
    }
  }

  /// What one server says of the cluster it is in: its replies to `CLUSTER NODES`, which alone
  /// tells epochs and what is about to move, and `CLUSTER SLOTS`, which has the addresses that
  /// clients are to use. Every version of Redis and Valkey has both.
  struct RedisView: Sendable {
    struct Node: Sendable {
      let id: String
      let isMaster: Bool
      var address: RemoteAddress?
      let epoch: UInt64
      let slots: [ClosedRange<Int>]
      let moving: [String]
    }

    static let commands = [RemoteCommand("CLUSTER", "NODES"), RemoteCommand("CLUSTER", "SLOTS")]

    /// Which of the nodes it is itself.
    let own: String
    private(set) var nodes: [Node] = []

    /// - Parameters:
    ///   - replies: To the commands.
    ///   - server: Who was asked.
    init(_ replies: [RemoteReply], from server: RemoteAddress) throws(LarderError) {
      if case .error(let word)? = replies.first {
        throw Self.failure(server, "refused CLUSTER NODES (\(word)): is it part of a cluster?")
      }
      guard replies.count == 2, case .bytes(let text) = replies[0] else {
        throw Self.garbage(server)
      }
      var own: String?
      var (masters, ids) = (0, Set<String>())
      for line in text.split(separator: UInt8(ascii: "\n")) {
        guard let (node, isOwn) = Self.node(line) else { throw Self.garbage(server) }
        guard ids.insert(node.id).inserted, !isOwn || own == nil else {
          throw Self.garbage(server)
        }
        if isOwn { own = node.id }
        if node.isMaster { masters += 1 }
        guard masters <= RedisTopology.maximumMasters else {
          throw Self.failure(server, "says that it has more than \(masters - 1) masters")
        }
        nodes.append(node)
      }
      let slots = nodes.flatMap(\.slots).sorted { $0.lowerBound < $1.lowerBound }
      for (range, next) in zip(slots, slots.dropFirst()) where next.lowerBound <= range.upperBound {
        throw Self.garbage(server)
      }
      guard let own else { throw Self.garbage(server) }
      self.own = own
      let addresses = Self.addresses(replies[1])
      for index in nodes.indices {
        nodes[index].address = (addresses[nodes[index].id] ?? nodes[index].address)?
          .resolved(at: server)
      }
    }

    /// Reads a line: id, address, flags, its master, two times, epoch, link, slots.
    private static func node(_ line: ArraySlice<UInt8>) -> (Node, isOwn: Bool)? {
      let words = line.split(separator: UInt8(ascii: " ")).map {
        String(decoding: $0, as: UTF8.self)
      }
      guard words.count >= 8, words[0].utf8.count <= 64, let epoch = UInt64(words[6]) else {
        return nil
      }
      let flags = words[2].split(separator: ",")
      let isThere = !flags.contains("noaddr") && !flags.contains("handshake")
      let isMaster = flags.contains("master") && isThere
      var slots: [ClosedRange<Int>] = []
      for word in words[8...] where !word.hasPrefix("[") {
        let ends = word.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
          .map { Int(digits: $0) }
        guard ends.count <= 2, let first = ends[0], let last = ends[ends.count - 1],
          first <= last, last < RedisTopology.slotCount
        else { return nil }
        slots.append(first...last)
      }
      // Behind it come the port of the cluster's bus, and perhaps a name.
      let announced = words[1].utf8.prefix { $0 != UInt8(ascii: "@") && $0 != UInt8(ascii: ",") }
      let node = Node(
        id: words[0], isMaster: isMaster, address: RemoteAddress(announced: announced),
        epoch: epoch, slots: isMaster ? slots : [], moving: words[8...].filter { $0.hasPrefix("[") }
      )
      return (node, flags.contains("myself"))
    }

    /// The address of each node that `CLUSTER SLOTS` names. What it does not make clear is left
    /// to `CLUSTER NODES`.
    private static func addresses(_ reply: RemoteReply) -> [String: RemoteAddress] {
      var addresses: [String: RemoteAddress] = [:]
      guard case .array(let ranges) = reply else { return [:] }
      for case .array(let range) in ranges {
        for case .array(let node) in range.dropFirst(2) {
          guard node.count >= 3, case .integer(let port) = node[1], (1...65_535).contains(port),
            case .bytes(let id) = node[2]
          else { continue }
          var host = ""
          if case .bytes(let bytes) = node[0] { host = String(decoding: bytes, as: UTF8.self) }
          if !RemoteAddress.isHost(host) { continue }
          addresses[String(decoding: id, as: UTF8.self)] = RemoteAddress(
            host: host, port: Int(port))
        }
      }
      return addresses
    }

    private static func garbage(_ server: RemoteAddress) -> LarderError {
      failure(server, "sent a map of its cluster that makes no sense")
    }

    private static func failure(_ server: RemoteAddress, _ what: String) -> LarderError {
      LarderError(.remote, "The server \(server) \(what).")
    }
  }
#endif
