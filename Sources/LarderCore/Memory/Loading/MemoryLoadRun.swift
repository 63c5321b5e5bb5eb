// SPDX-License-Identifier: MIT

import Synchronization

/// One call of a loader, for one key or for several: its task, if it has one, is cancelled when
/// nobody wants any of the values.
package final class MemoryLoadRun: Sendable {
  private struct State {
    /// Loads that somebody wants, and that have not ended.
    var wanted: Int
    var open: Int
    var isCounted = false
    var task: Task<Void, Never>?
    var timer: Task<Void, Never>?
  }

  private let state: Mutex<State>

  /// - Parameter count: The number of keys.
  package init(count: Int) { state = Mutex(State(wanted: count, open: count)) }

  /// Names the task that loads.
  package func setTask(_ task: Task<Void, Never>) {
    let isUnwanted = state.withLock { state in
      state.task = task
      return state.wanted == 0
    }
    if isUnwanted { task.cancel() }
  }

  /// Names the task that waits for the time-outs.
  func setTimer(_ timer: Task<Void, Never>) {
    let isOver = state.withLock { state in
      state.timer = timer
      return state.open == 0
    }
    if isOver { timer.cancel() }
  }

  /// One of the values is not wanted any more.
  func abandon() {
    let task = state.withLock { state -> Task<Void, Never>? in
      state.wanted -= 1
      return state.wanted == 0 ? state.task : nil
    }
    task?.cancel()
    end()
  }

  /// It took too long.
  func cancel() { state.withLock { $0.task }?.cancel() }

  /// One of the loads has ended.
  func end() {
    let timer = state.withLock { state -> Task<Void, Never>? in
      state.open -= 1
      return state.open == 0 ? state.timer : nil
    }
    timer?.cancel()
  }

  /// - Returns: Whether the call has to be counted: once, when it ends or takes too long.
  func count() -> Bool {
    state.withLock { state in
      defer { state.isCounted = true }
      return !state.isCounted
    }
  }
}
