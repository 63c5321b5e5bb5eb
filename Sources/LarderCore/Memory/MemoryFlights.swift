// SPDX-License-Identifier: MIT

public import Synchronization

/// The loads under way in one cache, by key.
///
/// Whoever has this locked runs only keys' `==` and `hash`, and never locks the index;
/// the other way round is allowed.
@usableFromInline
package final class MemoryFlights<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// What one who asks has to do.
  package enum Role {
    /// To load, and to ``MemoryFlights/end(_:_:with:)`` the flight.
    case load(MemoryFlight<Value>)
    /// To wait for it.
    case wait(MemoryFlight<Value>)
  }

  private let flights = Mutex<[Key: MemoryFlight<Value>]>([:])
  /// How many there are: changes of the cache look only at this if it is 0.
  @usableFromInline let underWay = Atomic<Int>(0)

  package let loads = Atomic<UInt64>(0)
  package let loadFailures = Atomic<UInt64>(0)
  package let loadNanoseconds = Atomic<UInt64>(0)
  package let refreshes = Atomic<UInt64>(0)

  @inlinable
  package init() {}

  @inlinable
  package var isBusy: Bool { underWay.load(ordering: .acquiring) != 0 }

  /// Finds the flight of a key, or begins one.
  ///
  /// - Throws: `.invalidArgument` to a load that asks for its own key, as it would
  ///   wait for itself.
  package func join(_ key: Key) throws(LarderError) -> Role {
    let fresh = MemoryFlight<Value>(id: MemoryLoading.nextID())
    var stale: MemoryFlight<Value>?
    let found = flights.withLock { flights in
      if let flight = flights[key] {
        if MemoryLoading.flights.contains(flight.id) { return Optional(Role.wait(flight)) }
        if flight.join() { return Role.wait(flight) }
        stale = flight
      } else {
        underWay.add(1, ordering: .acquiringAndReleasing)
      }
      flights[key] = fresh
      return nil
    }
    // What a flight has of the caller's is destroyed while nothing is locked.
    _ = consume stale
    guard case .wait(let flight)? = found else { return .load(fresh) }
    if MemoryLoading.flights.contains(flight.id) {
      throw LarderError(
        .invalidArgument, "The load of a key's value asks the cache to load the same key.")
    }
    return .wait(flight)
  }

  /// Begins a flight, unless there is one.
  package func joinUnlessBusy(_ key: Key) -> MemoryFlight<Value>? {
    let fresh = MemoryFlight<Value>(id: MemoryLoading.nextID())
    var stale: MemoryFlight<Value>?
    let begins = flights.withLock { flights in
      if let flight = flights[key] {
        if !flight.isSuperseded { return false }
        stale = flight
      } else {
        underWay.add(1, ordering: .acquiringAndReleasing)
      }
      flights[key] = fresh
      return true
    }
    _ = consume stale
    return begins ? fresh : nil
  }

  /// Ends a flight that this caller began.
  package func end(
    _ flight: MemoryFlight<Value>, _ key: Key, with outcome: Result<Value, any Error>
  ) {
    let removed = flights.withLock { flights in
      guard flights[key] === flight else { return MemoryFlight<Value>?.none }
      underWay.subtract(1, ordering: .acquiringAndReleasing)
      return flights.removeValue(forKey: key)
    }
    flight.finish(outcome)
    _ = consume removed
  }

  /// The key was written or removed: what is being loaded is older than that.
  @usableFromInline
  package func supersede(_ key: Key) {
    flights.withLock { $0[key]?.supersede() }
  }

  /// Likewise, for all keys.
  package func supersedeAll() {
    flights.withLock { for flight in $0.values { flight.supersede() } }
  }

  /// Counts a load.
  package func count(nanoseconds: Int64, failed: Bool) {
    loads.add(1, ordering: .relaxed)
    if failed { loadFailures.add(1, ordering: .relaxed) }
    loadNanoseconds.add(UInt64(max(0, nanoseconds)), ordering: .relaxed)
  }
}
