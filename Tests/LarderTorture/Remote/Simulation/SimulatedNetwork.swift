// SPDX-License-Identifier: MIT

#if Remote
  import LarderRemote
  import LarderTestSupport

  /// What lies between machines and a server: it delays, each connection for itself; it loses
  /// what is under way when a connection is cut; and it may tell nobody that one is.
  final class SimulatedNetwork {
    /// One connection. What is sent in a direction arrives in that order.
    final class Link {
      let client: SimulatedServer.Client
      /// Whether what is sent arrives.
      var toServer = true
      var toClient = true
      var isClosed = false
      /// When the last that was sent arrives.
      var serverTime: UInt64 = 0
      var clientTime: UInt64 = 0
      /// Until when nothing does.
      var stalledUntil: UInt64 = 0
      /// Gets what arrives; nil: that the other side has closed the connection.
      var receive: (Arrival?) -> Void = { _ in }

      init(_ client: SimulatedServer.Client) { self.client = client }
    }

    enum Arrival {
      case event(RemoteEvent)
      case replies([RemoteReply])
    }

    static let longestStall: UInt64 = 400_000_000

    private let loop = VirtualLoop.shared
    let server: SimulatedServer
    private(set) var links: [Link] = []
    private var dice: Dice
    private let latency: (least: Int, most: Int)
    /// Told what arrived, for each machine: when the server sent it.
    var heard: (_ machine: Int, _ sent: UInt64) -> Void = { _, _ in }

    /// - Parameter latency: In microseconds.
    init(_ server: SimulatedServer, _ dice: Dice, latency: (least: Int, most: Int)) {
      self.server = server
      self.dice = dice
      self.latency = latency
    }

    private func delay() -> UInt64 { dice.microseconds(latency.least, latency.most) }

    /// - Parameter body: Called with a connection, or nil if the server is not there.
    func connect(_ machine: Int, _ body: @escaping (Link?) -> Void) {
      // There and back, and once more for the handshake.
      loop.after(delay() * 4) { [self] in
        guard server.isUp else { return body(nil) }
        let client = SimulatedServer.Client(machine)
        let link = Link(client)
        links.append(link)
        server.connect(client)
        client.push = { [self] event in sendBack(.event(event), on: link) }
        body(link)
      }
    }

    func send(_ commands: [RemoteCommand], on link: Link) {
      guard link.toServer, !link.isClosed else { return }
      link.serverTime = max(link.serverTime, link.stalledUntil, loop.now + delay())
      loop.at(link.serverTime) { [self] in
        // Also when the machine has given the connection up meanwhile.
        guard link.toServer, server.clients.contains(where: { $0 === link.client }) else { return }
        sendBack(.replies(commands.map { server.execute($0, link.client) }), on: link)
      }
    }

    private func sendBack(_ arrival: Arrival, on link: Link) {
      guard link.toClient else { return }
      let sent = loop.stamp()
      link.clientTime = max(link.clientTime, link.stalledUntil, loop.now + delay())
      loop.at(link.clientTime) { [self] in
        guard link.toClient, !link.isClosed else { return }
        link.receive(arrival)
        heard(link.client.machine, sent)
      }
    }

    /// A machine does not want the connection any longer.
    func close(_ link: Link) {
      link.isClosed = true
      links.removeAll { $0 === link }
      // The server may not learn of it for a while; what it sends then goes nowhere.
      loop.after(delay() * 10) { [self] in server.disconnect(link.client) }
    }

    // MARK: - What goes wrong

    enum Fault: CaseIterable {
      /// Both sides learn of it.
      case cut
      /// The server has closed the connection, and the machine does not learn of it.
      case halfOpen
      /// What one side sends is lost, and then everything is.
      case lostReplies, lostCommands
      /// Nothing arrives for a while, and then all of it.
      case stall
    }

    func harm(_ fault: Fault) {
      guard !links.isEmpty else { return }
      let link = links[dice.below(links.count)]
      switch fault {
      case .cut: drop(link, isTold: true)
      case .halfOpen: drop(link, isTold: false)
      case .lostReplies: link.toClient = false
      case .lostCommands: link.toServer = false
      case .stall:
        link.stalledUntil = loop.now + dice.microseconds(1000, Int(Self.longestStall / 1000))
      }
    }

    /// The server has gone, or was told to end all connections.
    func dropAll() { for link in links { drop(link, isTold: !dice.oneIn(4)) } }

    private func drop(_ link: Link, isTold: Bool) {
      server.disconnect(link.client)
      links.removeAll { $0 === link }
      (link.toServer, link.toClient) = (false, false)
      guard isTold else { return }
      loop.after(delay()) { if !link.isClosed { link.receive(nil) } }
    }
  }
#endif
