// SPDX-License-Identifier: MIT

import Synchronization

/// Looks for expired entries from time to time, while there is something that expires.
///
/// One task for each cache, that does not keep the cache.
@usableFromInline
final class MemoryTrimmer: Sendable {
  private struct State {
    var interval: Duration
    var task: Task<Void, Never>?
  }

  private let state: Mutex<State>
  private let wantsStart: Atomic<Bool>

  init(interval: Duration) {
    state = Mutex(State(interval: interval))
    wantsStart = Atomic(interval > .zero)
  }

  var interval: Duration { state.withLock { $0.interval } }

  /// False also where it shall not run.
  @usableFromInline var isWanted: Bool { wantsStart.load(ordering: .sequentiallyConsistent) }

  /// Starts, unless it runs or shall not.
  ///
  /// - Parameter sweep: Removes what has expired. Returns false when nothing is left
  ///   that can; then the task ends.
  func start(_ sweep: @escaping @Sendable () -> Bool) {
    state.withLock { state in
      guard state.task == nil, state.interval > .zero else { return }
      // A year is long enough, and no clock overflows.
      let interval = min(state.interval, .seconds(31_536_000))
      wantsStart.store(false, ordering: .sequentiallyConsistent)
      state.task = Task.detached(priority: .utility) { [weak self] in
        while true {
          do { try await Task.sleep(for: interval) } catch { return }
          if !sweep() { break }
        }
        self?.rest()
        // Something may have been stored since the last look, while this still ran.
        if sweep() { self?.start(sweep) }
      }
    }
  }

  private func rest() {
    state.withLock { state in
      // A task that was cancelled may have been followed by another one.
      if Task.isCancelled { return }
      state.task = nil
      wantsStart.store(state.interval > .zero, ordering: .sequentiallyConsistent)
    }
  }

  /// Stops; the next ``start(_:)`` goes on with another interval.
  func setInterval(_ interval: Duration) {
    state.withLock { state in
      state.task?.cancel()
      state.task = nil
      state.interval = interval
      wantsStart.store(interval > .zero, ordering: .sequentiallyConsistent)
    }
  }
}
