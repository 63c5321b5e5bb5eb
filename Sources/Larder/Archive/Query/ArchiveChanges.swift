// SPDX-License-Identifier: MIT

import Synchronization

/// Tells those who observe queries that something was written. The archive owns it: when the
/// archive goes, so does it, and who waits hears that.
final class ArchiveChanges: Sendable {
  let signal = ArchiveSignal()

  /// To be called after each write, and when the archive is closed.
  func notify() { signal.raise() }

  deinit { signal.finish() }
}

/// A number that grows with each change, and tasks that wait for it to.
///
/// No change is missed: a waiter registers first and looks at the number afterwards, a change
/// raises the number first and looks for waiters afterwards. Both are sequentially consistent,
/// so that one of them sees the other.
final class ArchiveSignal: Sendable {
  private struct Waiters {
    var continuations: [UInt64: CheckedContinuation<Void, Never>] = [:]
    var nextID: UInt64 = 0
  }

  private let number = Atomic<UInt64>(0)
  private let isOver = Atomic(false)
  private let count = Atomic<Int>(0)
  private let waiters = Mutex(Waiters())

  /// How many changes there were.
  var changes: UInt64 { number.load(ordering: .sequentiallyConsistent) }

  /// Whether the archive is gone.
  var isFinished: Bool { isOver.load(ordering: .sequentiallyConsistent) }

  func raise() {
    number.add(1, ordering: .sequentiallyConsistent)
    if count.load(ordering: .sequentiallyConsistent) != 0 { wakeAll() }
  }

  func finish() {
    isOver.store(true, ordering: .sequentiallyConsistent)
    raise()
  }

  /// Suspends until the number is another one than `seen`, the archive is gone, or the task is
  /// cancelled.
  func wait(for seen: UInt64) async {
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
        if Task.isCancelled || changes != seen || isFinished { wake(id) }
      }
    } onCancel: {
      wake(id)
    }
  }

  @inline(never)
  private func wakeAll() {
    let woken = waiters.withLock { waiters in
      defer { waiters.continuations.removeAll() }
      count.store(0, ordering: .sequentiallyConsistent)
      return Array(waiters.continuations.values)
    }
    for continuation in woken { continuation.resume() }
  }

  private func wake(_ id: UInt64) {
    let continuation = waiters.withLock { waiters in
      let continuation = waiters.continuations.removeValue(forKey: id)
      count.store(waiters.continuations.count, ordering: .sequentiallyConsistent)
      return continuation
    }
    continuation?.resume()
  }
}
