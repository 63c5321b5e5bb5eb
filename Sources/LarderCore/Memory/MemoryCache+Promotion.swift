// SPDX-License-Identifier: MIT

import Synchronization

/// For the cache that has others below this one: what comes from there must not undo
/// what was done here meanwhile, and what is read here is used there too.
extension MemoryCache {
  /// From now on uses are kept for ``forEachUsed(_:)`` whose entries leave before that asks.
  package func keepUses() { keepsUses.store(true, ordering: .relaxed) }

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
      noteUses(from: &slot)
      let now = index.now
      end(&probe, &removedEntries)
      settle(&removedEntries)
      let used = usesOfGone.withLock { uses in
        defer { uses = [] }
        return uses
      }
      if !used.isEmpty { body(used.map { ($0.key, max(0, now - $0.time)) }) }
    } while slot != LarderIndex.none
  }

  /// Notes which entries were used, for when they are gone. The index is locked.
  private func noteUses(from slot: inout UInt32) {
    let slots = index.takeReads(from: &slot)
    usesOfGone.withLock { uses in
      uses += slots.map { slot in
        let entry = index.payload(slot).assumingMemoryBound(to: Entry.self)
        return (entry.pointee.key, index.lastUse(slot) ?? index.now)
      }
    }
  }

  /// More is not kept until somebody asks.
  private var hasRoomForUses: Bool { usesOfGone.withLock { $0.count < 1 << 16 } }

  /// The same of all, before they leave together.
  func noteAllUses() {
    guard keepsUses.load(ordering: .relaxed) else { return }
    var slot = LarderIndex.none
    while hasRoomForUses {
      noteUses(from: &slot)
      if slot == LarderIndex.none { return }
    }
  }

  /// Notes that an entry was used that has just left. The index is locked.
  @usableFromInline @inline(never)
  func noteUse(_ payload: UnsafeMutableRawPointer) {
    guard let time = index.useOfLeft(), hasRoomForUses else { return }
    let key = payload.assumingMemoryBound(to: Entry.self).pointee.key
    usesOfGone.withLock { $0.append((key, time)) }
  }

  /// Whether an entry can be stored without another one leaving for it.
  package func hasRoom(for value: Value, _ key: Key, _ cost: Int?) -> Bool {
    if count >= countLimit { return false }
    let (sum, overflows) = index.totalCost.addingReportingOverflow(weigh(key, value, cost))
    return costLimit == .max || (!overflows && sum <= costLimit)
  }

  /// Has keys stand in the order of eviction as if they were used one after the other, as far as
  /// they have a value. They were not: ``forEachUsed(_:)`` does not tell of them.
  package func bringForward(_ keys: some Sequence<Key>) {
    for key in keys {
      let hash = hashing.hash(key)
      var probe = MemoryProbe()
      var removedEntries = RemovedEntries()
      let candidate = beginLocked(hash, &probe, &removedEntries)
      if matchLocked(key, candidate, &probe, &removedEntries) != nil {
        index.bringForward(&probe)
      }
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
