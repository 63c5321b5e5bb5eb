// SPDX-License-Identifier: MIT

public import LarderCore

/// How a cache of several tiers is made: everything has a default.
///
/// ```swift
/// var configuration = CacheConfiguration<String, Data>()
/// configuration.memory.costLimit = 64 << 20
/// configuration.memory.cost = { _, data in data.count }
/// configuration.disk.costLimit = 1 << 30
/// configuration.expiration = .days(30)
/// let images = try Cache(name: "images", configuration: configuration)
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct CacheConfiguration<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// A name for people; nil, the default, is the disk's, else the last part of the path.
  public var name: String?

  /// The memory's part.
  public var memory = MemoryCacheConfiguration<Key, Value>()

  /// The disk's part.
  public var disk = DiskCacheConfiguration<Key, Value>()

  /// What lies below the disk, from the nearest to the farthest; nothing by default.
  public var furtherTiers: [any CacheTier<Key, Value>] = []

  /// When the tiers below memory are written; ``CacheWritePolicy/writeThrough`` by
  /// default.
  public var writePolicy: CacheWritePolicy = .writeThrough

  /// How long it is remembered that a load found nothing; nil, the default: not at all.
  ///
  /// Such a memory ends early if the key is written or removed. It does not outlive the
  /// process.
  public var negativeLifetime: Duration?

  /// Of how many keys that is remembered; 10,000 by default.
  public var negativeCountLimit = 10_000

  /// Called when a write failed that nobody waits for: a write-back, a copy of what a
  /// lower tier or a load gave. nil, the default: those are only counted. May use the
  /// cache.
  public var onWriteFailure: (@Sendable (CacheWriteFailure<Key>) -> Void)?

  /// The defaults.
  ///
  /// - Complexity: O(1).
  public init() {}

  /// How long entries live that are stored without an expiration of their own: the
  /// memory's, and for setting the disk's, too.
  ///
  /// - Complexity: O(1).
  public var expiration: Expiration {
    get { memory.expiration }
    set {
      memory.expiration = newValue
      disk.expiration = newValue
    }
  }

  /// The time: the memory's, and for setting the disk's, too.
  ///
  /// - Complexity: O(1).
  public var clock: CacheClock {
    get { memory.clock }
    set {
      memory.clock = newValue
      disk.clock = newValue
    }
  }
}
