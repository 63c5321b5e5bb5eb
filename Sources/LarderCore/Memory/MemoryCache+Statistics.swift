// SPDX-License-Identifier: MIT

import Synchronization

extension MemoryCache {
  /// What the cache did since it was made or ``resetStatistics()`` was called.
  ///
  /// Counting is always on: it costs a read one addition to a number that no other
  /// thread writes.
  ///
  /// - Complexity: O(1). The cache is locked meanwhile.
  public var statistics: CacheStatistics {
    index.beginWriting()
    var statistics = index.statistics()
    index.endWriting()
    let counts = loads.counts
    statistics.loads = counts.loads.load(ordering: .relaxed)
    statistics.loadFailures = counts.failures.load(ordering: .relaxed)
    statistics.loadTimeouts = counts.timeouts.load(ordering: .relaxed)
    statistics.refreshes = counts.refreshes.load(ordering: .relaxed)
    statistics.sharedLoads = counts.shared.load(ordering: .relaxed)
    statistics.staleHits = counts.stale.load(ordering: .relaxed)
    statistics.loadTime = counts.time
    statistics.failures = failures.load(ordering: .relaxed)
    return statistics
  }

  /// Sets all counters to 0, but for what is there now: entries, cost and memory.
  ///
  /// - Complexity: O(1). The cache is locked meanwhile.
  public func resetStatistics() {
    index.beginWriting()
    index.resetStatistics()
    index.endWriting()
    loads.counts.reset()
    failures.store(0, ordering: .relaxed)
  }
}
