// SPDX-License-Identifier: MIT

public import Synchronization

/// Keys and values in memory, within limits.
///
/// ```swift
/// let users = MemoryCache<User.ID, User>(countLimit: 10_000, expiration: .seconds(300))
/// users[id] = user
/// let user = try await users.value(forKey: id) { try await server.user(id) }
/// ```
///
/// The limits hold whenever a call returns: what is too much leaves before, chosen by
/// the ``EvictionPolicy``. An entry that costs more than the whole limit is not kept,
/// and nothing else leaves for it, except what was stored under its key. Pinned entries
/// never leave for a limit. An expired value is never returned, but by a load that fails
/// where ``MemoryCacheConfiguration/staleIfError`` allows it; its memory is freed by
/// the next read that finds it, by the next change of the cache, or in the
/// background.
///
/// All but loads are synchronous: they take nanoseconds and never suspend, so
/// asynchronous code calls them as they are.
///
/// The library never runs a value's `deinit`, a callback or a closure of yours while the
/// cache is locked, with three exceptions that say so: ``update(forKey:cost:expiration:_:)``,
/// ``removeAll(where:)`` and the clock. Those must not use the same cache, or they wait
/// for themselves for ever. The same is true of a key's `==` and `hash(into:)`, which
/// run while the cache is locked.
///
/// Keys that are equal are one key, as in a dictionary. Not-a-number is not equal even to
/// itself: what is stored under it is never found, and leaves as other entries do; a load of
/// it is refused with `.encoding`.
///
/// **Concurrency.** Safe to use from any number of threads and tasks at a time. Reads
/// do not wait for each other. Each call is atomic; a batch is if it says so.
///
/// **Limits.** 2³⁰ entries; keys and values that take at most 1 MiB together in
/// themselves, without what they refer to. Costs and limits are numbers from 0 to
/// `Int.max`; less counts as 0.
public final class MemoryCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline typealias Entry = MemoryEntry<Key, Value>
  @usableFromInline typealias RemovedEntries = MemoryRemovedEntries<Key, Value>

  /// What can be changed and is not in the index.
  struct Settings {
    var name: String?
    var countLimit: Int
    var costLimit: Int
    var expiration: Expiration
  }

  /// What goes first when there is too much.
  public let policy: EvictionPolicy

  @usableFromInline let index: MemoryIndex
  @usableFromInline let hashing = MemoryHashing()
  /// False if not even an empty index could be made: then nothing is stored.
  @usableFromInline let canStore: Bool
  @usableFromInline let costOfEntry: (@Sendable (Key, Value) -> Int)?
  /// Whether that is what an entry takes, and nobody's own idea of it.
  @usableFromInline let measures: Bool
  /// How long values are kept after they have expired, in nanoseconds.
  @usableFromInline let grace: Int64
  @usableFromInline let lives: EntryExpiration<Key, Value>
  @usableFromInline let clock: CacheClock
  @usableFromInline let loads: MemoryLoads<Key, Value>
  @usableFromInline let releaser: MemoryReleaser<Entry>?
  @usableFromInline let trimmer: MemoryTrimmer
  @usableFromInline let hub: RemovalHub<Key, Value>
  @usableFromInline let keepsUses = Atomic(false)
  /// When entries were used that left since. Locked behind the index.
  let usesOfGone = Mutex<[(key: Key, time: Int64)]>([])
  let failures = Atomic<UInt64>(0)
  let settings: Mutex<Settings>
  let refreshAfter: Int64
  /// Whether any may have been stored.
  let hasExtendedData = Atomic(false)
  let onSystemEvent: SystemEventActions<Key, Value>
  /// The index calls it as long as it is there.
  private let host: MemoryHost
  private let observation = Mutex<SystemEvents.Observation?>(nil)

  /// Makes an empty cache.
  ///
  /// - Parameter configuration: See there for the defaults.
  /// - Complexity: O(1).
  public init(_ configuration: MemoryCacheConfiguration<Key, Value> = .init()) {
    let keepsTerms = configuration.refreshAfter != nil || configuration.keepsTerms
    let termsOffset = keepsTerms ? max(8, (MemoryLayout<Entry>.size + 7) / 8 * 8) : 0
    let termsSize = MemoryLayout<MemoryTerms>.size
    let moves = !_isBitwiseTakable(Entry.self)
    let host =
      moves
      ? MemoryMover<Key, Value>(clock: configuration.clock, termsOffset: termsOffset)
      : MemoryHost(clock: configuration.clock)
    let made = MemoryIndex.create(
      policy: configuration.policy,
      bytes: keepsTerms ? termsOffset + termsSize : MemoryLayout<Entry>.size,
      alignment: max(MemoryLayout<Entry>.alignment, keepsTerms ? 8 : 1), termsOffset: termsOffset,
      host: host, moves: moves)
    canStore = made != nil
    // An index for payloads of nothing stands in for one that cannot be, and stays empty.
    let index = made ?? MemoryIndex.createEmpty(host: host)
    self.index = index
    self.host = host
    policy = configuration.policy
    costOfEntry = configuration.cost ?? Self.measure
    measures = configuration.cost == nil
    grace = max(0, configuration.staleIfError?.inNanoseconds ?? 0)
    index.setGrace(grace)
    loads = MemoryLoads(configuration)
    lives = EntryExpiration(configuration.expirationForEntry)
    clock = configuration.clock
    let releases = configuration.releasesAsynchronously || configuration.releasesOnMainThread
    releaser =
      releases && !_isPOD(Value.self)
      ? MemoryReleaser(
        onMainThread: configuration.releasesOnMainThread,
        isAsynchronous: configuration.releasesAsynchronously) : nil
    trimmer = MemoryTrimmer(interval: configuration.autoTrimInterval)
    hub = RemovalHub(callback: configuration.onRemoval)
    refreshAfter = configuration.refreshAfter.map { max(0, $0.inNanoseconds) } ?? .max
    settings = Mutex(
      Settings(
        name: configuration.name, countLimit: .max, costLimit: .max, expiration: .never))
    onSystemEvent = SystemEventActions(configuration)
    setLimits(count: configuration.countLimit, cost: configuration.costLimit)
    expiration = configuration.expiration
    let observation = configuration.systemEvents.observe { [weak self] in self?.handle($0) }
    self.observation.withLock { $0 = observation }
  }

  /// Makes an empty cache with the settings that are asked for most.
  ///
  /// - Parameters:
  ///   - name: A name for people.
  ///   - policy: What goes first when there is too much.
  ///   - countLimit: The most entries. 0 and less: none. `Int.max`: no limit.
  ///   - costLimit: The most cost of all entries. 0 and less: only entries that cost
  ///     nothing. `Int.max`: no limit.
  ///   - expiration: How long entries live that have no expiration of their own.
  /// - Complexity: O(1).
  public convenience init(
    name: String? = nil, policy: EvictionPolicy = .standard, countLimit: Int = .max,
    costLimit: Int = .max, expiration: Expiration = .never
  ) {
    var configuration = MemoryCacheConfiguration<Key, Value>()
    configuration.name = name
    configuration.policy = policy
    configuration.countLimit = countLimit
    configuration.costLimit = costLimit
    configuration.expiration = expiration
    self.init(configuration)
  }

  deinit {
    trimmer.setInterval(.zero)
    hub.finish()
    index.beginWriting()
    var entries = moveAll()
    index.endWriting()
    index.destroy()
    releaser?.release(&entries)
  }

  /// A name for people; the library makes no use of it.
  ///
  /// - Complexity: O(1).
  public var name: String? {
    get { settings.withLock { $0.name } }
    set { settings.withLock { $0.name = newValue } }
  }
}

extension MemoryCache: CustomStringConvertible {
  /// The type, the object and the name, as in `<MemoryCache<Int, String>: 0x5581> (users)`.
  public var description: String {
    let address = UInt(bitPattern: ObjectIdentifier(self))
    let type = "<MemoryCache<\(Key.self), \(Value.self)>: 0x\(String(address, radix: 16))>"
    return name.map { "\(type) (\($0))" } ?? type
  }
}
