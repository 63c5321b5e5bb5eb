// SPDX-License-Identifier: MIT

#if Remote
  import LarderRemote
  import Synchronization

  /// A connection between a tier and another one, which injects events, and has a defect if it is
  /// to.
  final class PlantedConnection: RemoteConnection {
    private struct State {
      var sink: (@Sendable (RemoteEvent) -> Void)?
      /// Keys that are not to be heard of now.
      var muted: [[UInt8]: Int] = [:]
      var heard = 0
    }

    private let base: any RemoteConnection
    private let plant: RemotePlant?
    /// Of the connections beneath, in a cluster.
    private let nodes: NodeEvents
    private let pause: @Sendable () async -> Void
    private let sending: @Sendable ([RemoteCommand]) -> Void
    private let state = Mutex(State())

    /// How many events are heard until half of a pair is lost.
    private static let heardInAll = 12

    /// - Parameters:
    ///   - pause: Waits for as long as a reply may be delayed.
    ///   - sending: Called with what the tier sends, in its task.
    init(
      _ base: any RemoteConnection, _ plant: RemotePlant?, _ nodes: NodeEvents = NodeEvents(),
      pause: @escaping @Sendable () async -> Void,
      sending: @escaping @Sendable ([RemoteCommand]) -> Void = { _ in }
    ) {
      self.base = base
      self.plant = plant
      self.nodes = nodes
      self.pause = pause
      self.sending = sending
    }

    var deliversInWireOrder: Bool { base.deliversInWireOrder }
    var epoch: UInt64 { base.epoch }
    func close() async { await base.close() }

    func observe(_ sink: @escaping @Sendable (RemoteEvent) -> Void) {
      state.withLock { $0.sink = sink }
      base.observe { [weak self] event in self?.hear(event) }
    }

    /// Has the tier hear of something that did not happen.
    func inject(_ event: RemoteEvent) { state.withLock { $0.sink }?(event) }

    /// Asks every server whether it is there, and where the slots are of a cluster.
    ///
    /// - Returns: Whether all answered, on the connections that there were before.
    func ping() async -> Bool {
      let before = base.epoch
      guard before > 0 else { return false }
      do {
        // The first may join whoever asked for the slots already.
        _ = try await base.masters
        for master in try await base.masters {
          let ping = RemoteCommand("PING", [])
          let replies = try await master.send([ping], key: nil, patience: nil)
          guard replies == [.status("PONG")] else { return false }
        }
      } catch {
        return false
      }
      return base.epoch == before
    }

    private func hear(_ event: RemoteEvent) {
      switch (event, plant) {
      case (.lost, .deafToLoss), (.untracked, .keptAsk): return
      case (.flushed, .movedAbsence) where !nodes.isServerFlushed: return
      case (.lost, .halfOfPair): state.withLock { $0.heard = 0 }
      case (.invalidated, .halfOfPair), (.flushed, .halfOfPair):
        let heard = state.withLock { state in
          state.heard += 1
          return state.heard
        }
        if heard > Self.heardInAll { return }
      case (.invalidated(let keys), .staleAbsence):
        let rest = state.withLock { state in keys.filter { state.muted[$0] == nil } }
        if rest.isEmpty { return }
        return inject(.invalidated(rest))
      default: break
      }
      inject(event)
    }

    func send(
      _ commands: [RemoteCommand], key: [UInt8]?, patience: Duration?
    ) async throws -> [RemoteReply] {
      sending(commands)
      switch plant {
      case .untrackedWrites where commands.first?.name == "CLIENT":
        guard commands.contains(where: { $0.name == "SET" || $0.name == "UNLINK" }) else { break }
        let replies = try await base.send(Array(commands.dropFirst()), key: key, patience: patience)
        return [.status("OK")] + replies
      case .untoldForgetting:
        return try await base.send(commands.map(Self.untold), key: key, patience: patience)
      case .staleLoad:
        return try await base.send(
          commands.map(Self.withoutComparison), key: key, patience: patience)
      case .staleAbsence:
        let replies = try await base.send(commands, key: key, patience: patience)
        await mute(commands, replies)
        return replies
      case .noStandIn:
        return try await base.send(
          commands.map(Self.withoutStandIn), key: key, patience: patience)
      case .immortalCopies:
        let replies = try await base.send(commands, key: key, patience: patience)
        return replies.map(Self.withoutExpiration)
      default: break
      }
      return try await base.send(commands, key: key, patience: patience)
    }

    private static func untold(_ command: RemoteCommand) -> RemoteCommand {
      guard command.arguments.first == Array("TRACKING".utf8) else { return command }
      return RemoteCommand("CLIENT", command.arguments.prefix(3) + [Array("NOLOOP".utf8)])
    }

    private static func withoutComparison(_ command: RemoteCommand) -> RemoteCommand {
      guard command.name == "EVAL", let script = command.arguments.first else { return command }
      let lines = String(decoding: script, as: UTF8.self).split(separator: "\n")
      let rest = lines.filter { !$0.contains("~=") }.joined(separator: "\n")
      return RemoteCommand("EVAL", [Array(rest.utf8)] + command.arguments.dropFirst())
    }

    /// A script that removes what it was to replace; it still has what that was to be, for whoever
    /// wants to know.
    private static func withoutStandIn(_ command: RemoteCommand) -> RemoteCommand {
      guard let standIn = command.standIn else { return command }
      if command.name == "SET" {
        let script = "if #ARGV > 1 then redis.call('DEL', KEYS[1]) end return 1"
        let words = [script, "1"].map { Array($0.utf8) }
        return RemoteCommand("EVAL", words + [command.arguments[0], [], standIn])
      }
      let script = String(decoding: command.arguments[0], as: UTF8.self)
        .replacing("#ARGV == 1", with: "#ARGV > 1")
      return RemoteCommand("EVAL", [Array(script.utf8)] + command.arguments.dropFirst())
    }

    /// What a transaction says: last but one, for how long the entry is still to live.
    private static func withoutExpiration(_ reply: RemoteReply) -> RemoteReply {
      guard case .array(var results) = reply, results.count > 2,
        case .integer(1...) = results[results.count - 2]
      else { return reply }
      results[results.count - 2] = .integer(-1)
      return .array(results)
    }

    /// Keeps back that a key is absent, and what is heard of the key meanwhile.
    private func mute(_ commands: [RemoteCommand], _ replies: [RemoteReply]) async {
      guard let key = commands.first(where: { $0.name == "GET" })?.arguments.first,
        case .array(let results) = replies.last, results.contains(.null)
      else { return }
      state.withLock { $0.muted[key, default: 0] += 1 }
      await pause()
      state.withLock { state in
        let count = state.muted[key] ?? 1
        state.muted[key] = count > 1 ? count - 1 : nil
      }
    }
  }

  extension RemoteCommand {
    /// What it stores in place of a value that is too large; nil if it stores another, or nothing.
    var standIn: [UInt8]? {
      let place = name == "SET" ? 1 : 4
      guard name == "SET" || name == "EVAL", arguments.count > place,
        Stamped.isStandIn(arguments[place])
      else { return nil }
      return arguments[place]
    }
  }
#endif
