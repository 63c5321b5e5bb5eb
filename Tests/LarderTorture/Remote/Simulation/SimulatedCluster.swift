// SPDX-License-Identifier: MIT

#if Remote
  import LarderRemote
  import LarderTestSupport

  /// Three servers that share the slots, which move between them.
  ///
  /// Of one thread only.
  final class SimulatedCluster {
    /// What one server knows of the cluster, which need not be what the others know.
    final class Member {
      let index: Int
      /// Who owns the slots that keys are of, and since which epoch.
      fileprivate(set) var owners: [Int: (member: Int, epoch: UInt64)] = [:]
      fileprivate(set) var migrating: [Int: Int] = [:]
      fileprivate(set) var importing: [Int: Int] = [:]
      fileprivate(set) var epochs: [UInt64] = (0..<count).map { UInt64($0 + 1) }

      fileprivate init(_ index: Int) { self.index = index }

      /// What it says to who asks for a key that it does not serve; nil if it does.
      func redirect(_ key: [UInt8], isThere: Bool, isAsking: Bool) -> RemoteReply? {
        let slot = RedisSlot.of(key)
        let owner = owners[slot]?.member ?? SimulatedCluster.first(slot)
        if owner == index {
          guard let next = migrating[slot], !isThere else { return nil }
          return .error("ASK \(slot) \(SimulatedCluster.address(next))")
        }
        if isAsking, importing[slot] != nil { return nil }
        return .error("MOVED \(slot) \(SimulatedCluster.address(owner))")
      }

      fileprivate func learn(_ slot: Int, _ owner: Int, _ epoch: UInt64) {
        epochs[owner] = max(epochs[owner], epoch)
        guard let known = owners[slot], known.epoch < epoch else { return }
        owners[slot] = (owner, epoch)
        if owner == index { importing[slot] = nil } else { migrating[slot] = nil }
      }

      /// The reply to `CLUSTER NODES`.
      var nodes: RemoteReply {
        var slots = [[String]](repeating: [], count: count)
        for member in 0..<count {
          var next = SimulatedCluster.start(member)
          let end = SimulatedCluster.start(member + 1)
          for (slot, owner) in owners.sorted(by: { $0.key < $1.key })
          where (next..<end).contains(slot) {
            if next < slot { slots[member].append("\(next)-\(slot - 1)") }
            slots[owner.member].append("\(slot)")
            next = slot + 1
          }
          if next < end { slots[member].append("\(next)-\(end - 1)") }
        }
        for (slot, next) in migrating.sorted(by: { $0.key < $1.key }) {
          slots[index].append("[\(slot)->-id\(next)]")
        }
        for (slot, last) in importing.sorted(by: { $0.key < $1.key }) {
          slots[index].append("[\(slot)-<-id\(last)]")
        }
        let lines = (0..<count).map { member in
          """
          id\(member) \(SimulatedCluster.address(member))@1 \
          \(member == index ? "myself," : "")master - 0 0 \(epochs[member]) connected \
          \(slots[member].joined(separator: " "))\n
          """
        }
        return .bytes(Array(lines.joined().utf8))
      }
    }

    enum Move: CaseIterable {
      /// Key after key, which `MIGRATE` announces, while others are asked for with `ASK`.
      case stepwise
      /// All at once; with the keys announced or, as of some versions, not.
      case atomic, silent
    }

    static let count = 3

    private let loop = VirtualLoop.shared
    let servers: [SimulatedServer]
    let members: [Member]
    private let keys: [Int: [[UInt8]]]
    private var epoch = UInt64(count)
    /// Slots that move now.
    private var moving: Set<Int> = []
    private var dice: Dice
    /// Between two steps, in microseconds.
    private let longestStep: Int

    /// - Parameter keys: All that there may be.
    init(_ servers: [SimulatedServer], keys: [[UInt8]], _ dice: Dice, longestStep: Int) {
      self.servers = servers
      self.keys = Dictionary(grouping: keys) { RedisSlot.of($0) }
      self.dice = dice
      self.longestStep = longestStep
      members = (0..<Self.count).map { Member($0) }
      for (member, server) in zip(members, servers) {
        for slot in self.keys.keys { member.owners[slot] = (Self.first(slot), 0) }
        server.member = member
      }
    }

    static func start(_ member: Int) -> Int { 16_384 * member / count }

    /// Who owns a slot in the beginning.
    static func first(_ slot: Int) -> Int { (0..<count).last { start($0) <= slot } ?? 0 }

    static func address(_ member: Int) -> RemoteAddress {
      RemoteAddress(host: "127.0.0.1", port: 7000 + member)
    }

    // MARK: - Moves

    /// Moves a slot that does not move yet, and perhaps back soon after.
    func move() {
      let slots = keys.keys.sorted()
      let slot = slots[dice.below(slots.count)]
      let from = members.max { epoch(of: slot, $0) < epoch(of: slot, $1) }?.owners[slot]?.member
      guard let from, moving.insert(slot).inserted else { return }
      let to = (from + dice.between(1, Self.count - 1)) % Self.count
      let (move, back) = (randomMove(), randomMove())
      let returns = dice.oneIn(2)
      let isSame = dice.oneIn(2)
      begin(move, slot, from, to) { [self] in
        guard returns else { return rest(slot) }
        begin(isSame ? move : back, slot, to, from) { [self] in rest(slot) }
      }
    }

    /// Who was told `ASK` may come late, and is not to be taken for one who was told so by a later
    /// move to the same server: that would write a key that the other one has, too.
    private func rest(_ slot: Int) {
      loop.after(SimulatedNetwork.longestStall * 2) { [self] in moving.remove(slot) }
    }

    private func randomMove() -> Move { Move.allCases[dice.below(Move.allCases.count)] }

    private func epoch(of slot: Int, _ member: Member) -> UInt64 { member.owners[slot]?.epoch ?? 0 }

    private func begin(
      _ move: Move, _ slot: Int, _ from: Int, _ to: Int, _ end: @escaping () -> Void
    ) {
      let all = keys[slot] ?? []
      func pass(_ key: [UInt8], isTold: Bool) {
        servers[from].pass(key, to: servers[to], isTold: isTold)
      }
      func takeOver(_ member: Int) { members[member].learn(slot, to, epoch) }
      var steps: [() -> Void] = []
      switch move {
      case .stepwise:
        steps.append { [self] in members[to].importing[slot] = from }
        steps.append { [self] in members[from].migrating[slot] = to }
        for key in all { steps.append { pass(key, isTold: true) } }
        steps.append { [self] in
          epoch += 1
          takeOver(to)
        }
        steps.append { takeOver(from) }
      case .atomic, .silent:
        steps.append { [self] in
          epoch += 1
          for key in all { pass(key, isTold: move == .atomic) }
          takeOver(to)
          takeOver(from)
        }
      }
      // The third one hears of it some time, perhaps only after a further move.
      steps.append { [self] in
        let epoch = epoch
        loop.after(dice.microseconds(0, longestStep)) { [self] in
          members[3 - from - to].learn(slot, to, epoch)
        }
        end()
      }
      perform(steps[...], from, to)
    }

    private func perform(_ steps: ArraySlice<() -> Void>, _ from: Int, _ to: Int) {
      guard let step = steps.first else { return }
      loop.after(dice.microseconds(0, longestStep)) { [self] in
        guard servers[from].isUp, servers[to].isUp else { return perform(steps, from, to) }
        step()
        perform(steps.dropFirst(), from, to)
      }
    }
  }
#endif
