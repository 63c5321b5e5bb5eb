// SPDX-License-Identifier: MIT

/// What a cache did so far.
///
/// ```swift
/// print(cache.statistics)
/// // 98.7 % of 120000 reads hit; 1560 insertions; gone: 0 removed, 12 replaced, …
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct CacheStatistics: Sendable, Hashable, Codable, CustomStringConvertible {
  /// Reads that found a value.
  public internal(set) var hits: UInt64 = 0
  /// What the values cost together that reads found: of a cache whose costs are
  /// bytes, the bytes that did not have to be loaded.
  public internal(set) var hitCost: UInt64 = 0
  /// Reads that found none.
  public internal(set) var misses: UInt64 = 0
  /// Values stored under a key that had none.
  public internal(set) var insertions: UInt64 = 0
  /// Values that the caller removed.
  public internal(set) var removed: UInt64 = 0
  /// Values that the caller replaced by another one.
  public internal(set) var replaced: UInt64 = 0
  /// Values whose time was over.
  public internal(set) var expired: UInt64 = 0
  /// Values evicted for the limit of entries.
  public internal(set) var evictedForCount: UInt64 = 0
  /// Values evicted for the limit of cost.
  public internal(set) var evictedForCost: UInt64 = 0
  /// Loads that ended, well or not, refreshes included.
  public internal(set) var loads: UInt64 = 0
  /// Loads that threw an error.
  public internal(set) var loadFailures: UInt64 = 0
  /// Loads that took longer than ``MemoryCacheConfiguration/loadTimeout``; part of
  /// ``loadFailures``.
  public internal(set) var loadTimeouts: UInt64 = 0
  /// Loads of values that were there but old.
  public internal(set) var refreshes: UInt64 = 0
  /// Callers that waited for a load that another one had started, instead of loading.
  public internal(set) var sharedLoads: UInt64 = 0
  /// Expired values returned because their load failed or took long; see
  /// ``MemoryCacheConfiguration/staleIfError``.
  public internal(set) var staleHits: UInt64 = 0
  /// How long all loads took together.
  public internal(set) var loadTime: Duration = .zero
  /// Calls that could not do all they should, for want of memory. What they left
  /// undone is documented at each.
  public internal(set) var failures: UInt64 = 0
  /// Entries there are.
  public internal(set) var count = 0
  /// What they cost together.
  public internal(set) var cost = 0
  /// Memory that the cache takes, in bytes: its tables with the keys and values in
  /// them, without what those refer to.
  public internal(set) var memoryBytes: UInt64 = 0

  /// Statistics of a cache that did nothing yet.
  ///
  /// - Complexity: O(1).
  public init() {}

  /// Reads.
  ///
  /// - Complexity: O(1).
  public var reads: UInt64 { hits &+ misses }

  /// Values evicted for one of the limits.
  ///
  /// - Complexity: O(1).
  public var evictions: UInt64 { evictedForCount &+ evictedForCost }

  /// Which share of the reads found a value: from 0 to 1, and 0 if there were none.
  ///
  /// - Complexity: O(1).
  public var hitRatio: Double { reads == 0 ? 0 : Double(hits) / Double(reads) }

  /// How long a load took on average; zero if there was none.
  ///
  /// - Complexity: O(1).
  public var averageLoadTime: Duration {
    loads == 0 ? .zero : loadTime / Double(loads)
  }

  /// All figures in one line.
  public var description: String {
    let permille = Int((hitRatio * 1000).rounded())
    return """
      \(permille / 10).\(permille % 10) % of \(reads) reads hit; \(insertions) insertions; \
      gone: \(removed) removed, \(replaced) replaced, \(expired) expired, \
      \(evictedForCount) evicted for count, \(evictedForCost) evicted for cost; \
      \(loads) loads in \(loadTime), shared by \(sharedLoads) more callers, \
      \(loadFailures) failed, \(loadTimeouts) of them timed out, \(refreshes) to refresh, \
      \(staleHits) stale hits; \
      \(failures) failures; \(count) entries of cost \(cost) in \(memoryBytes) bytes
      """
  }
}
