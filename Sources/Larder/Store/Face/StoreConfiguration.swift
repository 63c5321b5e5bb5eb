// SPDX-License-Identifier: MIT

public import LarderCore

/// How a store in a folder is opened: what all kinds of stores have in common.
///
/// A ``DiskCacheConfiguration``, an ``EntryCacheConfiguration`` and an ``ArchiveConfiguration``
/// have these properties as if they were their own.
///
/// ```swift
/// var configuration = ArchiveConfiguration()
/// configuration.durability = .power
/// configuration.syncInterval = .milliseconds(100)
/// let users = try Archive<User>(at: .path(path), configuration: configuration)
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct StoreConfiguration: Sendable {
  /// The largest value, in encoded bytes, that lies in the index beside its key too, so that
  /// reading it does not touch the log; of an ``EntryCache`` all values of an entry together. 64
  /// bytes by default; 0 and less: only empty ones; 1 KiB is the most that counts. A higher one
  /// makes the index larger, and checkpoints with it.
  public var inlineThreshold = StoreDefaults.inlineThreshold

  /// How often expired entries are removed and limits are looked at in the background; 60 seconds
  /// by default. 0 and less: only with a checkpoint, and when it is asked for.
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

  /// Whether the store is opened for reading only. It must exist then, or opening throws `.io` with
  /// errno `ENOENT`; another process, or another handle in this one, may write to it meanwhile.
  /// Limits are of no effect then, but for `expiration`.
  public var isReadOnly = false

  /// Permissions of new files, as for `chmod(2)`; `0o600` by default.
  public var permissions: UInt16 = 0o600

  /// Whether the store is written to although its folder or files belong to another user,
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
  var options: StoreOptions {
    var options = StoreOptions()
    options.isReadOnly = isReadOnly
    options.mustExist = isReadOnly
    options.journalCapacity = journalCapacity
    options.inlineThreshold = inlineThreshold
    options.checkpointInterval = checkpointInterval
    options.syncInterval = syncInterval
    options.trimInterval = autoTrimInterval
    options.permissions = UInt32(permissions)
    options.trustsOtherUsers = trustsOtherUsers
    options.files = files
    options.clock = clock
    options.tuning = tuning
    return options
  }
}
