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
    statistics.loads = loads.loadCount.load(ordering: .relaxed)
    statistics.loadFailures = loads.loadFailures.load(ordering: .relaxed)
    statistics.refreshes = loads.refreshes.load(ordering: .relaxed)
    statistics.loadTime = .nanoseconds(
      Int64(clamping: loads.loadNanoseconds.load(ordering: .relaxed)))
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
    loads.loadCount.store(0, ordering: .relaxed)
    loads.loadFailures.store(0, ordering: .relaxed)
    loads.refreshes.store(0, ordering: .relaxed)
    loads.loadNanoseconds.store(0, ordering: .relaxed)
    failures.store(0, ordering: .relaxed)
  }
}
