// SPDX-License-Identifier: MIT

import Dispatch
import Synchronization

/// Wakes tasks and threads that wait for the next change of something: an append to a log, a write
/// to an archive.
///
/// A change asks one atomic whether anybody waits, and does no more if nobody does. No
/// wake-up is missed: a waiter registers first and looks afterwards whether there is
/// something new, a change is made first and looks for waiters afterwards. Registering and
/// looking for waiters are sequentially consistent; so must be what else the two look at, or
/// under one lock. Then one of them sees the other.
package final class ChangeSignal: Sendable {
  private enum Waiter {
    case task(CheckedContinuation<Void, Never>)
    case thread(DispatchSemaphore)

    func wake() {
      switch self {
      case .task(let continuation): continuation.resume()
      case .thread(let semaphore): semaphore.signal()
      }
    }
  }

  private struct Waiters {
    var waiting: [UInt64: Waiter] = [:]
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
      defer { waiters.waiting.removeAll() }
      count.store(0, ordering: .releasing)
      return Array(waiters.waiting.values)
    }
    for waiter in woken { waiter.wake() }
  }

  /// Suspends until ``notify()`` is called, or the task is cancelled.
  ///
  /// - Parameter isReady: Called once after registering: true returns at once.
  package func wait(unless isReady: @Sendable () -> Bool) async {
    let id = nextID()
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        add(.task(continuation), id)
        // The handler below may have run before there was anything to find.
        if Task.isCancelled || isReady() { wake(id) }
      }
    } onCancel: {
      wake(id)
    }
  }

  /// Blocks the thread until ``notify()`` is called.
  ///
  /// - Parameter isReady: Called once after registering: true returns at once.
  package func block(unless isReady: () -> Bool) {
    let id = nextID()
    let semaphore = DispatchSemaphore(value: 0)
    add(.thread(semaphore), id)
    if isReady() { wake(id) }
    semaphore.wait()
  }

  private func nextID() -> UInt64 {
    waiters.withLock { waiters in
      waiters.nextID += 1
      return waiters.nextID
    }
  }

  private func add(_ waiter: Waiter, _ id: UInt64) {
    waiters.withLock { waiters in
      waiters.waiting[id] = waiter
      count.store(waiters.waiting.count, ordering: .sequentiallyConsistent)
    }
  }

  private func wake(_ id: UInt64) {
    let waiter = waiters.withLock { waiters in
      let waiter = waiters.waiting.removeValue(forKey: id)
      count.store(waiters.waiting.count, ordering: .releasing)
      return waiter
    }
    waiter?.wake()
  }
}
