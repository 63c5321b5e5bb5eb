// SPDX-License-Identifier: MIT

/// What a cache does when the system tells something.
struct SystemEventActions<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  let removesAllOnMemoryWarning: Bool
  let removesAllInBackground: Bool
  let onMemoryWarning: (@Sendable (MemoryCache<Key, Value>) -> Void)?
  let onEnterBackground: (@Sendable (MemoryCache<Key, Value>) -> Void)?

  init(_ configuration: MemoryCacheConfiguration<Key, Value>) {
    removesAllOnMemoryWarning = configuration.removesAllOnMemoryWarning
    removesAllInBackground = configuration.removesAllInBackground
    onMemoryWarning = configuration.onMemoryWarning
    onEnterBackground = configuration.onEnterBackground
  }
}

extension MemoryCache {
  /// - Complexity: That of ``removeAll(keepingCapacity:)``.
  package func handle(_ event: SystemEvent) {
    switch event {
    case .memoryWarning:
      onSystemEvent.onMemoryWarning?(self)
      if onSystemEvent.removesAllOnMemoryWarning { removeAll() }
    case .background:
      onSystemEvent.onEnterBackground?(self)
      if onSystemEvent.removesAllInBackground { removeAll() }
    }
  }
}
