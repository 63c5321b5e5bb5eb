// SPDX-License-Identifier: MIT

import LarderCore
import Synchronization

extension Cache {
  /// What the cache did since it was made or ``resetStatistics()`` was called, with all
  /// its tiers.
  ///
  /// What a ``DiskCache`` did besides, because it was used by itself, is in its own.
  ///
  /// - Complexity: O(number of tiers).
  public var statistics: TieredCacheStatistics {
    var statistics = TieredCacheStatistics()
    statistics.memory = memoryCache.statistics
    statistics.tiers = slots.map(\.statistics)
    statistics.promotions = counters.promotions.load(ordering: .relaxed)
    let counts = loads.counts
    statistics.loads = counts.loads.load(ordering: .relaxed)
    statistics.loadFailures = counts.failures.load(ordering: .relaxed)
    statistics.loadTimeouts = counts.timeouts.load(ordering: .relaxed)
    statistics.refreshes = counts.refreshes.load(ordering: .relaxed)
    statistics.sharedLoads = counts.shared.load(ordering: .relaxed)
    statistics.staleHits = counts.stale.load(ordering: .relaxed)
    statistics.emptyLoads = counters.emptyLoads.load(ordering: .relaxed)
    statistics.loadTime = counts.time
    statistics.negativeHits = counters.negativeHits.load(ordering: .relaxed)
    statistics.pendingWrites = queue?.count ?? 0
    statistics.pendingHits = counters.pendingHits.load(ordering: .relaxed)
    statistics.coalescedWrites = queue?.coalesced.load(ordering: .relaxed) ?? 0
    statistics.writeFailures = counters.writeFailures.load(ordering: .relaxed)
    statistics.invalidations = counters.invalidations.load(ordering: .relaxed)
    return statistics
  }

  /// Sets all counters to 0, but for what is there now: the memory's entries and cost,
  /// and the writes that wait.
  ///
  /// - Complexity: O(number of tiers).
  public func resetStatistics() {
    memoryCache.resetStatistics()
    for slot in slots { slot.resetStatistics() }
    loads.counts.reset()
    counters.promotions.store(0, ordering: .relaxed)
    counters.emptyLoads.store(0, ordering: .relaxed)
    counters.negativeHits.store(0, ordering: .relaxed)
    counters.pendingHits.store(0, ordering: .relaxed)
    counters.writeFailures.store(0, ordering: .relaxed)
    counters.invalidations.store(0, ordering: .relaxed)
    queue?.coalesced.store(0, ordering: .relaxed)
  }
}
