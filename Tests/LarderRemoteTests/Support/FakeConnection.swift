// SPDX-License-Identifier: MIT

#if Remote
  import LarderRemote
  import LarderTestSupport

  /// A connection whose replies and events come in the order that a test wants.
  final class FakeConnection: RemoteConnection {
    private struct State {
      var sink: (@Sendable (RemoteEvent) -> Void)?
      var answer: @Sendable ([RemoteCommand]) async throws -> [RemoteReply]
      var sent: [[RemoteCommand]] = []
      var isClosed = false
    }

    private let state: Locked<State>

    init(_ answer: @escaping @Sendable ([RemoteCommand]) async throws -> [RemoteReply]) {
      state = Locked(State(answer: answer))
    }

    /// Answers a transaction as a server does.
    static func transaction(_ results: RemoteReply...) -> [RemoteReply] {
      [.status("OK"), .status("OK")] + results.map { _ in .status("QUEUED") } + [.array(results)]
    }

    var sent: [[RemoteCommand]] { state.withLock { $0.sent } }
    var isClosed: Bool { state.withLock { $0.isClosed } }

    func answer(_ answer: @escaping @Sendable ([RemoteCommand]) async throws -> [RemoteReply]) {
      state.withLock { $0.answer = answer }
    }

    func tell(_ event: RemoteEvent) { state.withLock { $0.sink }?(event) }

    // RemoteConnection.

    var deliversInWireOrder: Bool { false }
    var epoch: UInt64 { 1 }
    func observe(_ sink: @escaping @Sendable (RemoteEvent) -> Void) {
      state.withLock { $0.sink = sink }
    }
    func send(
      _ commands: [RemoteCommand], key: [UInt8]?, patience: Duration?
    ) async throws -> [RemoteReply] {
      let answer = state.withLock { state in
        state.sent.append(commands)
        return state.answer
      }
      let replies = try await answer(commands)
      // What is to be announced is said within each transaction, and no test answers that.
      guard replies.count == commands.count - 2, case .array(let results)? = replies.last else {
        return replies
      }
      let (ok, queued) = (RemoteReply.status("OK"), RemoteReply.status("QUEUED"))
      return replies.dropLast() + [queued, queued, .array([ok] + results + [ok])]
    }
    func close() async { state.withLock { $0.isClosed = true } }
  }
#endif
