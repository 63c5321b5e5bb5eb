// SPDX-License-Identifier: MIT

/// In which order a cache lists its entries.
///
/// The orders are those in which the policy would evict. For ``EvictionPolicy/lru``
/// that is the order of use, for ``EvictionPolicy/fifo`` the order in which the
/// entries were stored, for the others something in between: nearest to eviction
/// first, or last. Pinned entries count as the most recent.
///
/// **Concurrency.** A value; safe to pass between threads.
public enum CacheOrder: Sendable, Hashable, CaseIterable {
  /// What would be evicted first comes first.
  case leastRecentFirst
  /// What would be evicted last comes first.
  case mostRecentFirst
  /// As the entries lie in memory: the cheapest.
  case unordered

  /// The same as ``leastRecentFirst``; reads better with ``EvictionPolicy/fifo``.
  public static let oldestFirst = CacheOrder.leastRecentFirst
  /// The same as ``mostRecentFirst``; reads better with ``EvictionPolicy/fifo``.
  public static let newestFirst = CacheOrder.mostRecentFirst
}
