// SPDX-License-Identifier: MIT

#if Remote
  import Larder
  import Synchronization

  /// What a cache has not yet been told of: keys, each once, or everything, or that all copies are
  /// to be confirmed. That is told first: keys that were heard before it are removed all the same.
  ///
  /// However slow the cache is, no more than so many keys wait: then it is told that all changed.
  final class RemoteInvalidations<Key: Hashable & Sendable>: Sendable {
    private struct State {
      var keys: Set<Key> = []
      var isAll = false
      var isUnconfirmed = false
      var isFinished = false
      var waiting: CheckedContinuation<CacheInvalidation<Key>?, Never>?

      mutating func take() -> CacheInvalidation<Key>? {
        if !isAll, isUnconfirmed {
          isUnconfirmed = false
          return .unconfirmed
        }
        defer { (keys, isAll, isUnconfirmed) = ([], false, false) }
        if isAll { return .all }
        return keys.isEmpty ? nil : .keys(Array(keys))
      }
    }

    private let state = Mutex(State())
    private let limit: Int

    init(limit: Int = 1 << 16) { self.limit = limit }

    func add(_ keys: [Key]) {
      change { state in
        if state.isAll { return }
        state.keys.formUnion(keys)
        if state.keys.count > limit { (state.keys, state.isAll) = ([], true) }
      }
    }

    func addAll() { change { ($0.keys, $0.isAll) = ([], true) } }

    func addUnconfirmed() { change { $0.isUnconfirmed = true } }

    func finish() { change { $0.isFinished = true } }

    private func change(_ body: (inout State) -> Void) {
      let (waiting, next) = state.withLock { state in
        body(&state)
        guard let waiting = state.waiting else {
          return (
            CheckedContinuation<CacheInvalidation<Key>?, Never>?.none,
            nil as CacheInvalidation<Key>?
          )
        }
        let next = state.take()
        if next == nil, !state.isFinished { return (nil, nil) }
        state.waiting = nil
        return (waiting, next)
      }
      waiting?.resume(returning: next)
    }

    /// For one task at a time.
    func next() async -> CacheInvalidation<Key>? {
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let (isOver, next) = state.withLock { state in
            let next = state.take()
            if next != nil || state.isFinished || state.waiting != nil { return (true, next) }
            state.waiting = continuation
            return (false, nil)
          }
          if isOver { continuation.resume(returning: next) }
        }
      } onCancel: {
        finish()
      }
    }

    /// - Parameter end: Called when nobody listens any more.
    func stream(_ end: @escaping @Sendable () -> Void) -> AsyncStream<CacheInvalidation<Key>> {
      AsyncStream(unfolding: { await self.next() }, onCancel: end)
    }
  }
#endif
