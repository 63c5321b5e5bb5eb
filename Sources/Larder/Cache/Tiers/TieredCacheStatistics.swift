// SPDX-License-Identifier: MIT

/// What a ``Cache`` did so far, all its tiers included.
///
/// ```swift
/// print(cache.statistics.hitRatio, cache.statistics.tiers[0].failures)
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct TieredCacheStatistics: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The memory's.
  public internal(set) var memory = CacheStatistics()
  /// Each tier's, from the nearest to the farthest.
  public internal(set) var tiers: [CacheTierStatistics] = []
  /// Values brought into memory because a tier had them.
  public internal(set) var promotions: UInt64 = 0
  /// Loads that ended, well or not, refreshes included.
  public internal(set) var loads: UInt64 = 0
  /// Loads that threw an error.
  public internal(set) var loadFailures: UInt64 = 0
  /// Loads that took longer than `MemoryCacheConfiguration.loadTimeout`; part of
  /// ``loadFailures``.
  public internal(set) var loadTimeouts: UInt64 = 0
  /// Keys of which a load found nothing.
  public internal(set) var emptyLoads: UInt64 = 0
  /// Loads begun because a value was as old as
  /// ``LarderCore/MemoryCacheConfiguration/refreshAfter`` says.
  public internal(set) var refreshes: UInt64 = 0
  /// Callers that waited for a load that another one had started, instead of loading.
  public internal(set) var sharedLoads: UInt64 = 0
  /// Expired values returned because their load failed or took long; see
  /// ``LarderCore/MemoryCacheConfiguration/staleIfError``.
  public internal(set) var staleHits: UInt64 = 0
  /// How long all loads took together, without the tiers.
  public internal(set) var loadTime: Duration = .zero
  /// Loads saved because it was known that there is nothing to find.
  public internal(set) var negativeHits: UInt64 = 0
  /// Writes that wait.
  public internal(set) var pendingWrites = 0
  /// Reads that a waiting write answered.
  public internal(set) var pendingHits: UInt64 = 0
  /// Waiting writes that were replaced before they were made.
  public internal(set) var coalescedWrites: UInt64 = 0
  /// Writes that failed without anybody to tell but ``CacheConfiguration/onWriteFailure``.
  public internal(set) var writeFailures: UInt64 = 0
  /// Keys that a tier said others changed; all keys at once count as one.
  public internal(set) var invalidations: UInt64 = 0

  /// Statistics of a cache that did nothing yet.
  ///
  /// - Complexity: O(1).
  public init() {}

  /// Reads that any tier could answer, memory and waiting writes included.
  ///
  /// - Complexity: O(number of tiers).
  public var hits: UInt64 {
    tiers.reduce(memory.hits &+ pendingHits) { $0 &+ $1.hits }
  }

  /// Which share of the reads any tier could answer: from 0 to 1, and 0 if there were
  /// none.
  ///
  /// - Complexity: O(number of tiers).
  public var hitRatio: Double {
    memory.reads == 0 ? 0 : min(1, Double(hits) / Double(memory.reads))
  }

  /// Calls to tiers that threw.
  ///
  /// - Complexity: O(number of tiers).
  public var failures: UInt64 { tiers.reduce(0) { $0 &+ $1.failures } }

  /// All figures, a line for each tier.
  public var description: String {
    let lines = ["memory: \(memory)"] + tiers.map(\.description)
    return lines.joined(separator: "\n") + """

      \(promotions) promotions; \(loads) loads in \(loadTime), \
      shared by \(sharedLoads) more callers, \
      \(loadFailures) failed, \(loadTimeouts) of them timed out, \
      \(emptyLoads) found nothing, \(refreshes) to refresh, \(negativeHits) saved, \
      \(staleHits) stale hits; \
      \(pendingWrites) writes pending, \(coalescedWrites) replaced before; \
      \(writeFailures) failed; \(invalidations) invalidations
      """
  }
}
