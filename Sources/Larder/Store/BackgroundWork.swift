// SPDX-License-Identifier: MIT

import LarderCore
import Synchronization

/// Work that the library does by itself, and for which it holds a cache that its users may have
/// released: it brings back hot keys, refreshes, writes back, or removes what others changed.
/// Whoever opens the store again meanwhile waits for it.
///
/// It begins before it holds a cache, and ends when it has released it: while none is under way, a
/// store that is open in this process is held by somebody else.
struct BackgroundWork {
  private static let count = Atomic(0)

  /// Whether there is any in this process.
  static var isUnderWay: Bool { count.load(ordering: .sequentiallyConsistent) > 0 }

  /// Begins.
  init() { Self.count.add(1, ordering: .sequentiallyConsistent) }

  func end() { Self.count.subtract(1, ordering: .sequentiallyConsistent) }

  /// Does something in a task of its own, which holds what the body does until that has returned.
  @discardableResult
  static func start(
    priority: TaskPriority? = nil, _ body: @escaping @Sendable () async -> Void
  ) -> Task<Void, Never> {
    let work = BackgroundWork()
    let body = Handover(body)
    return Task.detached(priority: priority) {
      await body.take()?()
      work.end()
    }
  }
}
