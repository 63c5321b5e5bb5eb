// SPDX-License-Identifier: MIT

public import Synchronization

/// The loads under way in one cache, by key.
///
/// Code that holds this lock runs only keys' `==` and `hash`, and never locks the index;
/// the other way round is allowed.
@usableFromInline
package final class MemoryLoads<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// What a caller has to do.
  package enum Role {
    /// To load, and to finish with ``MemoryLoads/end(_:_:with:)``.
    case load(MemoryLoad<Value>)
    /// To wait for another caller's load.
    case wait(MemoryLoad<Value>)
  }

  private let loads = Mutex<[Key: MemoryLoad<Value>]>([:])
  /// How many there are: changes of the cache look only at this if it is 0.
  @usableFromInline let underWay = Atomic<Int>(0)

  package let loadCount = Atomic<UInt64>(0)
  package let loadFailures = Atomic<UInt64>(0)
  package let loadNanoseconds = Atomic<UInt64>(0)
  package let refreshes = Atomic<UInt64>(0)

  @inlinable
  package init() {}

  @inlinable
  package var isBusy: Bool { underWay.load(ordering: .acquiring) != 0 }

  /// Joins the load of a key, or starts one.
  ///
  /// - Throws: `.invalidArgument` to a load that asks for its own key, as it would
  ///   wait for itself; `.encoding` for a key that is not equal to itself, whose load would
  ///   never be found again.
  package func join(_ key: Key) throws(LarderError) -> Role {
    if key != key { throw LarderError.noKey(Key.self) }
    let fresh = MemoryLoad<Value>(id: MemoryLoading.nextID())
    var stale: MemoryLoad<Value>?
    let found = loads.withLock { loads in
      if let ongoing = loads[key] {
        if MemoryLoading.ids.contains(ongoing.id) { return Optional(Role.wait(ongoing)) }
        if ongoing.join() { return Role.wait(ongoing) }
        stale = ongoing
      } else {
        underWay.add(1, ordering: .acquiringAndReleasing)
      }
      loads[key] = fresh
      return nil
    }
    // A load's values are destroyed while nothing is locked.
    _ = consume stale
    guard case .wait(let ongoing)? = found else { return .load(fresh) }
    if MemoryLoading.ids.contains(ongoing.id) {
      throw LarderError(
        .invalidArgument, "The load of a key's value asks the cache to load the same key.")
    }
    return .wait(ongoing)
  }

  /// Starts a load, unless there is one.
  package func joinUnlessBusy(_ key: Key) -> MemoryLoad<Value>? {
    let fresh = MemoryLoad<Value>(id: MemoryLoading.nextID())
    var stale: MemoryLoad<Value>?
    let begins = loads.withLock { loads in
      if let ongoing = loads[key] {
        if !ongoing.isSuperseded { return false }
        stale = ongoing
      } else {
        underWay.add(1, ordering: .acquiringAndReleasing)
      }
      loads[key] = fresh
      return true
    }
    _ = consume stale
    return begins ? fresh : nil
  }

  /// Finishes a load that this caller started.
  package func end(
    _ ongoing: MemoryLoad<Value>, _ key: Key, with outcome: Result<Value, any Error>
  ) {
    let removed = loads.withLock { loads in
      guard loads[key] === ongoing else { return MemoryLoad<Value>?.none }
      underWay.subtract(1, ordering: .acquiringAndReleasing)
      return loads.removeValue(forKey: key)
    }
    ongoing.finish(outcome)
    _ = consume removed
  }

  /// The key was written or removed: what is being loaded is older than that.
  @usableFromInline
  package func supersede(_ key: Key) {
    loads.withLock { $0[key]?.supersede() }
  }

  /// Likewise, for all keys.
  package func supersedeAll() {
    loads.withLock { for ongoing in $0.values { ongoing.supersede() } }
  }

  /// Counts a load.
  package func count(nanoseconds: Int64, failed: Bool) {
    loadCount.add(1, ordering: .relaxed)
    if failed { loadFailures.add(1, ordering: .relaxed) }
    loadNanoseconds.add(UInt64(max(0, nanoseconds)), ordering: .relaxed)
  }
}
