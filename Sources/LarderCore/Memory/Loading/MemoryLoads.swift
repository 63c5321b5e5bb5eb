// SPDX-License-Identifier: MIT

public import Synchronization

/// The loads under way in one cache, by key.
///
/// Code that holds this lock runs only keys' `==` and `hash`, and never locks the index;
/// the other way round is allowed.
@usableFromInline
package final class MemoryLoads<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  package typealias Load = MemoryLoad<Value>
  /// A key, and the load of it that this caller has to finish, or waits for.
  package typealias Keyed = (key: Key, load: Load)

  private let loads = Mutex<[Key: Load]>([:])
  /// How many there are: changes of the cache look only at this if it is 0.
  @usableFromInline let underWay = Atomic<Int>(0)

  package let counts = MemoryLoadCounts()
  private let clock: CacheClock
  /// From when on callers with an old value get that; nil if there are no old values.
  private let softTimeout: Duration?
  private let timeout: Duration?

  package init(_ configuration: MemoryCacheConfiguration<Key, Value>) {
    clock = configuration.clock
    softTimeout = configuration.staleIfError == nil ? nil : configuration.softLoadTimeout
    timeout = configuration.loadTimeout
  }

  @inlinable
  package var isBusy: Bool { underWay.load(ordering: .acquiring) != 0 }

  /// Joins the loads of keys, and starts those that nobody else has started.
  ///
  /// - Parameter body: Gets each key, its load, and whether it is this caller who has to load,
  ///   and to finish with ``end(_:_:with:)``; else it is to be waited for.
  /// - Throws: `.invalidArgument` to a load that asks for its own key, as it would
  ///   wait for itself; `.encoding` for a key that is not equal to itself, whose load would
  ///   never be found again. Nothing was joined then.
  func join(
    _ keys: some Collection<Key>, _ body: (Key, Load, Bool) -> Void
  ) throws(LarderError) {
    if keys.contains(where: { $0 != $0 }) { throw LarderError.noKey(Key.self) }
    let running = MemoryLoading.ids
    // A load's values are destroyed while nothing is locked.
    var abandoned: [Load] = []
    let asksForItself = loads.withLock { loads in
      if !running.isEmpty,
        keys.contains(where: { loads[$0].map { running.contains($0.id) } ?? false })
      {
        return true
      }
      for key in keys {
        if let ongoing = loads[key] {
          if ongoing.join() {
            counts.shared.add(1, ordering: .relaxed)
            body(key, ongoing, false)
            continue
          }
          abandoned.append(ongoing)
        } else {
          underWay.add(1, ordering: .acquiringAndReleasing)
        }
        let fresh = Load()
        loads[key] = fresh
        body(key, fresh, true)
      }
      return false
    }
    _ = consume abandoned
    if asksForItself {
      throw LarderError(
        .invalidArgument, "The load of a key's value asks the cache to load the same key.")
    }
  }

  /// Starts a load to refresh a value, unless there is one.
  package func joinUnlessBusy(_ key: Key) -> Load? {
    let fresh = Load()
    var abandoned: Load?
    let begins = loads.withLock { loads in
      if let ongoing = loads[key] {
        if !ongoing.isSuperseded { return false }
        abandoned = ongoing
      } else {
        underWay.add(1, ordering: .acquiringAndReleasing)
      }
      loads[key] = fresh
      return true
    }
    _ = consume abandoned
    if begins { counts.refreshes.add(1, ordering: .relaxed) }
    return begins ? fresh : nil
  }

  /// Starts loads to refresh values, but those that there are.
  package func joinUnlessBusy(_ keys: [Key]) -> [Keyed] {
    keys.compactMap { key in joinUnlessBusy(key).map { (key, $0) } }
  }

  /// Names the call that loads, and watches how long it takes.
  package func begin(_ run: MemoryLoadRun, _ own: [Keyed]) {
    for (_, ongoing) in own { ongoing.begin(run) }
    if softTimeout == nil, timeout == nil { return }
    run.setTimer(Task { await watch(run, own) })
  }

  private func watch(_ run: MemoryLoadRun, _ own: [Keyed]) async {
    // A wait ends early if the load has ended.
    do {
      var waited = Duration.zero
      if let softTimeout, softTimeout < timeout ?? .seconds(Int64.max) {
        waited = max(.zero, softTimeout)
        try await clock.sleep(for: waited)
        for (_, ongoing) in own { ongoing.becomeLate() }
      }
      guard let timeout else { return }
      try await clock.sleep(for: timeout - waited)
      give(up: run, own, after: timeout)
    } catch {}
  }

  private func give(up run: MemoryLoadRun, _ own: [Keyed], after timeout: Duration) {
    if !run.count() { return }
    counts.count(nanoseconds: timeout.inNanoseconds, failed: true)
    counts.timeouts.add(1, ordering: .relaxed)
    let error = LarderError(.timedOut, "A load has not ended within \(timeout).")
    for (key, ongoing) in own {
      ongoing.supersede()
      end(ongoing, key, with: .failure(error))
    }
    run.cancel()
  }

  /// Finishes a load that this caller started.
  package func end(_ ongoing: Load, _ key: Key, with outcome: Load.Outcome) {
    let removed = loads.withLock { loads in
      guard loads[key] === ongoing else { return Load?.none }
      underWay.subtract(1, ordering: .acquiringAndReleasing)
      return loads.removeValue(forKey: key)
    }
    ongoing.finish(outcome)
    _ = consume removed
  }

  /// The key was written or removed: what is being loaded is older than that.
  ///
  /// - Returns: The load, to be released when nothing is locked; nil if there is none, or if
  ///   it is the load itself that wrote: its callers get what it returns.
  @usableFromInline
  package func supersede(_ key: Key) -> MemoryLoad<Value>? {
    loads.withLock { supersede(key, &$0) }
  }

  /// Likewise, for all keys.
  package func supersedeAll() -> [Load] {
    loads.withLock { loads in loads.keys.compactMap { supersede($0, &loads) } }
  }

  private func supersede(_ key: Key, _ loads: inout [Key: Load]) -> Load? {
    guard let ongoing = loads[key] else { return nil }
    ongoing.supersede()
    if MemoryLoading.ids.contains(ongoing.id) { return nil }
    underWay.subtract(1, ordering: .acquiringAndReleasing)
    loads[key] = nil
    return ongoing
  }
}
