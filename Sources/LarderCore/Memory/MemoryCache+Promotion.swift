// SPDX-License-Identifier: MIT

/// For the cache that has others below this one: what comes from there must not undo
/// what was done here meanwhile.
extension MemoryCache {
  /// Stores a value under a key that has none, if a condition holds.
  ///
  /// - Parameters:
  ///   - condition: Asked while the cache is locked: must not use it.
  /// - Returns: Whether the value was stored.
  /// - Complexity: As ``set(_:forKey:cost:expiration:)``.
  @discardableResult
  package func insert(
    _ value: Value, forKey key: Key, cost: Int?, expiration: Expiration?,
    if condition: () -> Bool
  ) -> Bool {
    let cost = weigh(key, value, cost)
    let hash = hashing.hash(key)
    var probe = MemoryProbe()
    var departures = Departures()
    var inserts = false
    let candidate = beginLocked(hash, &probe, &departures)
    if match(key, candidate, &probe) == nil, condition() {
      inserts = true
      // The search is begun anew, because the one above may stand behind the end.
      let candidate = index.first(hash, &probe)
      _ = put(value, key, cost, expiration, candidate, &probe, &departures)
    }
    end(&probe, &departures)
    settle(&departures)
    return inserts
  }

  /// Replaces what there is under a key: by a value if a condition holds, else by nothing.
  ///
  /// - Parameters:
  ///   - condition: Asked while the cache is locked: must not use it.
  /// - Complexity: As ``set(_:forKey:cost:expiration:)``.
  @inlinable
  package func replace(
    with value: Value, forKey key: Key, cost: Int?, expiration: Expiration?,
    if condition: () -> Bool
  ) {
    let cost = weigh(key, value, cost)
    let hash = hashing.hash(key)
    var probe = MemoryProbe()
    var departures = Departures()
    var replaced: Value?
    var removed: Entry?
    let candidate = beginLocked(hash, &probe, &departures)
    if flights.isBusy { flights.supersede(key) }
    if condition() {
      replaced = put(value, key, cost, expiration, candidate, &probe, &departures)
    } else {
      removed = takeLocked(key, candidate, &probe)
    }
    end(&probe, &departures)
    if let replaced { settle(replaced: replaced, key) }
    settle(&departures)
    if let removed { settle(removed: removed) }
  }
}
