// SPDX-License-Identifier: MIT

import Synchronization

/// What the system tells an app that a cache answers.
package enum SystemEvent: Sendable {
  case memoryWarning
  case background
}

/// Hands events of the system to whoever observes them. All caches of a process share one.
package final class SystemEvents: Sendable {
  package typealias Action = @Sendable (SystemEvent) -> Void

  /// Lasts as long as somebody refers to it.
  package final class Observation: Sendable {
    private let id: UInt64
    private let observers: Observers

    fileprivate init(_ id: UInt64, _ observers: Observers) {
      self.id = id
      self.observers = observers
    }

    deinit { observers.remove(id) }
  }

  /// What observers want done. The source refers to it, and nothing here refers to the source.
  fileprivate final class Observers: Sendable {
    private let actions = Mutex<[UInt64: Action]>([:])
    private let lastID = Atomic<UInt64>(0)

    func add(_ action: @escaping Action) -> UInt64 {
      let id = lastID.add(1, ordering: .relaxed).newValue
      actions.withLock { $0[id] = action }
      return id
    }

    func remove(_ id: UInt64) {
      // Released after the lock, as it may hold anything.
      let action = actions.withLock { $0.removeValue(forKey: id) }
      withExtendedLifetime(action) {}
    }

    /// Runs them, one after the other.
    func post(_ event: SystemEvent) {
      // Not under the lock: an action may make or release a cache.
      for action in actions.withLock({ Array($0.values) }) { action(event) }
    }
  }

  /// Those of the system that this was built for.
  package static let shared = SystemEvents { SystemEventSource($0) }

  private let observers = Observers()
  /// What brings the events, from the first observation on.
  private let source = Mutex<(any Sendable)?>(nil)
  private let makeSource: @Sendable (@escaping Action) -> any Sendable

  /// - Parameter makeSource: Makes what posts the events, and is kept.
  package init(_ makeSource: @escaping @Sendable (@escaping Action) -> any Sendable) {
    self.makeSource = makeSource
  }

  package func observe(_ action: @escaping Action) -> Observation {
    source.withLock { [observers] source in
      if source == nil { source = makeSource { observers.post($0) } }
    }
    return Observation(observers.add(action), observers)
  }
}
