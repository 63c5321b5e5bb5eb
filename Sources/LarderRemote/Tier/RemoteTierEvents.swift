// SPDX-License-Identifier: MIT

#if Remote
  import Foundation
  import Larder
  import LarderCore
  import Synchronization

  /// What a connection tells a ``RemoteTier``: goes to the absent keys and to the caches above.
  final class RemoteTierEvents<Key: Hashable & Sendable>: Sendable {
    private struct State {
      var listeners: [Int: RemoteInvalidations<Key>] = [:]
      var nextID = 0
      var figures = RemoteTierStatistics()
      /// Drops copies when their time of grace is over.
      var grace: Task<Void, Never>?
      var isFinished = false
    }

    let absences: RemoteAbsences
    let changes = RemoteChanges()
    let staleness: RemoteStaleness
    private let prefix: [UInt8]
    private let keyCoder: KeyCoder<Key>
    private let onDisconnect: RemoteDisconnection
    private let clock: CacheClock
    private let state = Mutex(State())

    init(_ prefix: [UInt8], _ keyCoder: KeyCoder<Key>, _ configuration: RemoteTierConfiguration) {
      self.prefix = prefix
      self.keyCoder = keyCoder
      onDisconnect = configuration.onDisconnect
      clock = configuration.clock
      absences = RemoteAbsences(limit: configuration.absentCountLimit, clock: configuration.clock)
      staleness = RemoteStaleness(
        sampling: configuration.stalenessSampling, clock: configuration.clock)
    }

    func receive(_ event: RemoteEvent) {
      switch event {
      case .invalidated(let keys): invalidate(keys)
      // Who waits for a change is not told of it: they are to ask.
      case .untracked(let key): wrote(key)
      case .flushed:
        state.withLock { $0.figures.flushes += 1 }
        forgetAll()
      case .connected: connect()
      case .lost: lose()
      }
    }

    /// A key was written or removed: by others, or by this tier, of which nobody tells.
    func wrote(_ key: [UInt8]) {
      absences.forget(key)
      changes.change(key)
      staleness.change(key)
    }

    /// Tells the caches of keys that have changed.
    func invalidate(_ keys: [[UInt8]]) {
      var changed: [Key] = []
      for bytes in keys where bytes.starts(with: prefix) {
        wrote(bytes)
        // What is no key of ours has no copies.
        guard let key = try? keyCoder.decode(Data(bytes.dropFirst(prefix.count))) else { continue }
        changed.append(key)
      }
      let listeners = state.withLock { state in
        state.figures.invalidations += UInt64(changed.count)
        return Array(state.listeners.values)
      }
      if changed.isEmpty { return }
      for listener in listeners { listener.add(changed) }
    }

    /// No copy is used any more: not before it is confirmed, if it can be.
    private func forgetAll() {
      let confirms = onDisconnect.confirmsCopies
      forgetAll { if confirms { $0.addUnconfirmed() } else { $0.addAll() } }
    }

    private func forgetAll(_ tell: (RemoteInvalidations<Key>) -> Void) {
      absences.forgetAll()
      changes.changeAll()
      staleness.changeAll()
      for listener in state.withLock({ Array($0.listeners.values) }) { tell(listener) }
    }

    private func connect() {
      let grace = state.withLock { state in
        state.figures.connections += 1
        return state.grace.take()
      }
      guard let grace else { return }
      grace.cancel()
      // Nobody told what changed meanwhile.
      forgetAll()
    }

    private func lose() {
      state.withLock { $0.figures.lostConnections += 1 }
      guard let time = onDisconnect.graceTime else { return forgetAll() }
      // Copies stay, and nothing else does.
      forgetAll { _ in }
      let grace = Task.detached { [weak self, clock] in
        do { try await clock.sleep(for: time) } catch { return }
        self?.forgetAll()
      }
      state.withLock { $0.grace = grace }
    }

    func stream() -> AsyncStream<CacheInvalidation<Key>> {
      let invalidations = RemoteInvalidations<Key>()
      let (id, isFinished) = state.withLock { state in
        state.nextID += 1
        state.listeners[state.nextID] = invalidations
        return (state.nextID, state.isFinished)
      }
      if isFinished { invalidations.finish() }
      return invalidations.stream { [weak self] in self?.remove(id) }
    }

    private func remove(_ id: Int) { state.withLock { $0.listeners[id] = nil } }

    func finish() {
      let (listeners, grace) = state.withLock { state in
        state.isFinished = true
        return (Array(state.listeners.values), state.grace.take())
      }
      grace?.cancel()
      changes.changeAll()
      for listener in listeners { listener.finish() }
    }

    func add(to statistics: RemoteTierStatistics) -> RemoteTierStatistics {
      let figures = state.withLock { $0.figures }
      var statistics = statistics
      statistics.invalidations = figures.invalidations
      statistics.flushes = figures.flushes
      statistics.connections = figures.connections
      statistics.lostConnections = figures.lostConnections
      staleness.add(to: &statistics)
      return statistics
    }
  }
#endif
