// SPDX-License-Identifier: MIT

import Foundation
public import LarderCore

/// How a cache on disk is opened: everything has a default that keeps what is stored
/// until it is removed.
///
/// ```swift
/// var configuration = DiskCacheConfiguration<URL, Data>()
/// configuration.sizeLimit = 1.gigabytes
/// configuration.expiration = .days(30)
/// configuration.freeDiskSpaceLimit = 4 << 30
/// let pages = try DiskCache(at: .path(path), configuration: configuration)
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct DiskCacheConfiguration<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// A name for people; nil, the default, is the last part of the path.
  public var name: String?

  /// The largest value, in encoded bytes, that lies in the index beside its key too, so
  /// that reading it does not touch the log. 64 bytes by default; 0 and less: only empty
  /// values; 1 KiB is the most that counts. A higher one makes the index larger, and
  /// checkpoints with it.
  public var inlineThreshold = StoreDefaults.inlineThreshold

  /// The most entries that the cache keeps. 0 and less: none. `Int.max`, the default: no
  /// limit.
  ///
  /// The next checkpoint evicts what exceeds it. Until then there may be a tenth more, or
  /// 8,192 more where that is more; at a small limit, half as many again and 512 at most.
  public var countLimit = Int.max

  /// The most encoded bytes that all values have together. 0 and less: none that has any.
  /// Nil, the default: no limit.
  ///
  /// The next checkpoint evicts what exceeds it. Until then there may be a tenth more, or 32
  /// MiB where that is more; at a small limit, half as much again and 2 MiB at most. Writes
  /// that are faster than eviction wait for it. The log takes 1.2 times as much on disk, of
  /// keys and some 60 bytes an entry too, and 4 MiB; while it is written to, that excess
  /// besides. The index comes on top of it.
  public var sizeLimit: DataSize?

  /// How long entries live that are stored without an expiration of their own;
  /// `Expiration.never` by default. See ``DiskCache/expiration``.
  public var expiration: Expiration = .never

  /// Tells how long an entry lives that is stored without an expiration of its own; nil, the
  /// default, and where it returns nil: as ``expiration`` says.
  public var expirationForEntry: (@Sendable (Key, Value) -> Expiration?)?

  /// How long entries are kept after they have expired, within the limits, for the loads of a
  /// ``Cache`` over it that fail; no other read finds them. nil, the default, and 0 and less: not
  /// at all. A cache that opens its disk itself gives it its memory's
  /// `MemoryCacheConfiguration.staleIfError`, if that is longer.
  public var keepsExpired: Duration?

  /// The bytes that the cache leaves free on its file system, as far as its own values
  /// go; 0, the default, for none.
  public var freeDiskSpaceLimit: UInt64 = 0

  /// How often expired entries are removed and limits are looked at in the background; 60
  /// seconds by default. 0 and less: only by
  /// `trim()` and `removeExpired()`.
  public var autoTrimInterval: Duration = .seconds(60)

  /// How long a write or a noted read waits for a checkpoint; 5 seconds by default. Writes
  /// alone wait longer while more come and those that wait are less than half of what the
  /// index holds. 0 and less: until ``journalCapacity`` asks for it.
  public var checkpointInterval: Duration = .seconds(5)

  /// How long a write waits for the device at most, and so what a power cut can cost at a
  /// durability of `.process`; 1 second by default. 0 and less: until the next checkpoint.
  public var syncInterval: Duration = .seconds(1)

  /// How many bytes of the log may wait for a checkpoint, and so what opening after a
  /// kill reads at most; 256 MiB by default, 64 KiB at least. If it is too small for
  /// what comes in, writes wait for checkpoints.
  public var journalCapacity: UInt64 = StoreDefaults.journalCapacity

  /// What a write survives once it has returned, unless it says so itself; `.process` by
  /// default.
  public var durability: Durability = .process

  /// Whether the order of use is kept, as `.leastRecentFirst` and `trim` want it, although
  /// no limit is set. No by default: then they go by the time of writing.
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

  /// Gives a file name to a key, for `exportValue(forKey:to:)`; nil, the
  /// default: a name is made of the key's bytes.
  ///
  /// It names no file of the cache itself, so that no name that a provider makes up can
  /// collide with another or lead out of the folder.
  public var fileNameProvider: (@Sendable (Key) throws -> String)?

  /// The time; the system's by default. Only its date counts here.
  public var clock: CacheClock = .system

  /// Room on the file system; nil asks the system.
  package var freeDiskSpace: (@Sendable () -> UInt64)?

  /// The store's thresholds; nil for the usual ones.
  package var tuning: StoreTuning?

  /// The defaults.
  ///
  /// - Complexity: O(1).
  public init() {}

  /// Whether the store must exist already.
  package var mustExist = false

  /// The same in the terms of the store.
  func options(format: String) -> StoreOptions {
    var options = StoreOptions()
    options.isReadOnly = isReadOnly
    options.mustExist = mustExist || isReadOnly
    options.tracksAccess = tracksUse
    options.contentFormat = format
    options.journalCapacity = journalCapacity
    options.inlineThreshold = inlineThreshold
    options.checkpointInterval = checkpointInterval
    options.syncInterval = syncInterval
    options.trimInterval = autoTrimInterval
    options.grace = keepsExpired
    options.limits.count = countLimit
    options.limits.size = sizeLimit
    options.limits.expiration = expiration
    options.limits.freeSpace = freeDiskSpaceLimit
    options.permissions = UInt32(permissions)
    options.trustsOtherUsers = trustsOtherUsers
    options.files = files
    options.clock = clock
    options.freeSpace = freeDiskSpace
    options.tuning = tuning
    return options
  }
}
