// SPDX-License-Identifier: MIT

import Synchronization

/// Removals that one listener has not taken yet.
///
/// What is dropped is destroyed when the lock is released, because a value's
/// `deinit` may use the cache and so come back here.
final class RemovalBuffer<Key: Sendable, Value: Sendable>: Sendable {
  typealias Element = Removal<Key, Value>

  private struct State {
    var items: [Element?] = []
    /// Where the oldest item is; those before are taken.
    var start = 0
    var lost = 0
    var waiting: [(id: UInt64, continuation: CheckedContinuation<Element?, Never>)] = []
    var nextID: UInt64 = 0
    var isFinished = false

    mutating func takeFirst() -> Element? {
      guard start < items.count else { return nil }
      let item = items[start].take()
      start += 1
      if start == items.count {
        items.removeAll(keepingCapacity: true)
        start = 0
      } else if start > 64, start * 2 > items.count {
        items.removeFirst(start)
        start = 0
      }
      return item
    }
  }

  private let state = Mutex(State())
  private let limit: Int

  init(limit: Int) { self.limit = max(1, limit) }

  func add(_ removal: Element) {
    let (continuation, dropped) = state.withLock { state in
      if !state.waiting.isEmpty {
        return (Optional(state.waiting.removeFirst().continuation), Element?.none)
      }
      var dropped: Element?
      if state.items.count - state.start >= limit {
        dropped = state.takeFirst()
        state.lost += 1 + (dropped?.lost ?? 0)
      }
      var removal = removal
      // Whoever comes after those that were dropped says so: the oldest one there is.
      if state.start == state.items.count {
        removal.lost = state.lost
        state.lost = 0
      } else if state.lost > 0 {
        state.items[state.start]?.lost += state.lost
        state.lost = 0
      }
      state.items.append(removal)
      return (nil, dropped)
    }
    continuation?.resume(returning: removal)
    _ = consume dropped
  }

  /// Ends the sequence behind what is in the buffer.
  func finish() {
    let waiting = state.withLock { state in
      state.isFinished = true
      defer { state.waiting.removeAll() }
      return state.waiting
    }
    for waiter in waiting { waiter.continuation.resume(returning: nil) }
  }

  func next(isolation: isolated (any Actor)? = #isolation) async -> Element? {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (item, isOver) = state.withLock { state in
          if Task.isCancelled { return (Element?.none, true) }
          if let item = state.takeFirst() { return (item, true) }
          if state.isFinished { return (nil, true) }
          state.waiting.append((id, continuation))
          return (nil, false)
        }
        if isOver { continuation.resume(returning: item) }
        // The handler below may have run before there was anything to find.
        if !isOver, Task.isCancelled { cancel(id) }
      }
    } onCancel: {
      cancel(id)
    }
  }

  private func cancel(_ id: UInt64) {
    let continuation = state.withLock { state in
      state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0).continuation }
    }
    continuation?.resume(returning: nil)
  }
}
