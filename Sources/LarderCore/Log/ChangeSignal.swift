// SPDX-License-Identifier: MIT

import Synchronization

/// Wakes tasks that wait for the next change of something: an append to a log, a write to an
/// archive.
///
/// A change asks one atomic whether anybody waits, and does no more if nobody does. No
/// wake-up is missed: a waiter registers first and looks afterwards whether there is
/// something new, a change is made first and looks for waiters afterwards. Registering and
/// looking for waiters are sequentially consistent; so must be what else the two look at, or
/// under one lock. Then one of them sees the other.
package final class ChangeSignal: Sendable {
  private struct Waiters {
    var continuations: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var nextID: UInt64 = 0
  }

  private let count = Atomic<Int>(0)
  private let waiters = Mutex(Waiters())

  /// Makes one that nobody waits for.
  package init() {}

  /// To be called after each change.
  @inline(__always)
  package func notify() {
    if count.load(ordering: .sequentiallyConsistent) != 0 { wakeAll() }
  }

  /// Whether anybody waits.
  var hasWaiters: Bool { count.load(ordering: .sequentiallyConsistent) != 0 }

  @inline(never)
  private func wakeAll() {
    let woken = waiters.withLock { waiters in
      defer { waiters.continuations.removeAll() }
      count.store(0, ordering: .releasing)
      return Array(waiters.continuations.values)
    }
    for continuation in woken { continuation.resume() }
  }

  /// Suspends until ``notify()`` is called, or the task is cancelled.
  ///
  /// - Parameter isReady: Called once after registering: true returns at once.
  package func wait(unless isReady: @Sendable () -> Bool) async {
    let id = waiters.withLock { waiters in
      waiters.nextID += 1
      return waiters.nextID
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        waiters.withLock { waiters in
          waiters.continuations[id] = continuation
          count.store(waiters.continuations.count, ordering: .sequentiallyConsistent)
        }
        // The handler below may have run before there was anything to find.
        if Task.isCancelled || isReady() { wake(id) }
      }
    } onCancel: {
      wake(id)
    }
  }

  private func wake(_ id: UInt64) {
    let continuation = waiters.withLock { waiters in
      let continuation = waiters.continuations.removeValue(forKey: id)
      count.store(waiters.continuations.count, ordering: .releasing)
      return continuation
    }
    continuation?.resume()
  }
}
