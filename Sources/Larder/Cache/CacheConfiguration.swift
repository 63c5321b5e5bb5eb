// SPDX-License-Identifier: MIT

public import LarderCore

/// How a cache of several tiers is made: everything has a default.
///
/// ```swift
/// var configuration = CacheConfiguration<String, Data>()
/// configuration.memory.costLimit = 64 << 20
/// configuration.disk.sizeLimit = 1.gigabytes
/// configuration.expiration = .days(30)
/// let images = try Cache(at: .named("images"), configuration: configuration)
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct CacheConfiguration<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// A name for people; nil, the default, is the disk's, else the last part of the path.
  public var name: String?

  /// The memory's part. By default its ``LarderCore/MemoryCacheConfiguration/costLimit`` is a
  /// sixteenth of the memory that the process may use: of the machine's, or of its control group's
  /// if that is less.
  public var memory = {
    var memory = MemoryCacheConfiguration<Key, Value>()
    memory.costLimit = MemoryCacheConfiguration<Key, Value>.shareOfMemory
    return memory
  }()

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

  /// Whether the order of the keys in memory is kept in the disk cache's folder, and what they
  /// lead to is brought back into memory after opening; false by default.
  ///
  /// That happens in the background, the hottest first, and reads do not wait for it; within
  /// the memory's limits, and not what is gone or was written meanwhile. So with `.fifo` and
  /// `.s3fifo`, which go by when a value came, the hottest are the first to go afterwards.
  /// The file is written by `close()`, and by checkpoints and flushes once a minute: a
  /// cache that is dropped or killed has the order of a minute ago, or none. One that is closed
  /// before all was brought back puts its new keys in front of those in the file. Up to a
  /// million keys of 64 MiB.
  public var keepsHotKeys = false

  /// Called when hot keys were brought back, or could not be; without a disk cache before the
  /// cache is made. nil by default. May use the cache.
  public var onRestored: (@Sendable (CacheRestoration) -> Void)?

  /// The defaults.
  ///
  /// - Complexity: O(1).
  public init() {}

  /// How long entries live that are stored without an expiration of their own: the
  /// memory's, and for setting the disk's, too.
  ///
  /// Where it is spread, and the disk's is the same, one draw holds for all tiers.
  ///
  /// - Complexity: O(1).
  public var expiration: Expiration {
    get { memory.expiration }
    set {
      memory.expiration = newValue
      disk.expiration = newValue
    }
  }

  /// The disk's part of one that the cache opens.
  var diskOfCache: DiskCacheConfiguration<Key, Value> {
    var disk = disk
    disk.keepsExpired = max(disk.keepsExpired ?? .zero, memory.staleIfError ?? .zero)
    return disk
  }

  /// Tells how long an entry lives that is stored without an expiration of its own, in memory
  /// and in every tier; nil, the default, and where it returns nil: as each tier has it.
  ///
  /// Called once for each entry that is stored. What memory or the disk have of their own
  /// under this name counts only where this says nothing.
  public var expirationForEntry: (@Sendable (Key, Value) -> Expiration?)?

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
