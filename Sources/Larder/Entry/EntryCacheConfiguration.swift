// SPDX-License-Identifier: MIT

public import LarderCore

/// How a cache of entries is opened: everything has a default that keeps what is stored
/// until it is removed.
///
/// ```swift
/// var configuration = EntryCacheConfiguration()
/// configuration.sizeLimit = 100.megabytes
/// configuration.keyRule = .diskLruCache
/// let pages = try EntryCache<String>(
///   path: path, valueCount: 2, version: 1, configuration: configuration)
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct EntryCacheConfiguration: Sendable {
  /// The most bytes that the values of all entries have together; at least 1. Nil,
  /// the default: no limit. What is too much leaves with the next flush, the least
  /// recently used first.
  public var sizeLimit: DataSize?

  /// The most entries. 0 and less: none. `Int.max`, the default: no limit.
  public var countLimit = Int.max

  /// How long entries live that are stored without an expiration of their own;
  /// ``LarderCore/Expiration/never`` by default.
  public var expiration: Expiration = .never

  /// Which keys the cache takes; ``EntryKeyRule/any`` by default.
  public var keyRule: EntryKeyRule = .any

  /// What reading a damaged entry gives; ``DamageReading/asError`` by default.
  public var readingDamage: DamageReading = .asError

  /// The most bytes that the values of an entry may have together to lie in the index
  /// beside the key too, so that reading them does not touch the log. 64 by default; 0 and
  /// less: only empty ones; 1 KiB is the most that counts.
  public var inlineThreshold = StoreDefaults.inlineThreshold

  /// The bytes that the cache leaves free on its file system, as far as its own values
  /// go; 0, the default, for none.
  public var freeDiskSpaceLimit: UInt64 = 0

  /// How often expired entries are removed and limits are looked at in the background; 60
  /// seconds by default. 0 and less: only with a flush.
  public var autoTrimInterval: Duration = .seconds(60)

  /// How long a write or a noted read waits for a checkpoint; 5 seconds by default. Writes
  /// alone wait longer while more come and those that wait are less than half of what the
  /// index holds. 0 and less: until ``journalCapacity`` asks for it.
  public var checkpointInterval: Duration = .seconds(5)

  /// How long a write waits for the device at most, and so what a power cut can cost at a
  /// durability of `.process`; 1 second by default. 0 and less: until the next checkpoint.
  public var syncInterval: Duration = .seconds(1)

  /// How many bytes of the log may wait for a checkpoint, and so what opening after a
  /// kill reads at most; 256 MiB by default, 64 KiB at least.
  public var journalCapacity: UInt64 = StoreDefaults.journalCapacity

  /// What a write survives once it has returned, unless it says so itself; `.process` by
  /// default.
  public var durability: Durability = .process

  /// Whether the order of use is kept, as `.leastRecentFirst` wants it, although no limit
  /// is set. No by default: then it goes by the time of writing.
  public var tracksUse = false

  /// Whether the cache is opened for reading only. It must exist then; another process, or
  /// another cache in this one, may write to it meanwhile. The limits above are of no
  /// effect, but for ``expiration``.
  public var isReadOnly = false

  /// Permissions of new files, as for `chmod(2)`; `0o600` by default.
  public var permissions: UInt16 = 0o600

  /// Whether the cache is written to although its folder or files belong to another user,
  /// or anybody may write to them; false by default: then opening throws `.untrusted`,
  /// because whoever prepared such a folder could read what is stored there. A file with a
  /// second name, a hard link, is never written to.
  public var trustsOtherUsers = false

  /// What Apple's systems are told of the files: data protection, backups.
  public var files = FileAttributes()

  /// The time; the system's by default. Only its date counts here.
  public var clock: CacheClock = .system

  /// The store's thresholds; nil for the usual ones.
  package var tuning: StoreTuning?

  /// The defaults.
  ///
  /// - Complexity: O(1).
  public init() {}

  /// The same in the terms of the store.
  func options(_ format: EntryFormat) -> StoreOptions {
    var options = StoreOptions()
    options.isReadOnly = isReadOnly
    options.mustExist = isReadOnly
    options.tracksAccess = tracksUse
    options.contentFormatNumber = format.number
    options.journalCapacity = journalCapacity
    options.inlineThreshold = inlineThreshold
    options.checkpointInterval = checkpointInterval
    options.syncInterval = syncInterval
    options.trimInterval = autoTrimInterval
    options.limits.count = countLimit
    options.limits.size = sizeLimit
    options.limits.expiration = expiration
    options.limits.freeSpace = freeDiskSpaceLimit
    options.permissions = UInt32(permissions)
    options.trustsOtherUsers = trustsOtherUsers
    options.files = files
    options.clock = clock
    options.tuning = tuning
    return options
  }
}

/// What reading an entry gives that is there and damaged.
public enum DamageReading: Sendable {
  /// `.damaged` is thrown, by lists too: nobody takes damage for absence.
  case asError
  /// It is a miss, as in DiskLruCache, so that the program fetches it again; lists leave it out,
  /// and what damage to the index hides. The statistics count it.
  case asMiss
}
