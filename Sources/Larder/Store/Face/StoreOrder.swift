// SPDX-License-Identifier: MIT

/// In which order a store in a folder lists its entries.
///
/// **Concurrency.** A value; safe to pass between threads.
public enum StoreOrder: Sendable, Hashable, CaseIterable {
  /// By the bytes of the keys, which is the order of the keys themselves if their
  /// ``KeyCoder/keepsOrder`` says so. Keys that share their first 494 bytes are in an order
  /// of their own.
  case byKey
  /// The same from its end.
  case byKeyDescending
  /// What would be evicted first comes first: the least recently used, or, in a cache that
  /// does not keep the order of use, the one that was written first. See
  /// ``DiskCacheConfiguration/tracksUse``.
  case leastRecentFirst
  /// The same from its end.
  case mostRecentFirst
}
