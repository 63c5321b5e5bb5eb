// SPDX-License-Identifier: MIT

import Foundation

extension MemoryCache {
  /// The keys of all entries that have not expired.
  ///
  /// Leaves no trace in the order of eviction or the statistics.
  ///
  /// - Parameter order: In which order.
  /// - Returns: The keys. Without memory for a list it is empty, and
  ///   ``CacheStatistics/failures`` counts it.
  /// - Complexity: O(n); O(n log n) for an order of a cache without limits. The cache is
  ///   locked meanwhile.
  public func keys(_ order: CacheOrder = .unordered) -> [Key] {
    list(order, limit: .max) { slot, entry in entry.key }
  }

  /// All entries that have not expired, or the first of them.
  ///
  /// Leaves no trace in the order of eviction or the statistics.
  ///
  /// - Parameters:
  ///   - order: In which order.
  ///   - limit: How many at most. 0 and less: none.
  /// - Returns: The entries. Without memory for a list it is empty, and
  ///   ``CacheStatistics/failures`` counts it.
  /// - Complexity: O(n), O(limit) if the cache has a limit; O(n log n) for an order of a
  ///   cache without limits. The cache is locked meanwhile.
  public func entries(
    _ order: CacheOrder = .unordered, limit: Int = .max
  ) -> [CacheEntry<Key, Value>] {
    let date = clock.date
    let now = index.now
    return list(order, limit: limit) { slot, entry in
      let deadline = index.deadline(slot)
      let seconds = (Double(deadline) - Double(now)) / 1e9
      return CacheEntry(
        key: entry.key, value: entry.value, cost: Int(clamping: index.cost(slot)),
        expires: deadline == .max ? nil : date.addingTimeInterval(seconds),
        isPinned: index.isPinned(slot))
    }
  }

  /// Whether an entry is only kept for loads that fail. The index is locked.
  func hasExpired(_ slot: UInt32) -> Bool {
    grace != 0 && index.hasPassed(index.deadline(slot))
  }

  private func list<R>(
    _ order: CacheOrder, limit: Int, _ body: (UInt32, borrowing Entry) -> R
  ) -> [R] {
    var probe = MemoryProbe()
    var removedEntries = RemovedEntries()
    index.beginWriting()
    while let payload = index.leave(&probe) { take(payload, probe.cause, &removedEntries) }
    let slots = index.list(order, limit: grace == 0 ? limit : .max)
    if slots == nil { countFailure() }
    let live = grace == 0 ? slots ?? [] : (slots ?? []).filter { !hasExpired($0) }
    let results = live.prefix(max(0, limit)).map { slot in
      body(slot, index.payload(slot).assumingMemoryBound(to: Entry.self).pointee)
    }
    end(&probe, &removedEntries)
    settle(&removedEntries)
    return results
  }
}
