// SPDX-License-Identifier: MIT

import Dispatch
import Foundation
public import Synchronization

/// Destroys evicted entries somewhere else than where they were evicted.
///
/// They wait together: the first one starts a clock of a millisecond, at the end of
/// which all that came meanwhile go. So there are at most a thousand errands in a
/// second, however many entries. When they come faster than they go, the caller
/// destroys its own, unless they insist on the main thread.
@usableFromInline
final class MemoryReleaser<Entry: Sendable>: Sendable {
  @usableFromInline
  struct Waiting {
    @usableFromInline var entries: [Entry] = []
    @usableFromInline var isScheduled = false
  }

  /// Entries that may wait before the caller has to help.
  @usableFromInline static var patience: Int { 4096 }

  @usableFromInline let waiting = Mutex(Waiting())
  @usableFromInline let onMainThread: Bool
  /// Otherwise what is on the main thread already is destroyed there at once.
  @usableFromInline let isAsynchronous: Bool

  init(onMainThread: Bool, isAsynchronous: Bool) {
    self.onMainThread = onMainThread
    self.isAsynchronous = isAsynchronous
  }

  /// Takes an entry off the caller's hands, who must have no other reference to it: the
  /// last one decides where it ends. What is too much stays with the caller.
  @inlinable
  func release(_ entry: inout Entry?) {
    if !isAsynchronous, isHere { return }
    let schedules = waiting.withLock { waiting in
      if waiting.entries.count >= Self.patience, !onMainThread { return false }
      if let moved = entry.take() { waiting.entries.append(moved) }
      defer { waiting.isScheduled = true }
      return !waiting.isScheduled
    }
    if schedules { schedule() }
  }

  /// Takes many at once.
  @usableFromInline
  func release(_ entries: inout [Entry]) {
    if entries.isEmpty || (!isAsynchronous && isHere) { return }
    let batch = MemoryReleaser<Entry>(onMainThread: onMainThread, isAsynchronous: isAsynchronous)
    batch.waiting.withLock { swap(&$0.entries, &entries) }
    queue.async { batch.empty() }
  }

  @usableFromInline
  func schedule() {
    queue.asyncAfter(deadline: .now() + .milliseconds(1)) { [self] in empty() }
  }

  @usableFromInline var isHere: Bool { Thread.isMainThread }

  private var queue: DispatchQueue { onMainThread ? .main : MemoryRelease.queue }

  private func empty() {
    var entries: [Entry] = []
    waiting.withLock { waiting in
      waiting.isScheduled = false
      swap(&entries, &waiting.entries)
    }
    // They go here, while nothing is locked.
    entries.removeAll()
  }
}

/// Where entries of all caches are destroyed.
private enum MemoryRelease {
  static let queue = DispatchQueue(label: "larder.release", qos: .utility)
}
