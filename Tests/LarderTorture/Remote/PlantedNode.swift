// SPDX-License-Identifier: MIT

#if Remote
  import LarderRemote
  import Synchronization

  /// What is known at the connections to the servers of a cluster, and must be at the one that
  /// stands for all of them.
  final class NodeEvents: Sendable {
    private let isFlush = Mutex(false)

    /// Whether a server was flushed, which is being told now; else slots have moved.
    var isServerFlushed: Bool { isFlush.withLock { $0 } }

    fileprivate func tell(_ event: RemoteEvent, _ sink: (RemoteEvent) -> Void) {
      isFlush.withLock { $0 = event == .flushed }
      sink(event)
      isFlush.withLock { $0 = false }
    }
  }

  /// A connection to one server of a cluster, with a defect if it is to have one.
  final class PlantedNode: RemoteConnection {
    private let base: any RemoteConnection
    private let plant: RemotePlant?
    private let events: NodeEvents
    private let asking: @Sendable () -> UInt64
    private let asked: @Sendable (UInt64) -> Void

    /// - Parameters:
    ///   - asking: Called before the server is asked for its map of the cluster.
    ///   - asked: Called when it has answered that, with what the other one returned.
    init(
      _ base: any RemoteConnection, _ plant: RemotePlant?, _ events: NodeEvents,
      asking: @escaping @Sendable () -> UInt64 = { 0 },
      asked: @escaping @Sendable (UInt64) -> Void = { _ in }
    ) {
      (self.base, self.plant, self.events) = (base, plant, events)
      (self.asking, self.asked) = (asking, asked)
    }

    var deliversInWireOrder: Bool { base.deliversInWireOrder }
    var epoch: UInt64 { base.epoch }
    func close() async { await base.close() }

    func observe(_ sink: @escaping @Sendable (RemoteEvent) -> Void) {
      base.observe { [events] event in events.tell(event, sink) }
    }

    func send(
      _ commands: [RemoteCommand], key: [UInt8]?, patience: Duration?
    ) async throws -> [RemoteReply] {
      guard commands.first?.name == "CLUSTER" else {
        return try await base.send(commands, key: key, patience: patience)
      }
      let number = asking()
      var replies = try await base.send(commands, key: key, patience: patience)
      asked(number)
      if plant == .slotThereAndBack, case .bytes(let text)? = replies.first {
        replies[0] = .bytes(Self.withoutEpochs(text))
      }
      return replies
    }

    /// The map as it was if owners alone mattered.
    private static func withoutEpochs(_ text: [UInt8]) -> [UInt8] {
      let lines = String(decoding: text, as: UTF8.self).split(separator: "\n").map { line in
        var words = line.split(separator: " ").filter { !$0.hasPrefix("[") }
        if words.count > 6 { words[6] = "1" }
        return words.joined(separator: " ") + "\n"
      }
      return Array(lines.joined().utf8)
    }
  }
#endif
