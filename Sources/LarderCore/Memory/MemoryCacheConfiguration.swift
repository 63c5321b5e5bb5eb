// SPDX-License-Identifier: MIT

/// How a memory cache is made: everything has a default that holds what is stored
/// until it is removed.
///
/// ```swift
/// var configuration = MemoryCacheConfiguration<URL, Data>()
/// configuration.costLimit = 64 << 20
/// configuration.expiration = .seconds(600)
/// let pages = MemoryCache(configuration)
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct MemoryCacheConfiguration<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// A name for people; nil by default.
  public var name: String?

  /// What goes first when there is too much.
  public var policy: EvictionPolicy = .standard

  /// The most entries that the cache holds. 0 and less: none. `Int.max`, the
  /// default: no limit.
  public var countLimit = Int.max

  /// The most that the entries cost together, in bytes unless ``cost`` counts something else. 0
  /// and less: only entries that cost nothing. `Int.max`, the default: no limit; in a cache of
  /// several tiers, a sixteenth of the memory that the process may use.
  public var costLimit = Int.max

  /// How long entries live that are stored without an expiration of their own;
  /// ``Expiration/never`` by default.
  public var expiration: Expiration = .never

  /// Tells how long an entry lives that is stored without an expiration of its own; nil, the
  /// default, and where it returns nil: as ``expiration`` says.
  ///
  /// Called before the cache is locked, but for updates: there it is called while the
  /// cache is locked, and must not use it.
  public var expirationForEntry: (@Sendable (Key, Value) -> Expiration?)?

  /// How often expired entries are looked for in the background, while there is
  /// anything that expires. 0 and less: never; they are then removed when a read comes
  /// upon one or something is stored.
  public var autoTrimInterval: Duration = .seconds(5)

  /// Tells what an entry costs that is stored without saying so; nil, the default: the bytes of
  /// key and value, and those that a `Data`, a `String` or an array has beside itself.
  ///
  /// What other values refer to is not known: of a class it is the eight bytes of the reference,
  /// and of an array of strings what the array itself has. There a limit of cost wants this
  /// function.
  ///
  /// Called before the cache is locked, but for updates: there it is called while the
  /// cache is locked, and must not use it.
  public var cost: (@Sendable (Key, Value) -> Int)?

  /// The time; the system's by default.
  public var clock: CacheClock = .system

  /// Whether evicted values are destroyed on the main thread, for values that insist
  /// on it. Wants a main thread that runs a main loop or an `async` main function.
  public var releasesOnMainThread = false

  /// Whether values that were evicted, expired or removed with all others are destroyed
  /// in the background, so that the caller need not wait for it. Up to 4,096 of them
  /// wait for about a millisecond; if more come in that time, the caller destroys its
  /// own. Values without anything to destroy are dropped at once.
  public var releasesAsynchronously = true

  /// Whether all entries go when the system is short of memory: Apple's systems tell.
  public var removesAllOnMemoryWarning = true

  /// Whether all entries go when the app is put in the background: iOS, tvOS and
  /// visionOS tell.
  public var removesAllInBackground = true

  /// Called when the system is short of memory, before entries go.
  public var onMemoryWarning: (@Sendable (MemoryCache<Key, Value>) -> Void)?

  /// Called when the app is put in the background, before entries go.
  public var onEnterBackground: (@Sendable (MemoryCache<Key, Value>) -> Void)?

  /// The age from which a value that is read with a load is loaded again, while the old
  /// one is still returned; nil, the default: never. 0 and less: at every read.
  ///
  /// The age is the time since the value was written or loaded: for what comes from a tier below,
  /// since that was written there. A load can say another time for its value, and that what there
  /// is is still right: see ``LoadedValue/refreshAfter`` and ``OldValue``. In a ``MemoryCache`` by
  /// itself this and what loads store with values take 24 bytes for each entry, and are not kept
  /// where it is nil.
  public var refreshAfter: Duration?

  /// How long after its end an expired value may still be returned by a read with a load, if
  /// that load fails; nil, the default, and 0 and less: not at all.
  ///
  /// Such a value is kept until then, within the limits, and no other read finds it. It is
  /// removed as expired when its key is written, when its load finds that there is nothing
  /// to store, and when that time has passed.
  public var staleIfError: Duration?

  /// How long a caller with a value that ``staleIfError`` keeps waits for a load before it gets
  /// that, and the load continues in the background; nil, the default: until the load ends.
  /// Less than 0 counts as 0.
  ///
  /// A caller that loads on its own thread cannot stop waiting.
  public var softLoadTimeout: Duration?

  /// How long a load may take; nil, the default: as long as it wants. Less than 0 counts as 0.
  ///
  /// After it those who wait get `.timedOut`, or the value that ``staleIfError`` keeps; the
  /// load's task is cancelled, and what it still returns is not stored. Later callers load
  /// again. A caller that loads on its own thread gets what it loads, however long it takes.
  public var loadTimeout: Duration?

  /// Called with each value that leaves the cache, on the thread that made it leave,
  /// after the cache is unlocked; nil, the default, costs nothing. May use the cache.
  /// What threads do at the same time can be reported in another order than it happened.
  public var onRemoval: (@Sendable (Removal<Key, Value>) -> Void)?

  /// Whether room is kept for what goes with a value, whatever ``refreshAfter`` is.
  package var keepsTerms = false

  /// What tells of memory and background.
  package var systemEvents = SystemEvents.shared

  /// The defaults.
  ///
  /// - Complexity: O(1).
  public init() {}
}
