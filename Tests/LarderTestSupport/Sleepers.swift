// SPDX-License-Identifier: MIT

/// Tasks that sleep by a clock that a test moves.
public final class Sleepers: Sendable {
  private struct State {
    var now = Duration.zero
    var lastID = 0
    var sleeping: [Int: (until: Duration, wake: CheckedContinuation<Void, any Error>)] = [:]
  }

  private let state = Locked(State())

  /// Nobody sleeps.
  public init() {}

  /// How many sleep now.
  public var count: Int { state.withLock { $0.sleeping.count } }

  /// Sleeps until the clock was moved so far, or the task is cancelled.
  public func sleep(_ duration: Duration) async throws {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        state.withLock { state in
          state.sleeping[id] = (state.now + duration, continuation)
        }
        if Task.isCancelled { wake(id) }
        move(by: .zero)
      }
    } onCancel: {
      wake(id)
    }
  }

  private func wake(_ id: Int) {
    state.withLock { $0.sleeping.removeValue(forKey: id) }?.wake.resume(
      throwing: CancellationError())
  }

  /// Moves the clock, and wakes those whose time has come.
  public func move(by duration: Duration) {
    let due = state.withLock { state in
      state.now += duration
      let due = state.sleeping.filter { $0.value.until <= state.now }
      for id in due.keys { state.sleeping[id] = nil }
      return due.values.sorted { $0.until < $1.until }
    }
    for sleeper in due { sleeper.wake.resume() }
  }
}
