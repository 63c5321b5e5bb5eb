// SPDX-License-Identifier: MIT

public import Synchronization

/// The observers of a cache's removals.
@usableFromInline
final class RemovalHub<Key: Sendable, Value: Sendable>: Sendable {
  private struct Listeners {
    var buffers: [UInt64: RemovalBuffer<Key, Value>] = [:]
    var nextID: UInt64 = 0
  }

  private let listeners = Mutex(Listeners())
  @usableFromInline let count: Atomic<Int>
  private let callback: (@Sendable (Removal<Key, Value>) -> Void)?

  init(callback: (@Sendable (Removal<Key, Value>) -> Void)?) {
    self.callback = callback
    self.count = Atomic(callback == nil ? 0 : 1)
  }

  /// Whether anybody listens: if not, no removal has to be made.
  @inlinable
  var isHeard: Bool { count.load(ordering: .acquiring) != 0 }

  /// To be called while nothing is locked.
  func report(_ removal: Removal<Key, Value>) {
    callback?(removal)
    let buffers = listeners.withLock { Array($0.buffers.values) }
    for buffer in buffers { buffer.add(removal) }
  }

  func subscribe(limit: Int) -> RemovalSubscription<Key, Value> {
    let buffer = RemovalBuffer<Key, Value>(limit: limit)
    let id = listeners.withLock { listeners in
      listeners.nextID += 1
      listeners.buffers[listeners.nextID] = buffer
      return listeners.nextID
    }
    count.add(1, ordering: .acquiringAndReleasing)
    return RemovalSubscription(hub: self, id: id, buffer: buffer)
  }

  func unsubscribe(_ id: UInt64) {
    // The buffer outlives the lock: what is in it may use the cache when it goes.
    let buffer = listeners.withLock { $0.buffers.removeValue(forKey: id) }
    count.subtract(1, ordering: .acquiringAndReleasing)
    _ = consume buffer
  }

  /// The cache is gone.
  func finish() {
    let buffers = listeners.withLock { Array($0.buffers.values) }
    for buffer in buffers { buffer.finish() }
  }
}

/// A listener's place in the hub; ends with the last sequence or iterator that has it.
final class RemovalSubscription<Key: Sendable, Value: Sendable>: Sendable {
  private let hub: RemovalHub<Key, Value>
  private let id: UInt64
  let buffer: RemovalBuffer<Key, Value>

  init(hub: RemovalHub<Key, Value>, id: UInt64, buffer: RemovalBuffer<Key, Value>) {
    self.hub = hub
    self.id = id
    self.buffer = buffer
  }

  deinit { hub.unsubscribe(id) }
}
