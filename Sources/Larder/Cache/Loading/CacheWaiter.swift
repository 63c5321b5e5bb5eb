// SPDX-License-Identifier: MIT

public import Dispatch
import Synchronization

/// A thread or a task that waits for its turn.
@usableFromInline
enum CacheWaiter: Sendable {
  case thread(DispatchSemaphore)
  case task(CheckedContinuation<Void, Never>)

  @usableFromInline
  func wake() {
    switch self {
    case .thread(let semaphore): semaphore.signal()
    case .task(let continuation): continuation.resume()
    }
  }
}

/// A lock that threads and tasks share, given to them in the order in which they come.
///
/// May be held over a suspension. Waiting for it cannot be cancelled.
final class CacheLock: Sendable {
  private struct State {
    var isHeld = false
    var waiting: [CacheWaiter] = []
  }

  private let state = Mutex(State())

  /// - Parameter waiter: Woken when it is the caller's turn; nil to ask only.
  /// - Returns: Whether it is the caller's now.
  private func take(_ waiter: CacheWaiter?) -> Bool {
    state.withLock { state in
      if state.isHeld {
        if let waiter { state.waiting.append(waiter) }
        return false
      }
      state.isHeld = true
      return true
    }
  }

  func lock() {
    if take(nil) { return }
    let semaphore = DispatchSemaphore(value: 0)
    if !take(.thread(semaphore)) { semaphore.wait() }
  }

  nonisolated(nonsending) func lock() async {
    if take(nil) { return }
    await withCheckedContinuation { continuation in
      if take(.task(continuation)) { continuation.resume() }
    }
  }

  func unlock() {
    let next = state.withLock { state -> CacheWaiter? in
      if state.waiting.isEmpty {
        state.isHeld = false
        return nil
      }
      return state.waiting.removeFirst()
    }
    next?.wake()
  }
}
