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
    private let events: SystemEvents

    fileprivate init(_ id: UInt64, _ events: SystemEvents) {
      self.id = id
      self.events = events
    }

    deinit { events.end(id) }
  }

  private struct State {
    var actions: [UInt64: Action] = [:]
    var lastID: UInt64 = 0
    /// What brings the events, from the first observation on.
    var source: (any Sendable)?
  }

  /// Those of the system that this was built for.
  package static let shared = SystemEvents { SystemEventSource($0) }

  private let state = Mutex(State())
  private let makeSource: @Sendable (@escaping Action) -> any Sendable

  /// - Parameter makeSource: Makes what posts the events, and is kept.
  package init(_ makeSource: @escaping @Sendable (@escaping Action) -> any Sendable) {
    self.makeSource = makeSource
  }

  package func observe(_ action: @escaping Action) -> Observation {
    let id = state.withLock { state in
      if state.source == nil { state.source = makeSource { [weak self] in self?.post($0) } }
      state.lastID += 1
      state.actions[state.lastID] = action
      return state.lastID
    }
    return Observation(id, self)
  }

  /// Runs what observers want done, one after the other.
  package func post(_ event: SystemEvent) {
    // Not under the lock: an action may make or release a cache.
    let actions = state.withLock { Array($0.actions.values) }
    for action in actions { action(event) }
  }

  private func end(_ id: UInt64) {
    // Released behind the lock, as it may hold anything.
    let action = state.withLock { $0.actions.removeValue(forKey: id) }
    withExtendedLifetime(action) {}
  }
}
