// SPDX-License-Identifier: MIT

/// For the cache that has others below this one: what comes from there must not undo
/// what was done here meanwhile, and what is read here is used there too.
extension MemoryCache {
  /// Calls a closure with keys that were used since the last such call, each with the
  /// nanoseconds since then, 0 where nobody knows; some thousand at a time.
  ///
  /// - Parameter body: Called while nothing is locked.
  /// - Complexity: O(n). The cache is locked for some thousand entries at a time; no read
  ///   costs more for it.
  package func forEachUsed(_ body: ([(key: Key, age: Int64)]) -> Void) {
    var slot = LarderIndex.none
    repeat {
      var probe = MemoryProbe()
      var removedEntries = RemovedEntries()
      index.beginWriting()
      let now = index.now
      let used = index.takeReads(from: &slot).map { slot in
        let entry = index.payload(slot).assumingMemoryBound(to: Entry.self)
        return (key: entry.pointee.key, age: index.timeSinceUse(slot, now: now))
      }
      end(&probe, &removedEntries)
      settle(&removedEntries)
      if !used.isEmpty { body(used) }
    } while slot != LarderIndex.none
  }

  /// Whether an entry can be stored without another one leaving for it.
  package func hasRoom(for value: Value, _ key: Key, _ cost: Int?) -> Bool {
    if count >= countLimit { return false }
    let (sum, overflows) = index.totalCost.addingReportingOverflow(weigh(key, value, cost))
    return costLimit == .max || (!overflows && sum <= costLimit)
  }

  /// Says that keys were used, one after the other, as far as they have a value.
  package func use(_ keys: some Sequence<Key>) {
    for key in keys {
      let hash = hashing.hash(key)
      var probe = MemoryProbe()
      var removedEntries = RemovedEntries()
      let candidate = beginLocked(hash, &probe, &removedEntries)
      if matchLocked(key, candidate, &probe, &removedEntries) != nil { index.use(&probe) }
      end(&probe, &removedEntries)
      settle(&removedEntries)
    }
  }

  /// How long an entry lives here that is stored without an expiration of its own.
  package func expiration(of value: Value, _ key: Key) -> Expiration {
    lives.own(nil, key, value) ?? expiration
  }

  /// Stores a value under a key that has none, if a condition holds.
  ///
  /// - Parameters:
  ///   - condition: Asked while the cache is locked: must not use it.
  /// - Returns: Whether the value was stored.
  /// - Complexity: As ``set(_:forKey:cost:expiration:)``.
  @discardableResult
  package func insert(
    _ value: Value, forKey key: Key, cost: Int?, expiration: Expiration?,
    company: MemoryCompany? = nil, if condition: () -> Bool
  ) -> Bool {
    let cost = weigh(key, value, cost)
    let expiration = lives.own(expiration, key, value)
    let hash = hashing.hash(key)
    var probe = MemoryProbe()
    var removedEntries = RemovedEntries()
    var inserts = false
    let candidate = beginLocked(hash, &probe, &removedEntries)
    if condition(), matchLocked(key, candidate, &probe, &removedEntries) == nil {
      inserts = true
      // Searched again, because the candidate above may be past the end.
      let candidate = index.first(hash, &probe)
      _ = put(value, key, cost, expiration, candidate, &probe, &removedEntries, with: company)
    }
    end(&probe, &removedEntries)
    settle(&removedEntries)
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
    company: MemoryCompany?, if condition: () -> Bool
  ) {
    let cost = weigh(key, value, cost)
    let expiration = lives.own(expiration, key, value)
    let hash = hashing.hash(key)
    var probe = MemoryProbe()
    var removedEntries = RemovedEntries()
    var replaced: Value?
    var removed: Entry?
    let candidate = beginLocked(hash, &probe, &removedEntries)
    let superseded = loads.isBusy ? loads.supersede(key) : nil
    let isKept = condition()
    if isKept {
      replaced = put(
        value, key, cost, expiration, candidate, &probe, &removedEntries, with: company)
    } else {
      removed = takeLocked(key, candidate, &probe, &removedEntries)
    }
    end(&probe, &removedEntries)
    if let superseded { superseded.release(isKept ? value : nil) }
    if let replaced { settle(replaced: replaced, key) }
    settle(&removedEntries)
    if let removed { settle(removed: removed) }
  }
}
