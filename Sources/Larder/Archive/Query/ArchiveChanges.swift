// SPDX-License-Identifier: MIT

import LarderCore
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
final class ArchiveSignal: Sendable {
  private let number = Atomic<UInt64>(0)
  private let isOver = Atomic(false)
  private let waiting = ChangeSignal()

  /// How many changes there were.
  var changes: UInt64 { number.load(ordering: .sequentiallyConsistent) }

  /// Whether the archive is gone.
  var isFinished: Bool { isOver.load(ordering: .sequentiallyConsistent) }

  func raise() {
    number.add(1, ordering: .sequentiallyConsistent)
    waiting.notify()
  }

  func finish() {
    isOver.store(true, ordering: .sequentiallyConsistent)
    raise()
  }

  /// Suspends until the number is another one than `seen`, the archive is gone, or the task is
  /// cancelled.
  func wait(for seen: UInt64) async {
    await waiting.wait { self.changes != seen || self.isFinished }
  }
}
