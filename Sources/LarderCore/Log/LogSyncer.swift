// SPDX-License-Identifier: MIT

import Dispatch
import Synchronization

/// Syncs for tasks that wait, on a thread of its own, so that none of the few that
/// run tasks has to wait for a device.
///
/// All tasks that come while one sync is under way share the next one.
final class LogSyncer: Sendable {
  /// What a task waits for.
  enum Target: Sendable {
    case message(UInt64)
    case everything
  }

  private struct Waiter {
    let target: Target
    let sync: @Sendable (Target) throws -> Void
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var waiters: [Waiter] = []
    /// A thread serves them, and looks again before it ends.
    var isServed = false
  }

  private static let queue = DispatchQueue(
    label: "larder.log.sync", qos: .userInitiated, attributes: .concurrent)

  private let state = Mutex(State())

  /// Suspends until a sync that began after this call is done.
  ///
  /// - Parameter sync: Blocks until everything, or messages up to a number, are on
  ///   the device.
  func wait(
    for target: Target, _ sync: @escaping @Sendable (Target) throws -> Void
  ) async throws {
    try await withCheckedThrowingContinuation { continuation in
      let isServed = state.withLock { state in
        state.waiters.append(Waiter(target: target, sync: sync, continuation: continuation))
        defer { state.isServed = true }
        return state.isServed
      }
      if !isServed { Self.queue.async { self.serve() } }
    }
  }

  private func serve() {
    // When a task goes on, this thread has released the log: the task may do so, too, and open it
    // again at once.
    while let (continuations, result) = syncNext() {
      for continuation in continuations { continuation.resume(with: result) }
    }
  }

  private func syncNext() -> ([CheckedContinuation<Void, any Error>], Result<Void, any Error>)? {
    guard let waiters = next() else { return nil }
    return (waiters.map(\.continuation), Result { try waiters[0].sync(Self.all(of: waiters)) })
  }

  private func next() -> [Waiter]? {
    state.withLock { state in
      if state.waiters.isEmpty {
        state.isServed = false
        return nil
      }
      defer { state.waiters.removeAll() }
      return state.waiters
    }
  }

  private static func all(of waiters: [Waiter]) -> Target {
    var last: UInt64 = 0
    for waiter in waiters {
      guard case .message(let sequence) = waiter.target else { return .everything }
      last = max(last, sequence)
    }
    return .message(last)
  }
}
