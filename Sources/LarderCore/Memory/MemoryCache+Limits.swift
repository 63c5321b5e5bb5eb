// SPDX-License-Identifier: MIT

import Synchronization

extension MemoryCache {
  /// The most entries that the cache holds. 0 and less: none. `Int.max`: no limit.
  ///
  /// What is too much leaves before the assignment returns. If there is no memory for
  /// the bookkeeping of a first limit, the limit stays as it was, and
  /// ``CacheStatistics/failures`` counts it.
  ///
  /// - Complexity: O(1) for reading. For setting O(entries that leave), and O(n) when
  ///   the first limit is set or the last one lifted.
  public var countLimit: Int {
    get { settings.withLock { $0.countLimit } }
    set { setLimits(count: max(0, newValue)) }
  }

  /// The most that the entries cost together. 0 and less: only entries that cost
  /// nothing. `Int.max`: no limit.
  ///
  /// What is too much leaves before the assignment returns; as ``countLimit``.
  ///
  /// - Complexity: As ``countLimit``.
  public var costLimit: Int {
    get { settings.withLock { $0.costLimit } }
    set { setLimits(cost: max(0, newValue)) }
  }

  /// How long entries live that have no expiration of their own.
  ///
  /// A change holds for the entries that are there, too, counted from when they were
  /// written. Only those that were written while nothing in the cache could expire
  /// begin their life with the change. A new ``Expiration/spread`` holds only for those that
  /// are stored from now on. If there is no memory for the bookkeeping, the
  /// expiration stays as it was, and ``CacheStatistics/failures`` counts it.
  ///
  /// - Complexity: O(1) for reading, O(n log n) for setting.
  public var expiration: Expiration {
    get { settings.withLock { $0.expiration } }
    set {
      if newValue == .never, expiration == .never { return }
      changing { settings in
        guard index.setExpiration(newValue, clock) else { return countFailure() }
        settings.expiration = newValue
        lives.setStandard(newValue)
      }
    }
  }

  /// How many entries there are, those included that have expired and were not come
  /// upon yet.
  ///
  /// - Complexity: O(1).
  public var count: Int { Int(clamping: index.count) }

  /// What the entries cost together, likewise; `Int.max` if that is not enough.
  ///
  /// - Complexity: O(1).
  public var totalCost: Int { Int(clamping: index.totalCost) }

  /// Whether ``count`` is 0.
  ///
  /// - Complexity: O(1).
  public var isEmpty: Bool { count == 0 }

  func setLimits(count: Int? = nil, cost: Int? = nil) {
    changing { settings in
      let count = max(0, count ?? settings.countLimit)
      let cost = max(0, cost ?? settings.costLimit)
      if count == settings.countLimit, cost == settings.costLimit { return }
      guard index.setLimits(count: count, cost: cost) else { return countFailure() }
      settings.countLimit = count
      settings.costLimit = cost
    }
  }

  /// Changes settings and index together.
  private func changing(_ body: (inout Settings) -> Void) {
    var probe = MemoryProbe()
    var removedEntries = RemovedEntries()
    settings.withLock { settings in
      index.beginWriting()
      body(&settings)
      end(&probe, &removedEntries)
    }
    settle(&removedEntries)
  }

  /// Evicts entries, in the policy's order, until there are no more than this.
  ///
  /// The limit stays as it is. Pinned entries stay.
  ///
  /// - Parameter count: How many may stay. 0 and less: none.
  /// - Complexity: O(entries that leave), O(n log n) for a cache without limits. Without
  ///   memory for a list of them nothing leaves, and ``CacheStatistics/failures``
  ///   counts it.
  public func trim(toCount count: Int) {
    let count = UInt64(max(0, count))
    trim(.evictedForCount) {
      index.lockedCount > count ? Int(clamping: index.lockedCount - count) : 0
    } isEnough: {
      index.lockedCount <= count
    }
  }

  /// Evicts entries, in the policy's order, until they cost no more than this.
  ///
  /// The limit stays as it is. Pinned entries stay.
  ///
  /// - Parameter cost: What may stay. 0 and less: nothing, not even what costs nothing.
  /// - Complexity: As ``trim(toCount:)``, but O(n).
  public func trim(toCost cost: Int) {
    trim(.evictedForCost) {
      cost <= 0 || index.lockedTotalCost > UInt64(cost) ? .max : 0
    } isEnough: {
      cost > 0 && index.lockedTotalCost <= UInt64(cost)
    }
  }

  /// - Parameters:
  ///   - limit: How many entries will leave at most.
  ///   - isEnough: Whether no more has to leave.
  private func trim(_ cause: RemovalCause, limit: () -> Int, isEnough: () -> Bool) {
    var probe = MemoryProbe()
    var removedEntries = RemovedEntries()
    index.beginWriting()
    while let payload = index.leave(&probe) { take(payload, probe.cause, &removedEntries) }
    let limit = limit()
    if limit > 0 {
      let slots = index.list(.leastRecentFirst, limit: limit)
      if slots == nil { countFailure() }
      for slot in slots ?? [] {
        // Pinned entries come last.
        if isEnough() || index.isPinned(slot) { break }
        index.take(slot, cause)
        take(index.payload(slot), cause.number, &removedEntries)
      }
    }
    end(&probe, &removedEntries)
    settle(&removedEntries)
  }
}
