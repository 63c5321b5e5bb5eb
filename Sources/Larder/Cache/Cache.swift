// SPDX-License-Identifier: MIT

import Foundation
public import LarderCore
public import Synchronization

/// Keys and values in memory and on disk, and further down if you like.
///
/// ```swift
/// let users = try Cache<User.ID, User>(at: .named("users"))
/// let user = try await users.value(forKey: id) { try await server.user(id) }
/// ```
///
/// A read looks in memory first, which takes nanoseconds, then in each tier below. What
/// it finds there is promoted: copied to memory and to the tiers above, with its cost and
/// the life that it has left. A write goes to all of them, or to none: if a tier refuses
/// it, none above it shows the new value, nor an old one that tier may not have any more.
///
/// ``memoryCache`` and ``diskCache`` have their own limits, which can be changed at any
/// time. What is read from memory alone is used on the disk as well, from its next
/// checkpoint on: it is evicted there last, and its time to live after access goes on.
/// Reading and removing expired entries through them is harmless; what is written through
/// one of them alone, the others do not hear of.
///
/// Calls that may wait for a tier come twice: blocking, for code that is not
/// asynchronous, and suspending. The library never runs a callback or a load of yours
/// while anything is locked, but for the closure of `update`, which must not use its key,
/// and as `MemoryCache` says of itself.
///
/// **Concurrency.** Safe to use from any number of threads and tasks at a time. Writes of
/// one key arrive in all tiers in one order. What is read never becomes older: a value
/// that was replaced or removed is not promoted.
///
/// **Durability.** That of the tiers: with ``CacheWritePolicy/writeThrough`` a write
/// survives what the disk says it survives when it returns. With write-back it does once
/// it is flushed. A write that says itself what it has to survive does so when it returns.
public final class Cache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline typealias Entry = CacheTierEntry<Value>

  /// A name for people: the last part of the path, unless another one was given.
  public let name: String
  /// What is in memory.
  public let memoryCache: MemoryCache<Key, Value>
  /// The first of the tiers that is a disk; nil if none is.
  public let diskCache: DiskCache<Key, Value>?

  /// From the nearest to the farthest.
  @usableFromInline let slots: [CacheTierSlot<Key, Value>]
  /// nil for write-through.
  @usableFromInline let queue: WriteBackQueue<Key, Value>?
  /// Keys of which a load found nothing.
  @usableFromInline let absent: MemoryCache<Key, Bool>
  /// Whether there may be any: a write looks only at this if not.
  @usableFromInline let hasAbsent = Atomic(false)
  /// How long that is remembered unless a load says so; nil: not at all.
  let negativeLifetime: Duration?
  @usableFromInline let writers = CacheWriters<Key>()
  @usableFromInline let loads: MemoryLoads<Key, Value>
  @usableFromInline let lives: EntryExpiration<Key, Value>
  /// Held by whoever copies between tiers, and by removals of everything.
  let gate = CacheLock()
  /// Held by whoever empties the queue, and by removals of everything, behind the gate.
  let drainLock = CacheLock()
  @usableFromInline let clock: CacheClock
  let onWriteFailure: (@Sendable (CacheWriteFailure<Key>) -> Void)?
  let counters = CacheCounters()
  @usableFromInline let isClosed = Atomic(false)
  /// nil if they are not kept.
  let hotKeys = Mutex<HotKeys?>(nil)
  /// Held by whoever suspends or resumes.
  let suspensionLock = CacheLock()
  let suspended = Atomic(false)
  /// The number of the disk's last write before it was suspended.
  let lastDiskState = Mutex<UInt64?>(nil)
  /// Who listens to the tiers that others change.
  let followers = CacheFollowers()
  /// How long copies of what is in such a tier live; nil if there is none.
  @usableFromInline let copyLifetime: Duration?
  /// Whether a disk has copies that a tier below can confirm: by the versions of writes.
  @usableFromInline let drawsVersions: Bool
  /// How many tiers have such copies, besides memory.
  @usableFromInline let copyDepth: Int
  /// Which tier is the farthest that others change, and that tells of it; -1: none.
  let followedDepth = Atomic(-1)

  /// Puts memory over tiers of your choice.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - tiers: What lies below memory, from the nearest to the farthest. May be empty.
  ///   - configuration: Everything else; its parts `disk` and `furtherTiers` are of no
  ///     effect.
  /// - Complexity: O(1).
  public init(
    name: String, tiers: [any CacheTier<Key, Value>],
    configuration: CacheConfiguration<Key, Value> = .init()
  ) {
    var memory = configuration.memory
    memory.name = memory.name ?? name
    memory.keepsTerms = true
    self.name = name
    memoryCache = MemoryCache(memory)
    loads = MemoryLoads(memory)
    diskCache = tiers.lazy.compactMap { $0 as? DiskCache<Key, Value> }.first
    slots = Self.slots(tiers, memory.clock)
    drawsVersions = slots.contains { $0.confirmation != nil }
    copyLifetime = tiers.compactMap(\.copyLifetime).min().map { max($0, .zero) }
    copyDepth = tiers.lastIndex { $0.copyLifetime != nil } ?? 0
    diskCache?.countReads(of: memoryCache)
    queue = configuration.writePolicy.queueLimit.map { WriteBackQueue(limit: $0) }
    clock = memory.clock
    onWriteFailure = configuration.onWriteFailure
    negativeLifetime = configuration.negativeLifetime
    var negative = MemoryCacheConfiguration<Key, Bool>()
    negative.name = "\(name), absent"
    negative.countLimit = configuration.negativeCountLimit
    negative.clock = memory.clock
    absent = MemoryCache(negative)
    // A spread that tiers draw by themselves would have them disagree.
    let standard = memory.expiration
    let isOfAll = diskCache.map { $0.expiration == standard } ?? true
    lives = EntryExpiration(
      configuration.expirationForEntry, standard: isOfAll ? standard : .never)
    followTiers()
    if configuration.keepsHotKeys { startKeepingHotKeys(configuration.onRestored) }
  }

  /// What lies below memory, from the nearest to the farthest.
  ///
  /// - Complexity: O(tiers).
  public var tiers: [any CacheTier<Key, Value>] { slots.map(\.tier) }

  /// - Throws: `.closed`.
  @inlinable
  func checkOpen() throws {
    if isClosed.load(ordering: .acquiring) { throw closed() }
  }

  /// Whether there may be writes of the key: of one that is not equal to itself no lock would
  /// ever be released.
  @inlinable
  func checkCanWrite(_ key: Key) throws {
    if key != key { throw noKey() }
    try checkOpen()
  }

  @usableFromInline
  func noKey() -> LarderError { LarderError.noKey(Key.self) }

  @usableFromInline
  func closed() -> LarderError { LarderError(.closed, "The cache \(name) was closed.") }
}

extension Cache: CustomStringConvertible {
  /// The type, the object and the name, as in `<Cache<Int, String>: 0x5581> (users)`.
  public var description: String {
    let address = UInt(bitPattern: ObjectIdentifier(self))
    return "<Cache<\(Key.self), \(Value.self)>: 0x\(String(address, radix: 16))> (\(name))"
  }
}

/// What ``TieredCacheStatistics`` is made of, besides what the tiers count.
final class CacheCounters: Sendable {
  let promotions = Atomic<UInt64>(0)
  let emptyLoads = Atomic<UInt64>(0)
  let negativeHits = Atomic<UInt64>(0)
  let pendingHits = Atomic<UInt64>(0)
  let writeFailures = Atomic<UInt64>(0)
  let invalidations = Atomic<UInt64>(0)
}
