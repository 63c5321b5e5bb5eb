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
    var removedEntries = RemovedEntries()
    var inserts = false
    let candidate = beginLocked(hash, &probe, &removedEntries)
    if match(key, candidate, &probe) == nil, condition() {
      inserts = true
      // Searched again, because the candidate above may be past the end.
      let candidate = index.first(hash, &probe)
      _ = put(value, key, cost, expiration, candidate, &probe, &removedEntries)
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
    if condition: () -> Bool
  ) {
    let cost = weigh(key, value, cost)
    let hash = hashing.hash(key)
    var probe = MemoryProbe()
    var removedEntries = RemovedEntries()
    var replaced: Value?
    var removed: Entry?
    let candidate = beginLocked(hash, &probe, &removedEntries)
    if loads.isBusy { loads.supersede(key) }
    if condition() {
      replaced = put(value, key, cost, expiration, candidate, &probe, &removedEntries)
    } else {
      removed = takeLocked(key, candidate, &probe)
    }
    end(&probe, &removedEntries)
    if let replaced { settle(replaced: replaced, key) }
    settle(&removedEntries)
    if let removed { settle(removed: removed) }
  }
}
