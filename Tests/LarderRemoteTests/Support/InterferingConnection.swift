// SPDX-License-Identifier: MIT

#if Remote
  import LarderCore
  import LarderRemote
  import LarderTestSupport

  /// A connection to a real server on which calls fail, and what others change is not heard, as a
  /// test wants.
  final class InterferingConnection: RemoteConnection {
    enum Interference: Sendable {
      /// It is not sent.
      case refuse
      /// It is executed, and its reply is lost.
      case loseReply
    }

    private struct State {
      var interfere: @Sendable ([RemoteCommand]) -> Interference? = { _ in nil }
      var isDeaf = false
    }

    private let base: RedisConnection
    private let state = Locked(State())

    init(_ redis: RedisServer) throws { base = try RedisConnection(redis.patient) }

    func interfere(_ body: @escaping @Sendable ([RemoteCommand]) -> Interference?) {
      state.withLock { $0.interfere = body }
    }

    /// What is announced from now on is not heard: as if it were still on its way.
    func deafen() { state.withLock { $0.isDeaf = true } }

    // RemoteConnection.

    var deliversInWireOrder: Bool { false }
    var epoch: UInt64 { base.epoch }
    func observe(_ sink: @escaping @Sendable (RemoteEvent) -> Void) {
      base.observe { [state] event in
        if !state.withLock({ $0.isDeaf }) { sink(event) }
      }
    }
    func send(
      _ commands: [RemoteCommand], key: [UInt8]?, patience: Duration?
    ) async throws -> [RemoteReply] {
      let interference = state.withLock { $0.interfere }(commands)
      if interference == .refuse { throw LarderError(.remote, "Refused.") }
      let replies = try await base.send(commands, key: key, patience: patience)
      if interference == .loseReply { throw LarderError(.timedOut, "Lost.") }
      return replies
    }
    func close() async { await base.close() }
  }
#endif
