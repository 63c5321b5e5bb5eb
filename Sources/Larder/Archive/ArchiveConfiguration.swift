// SPDX-License-Identifier: MIT

public import LarderCore

/// How an archive is opened: everything has a default that keeps what is stored until it
/// is deleted.
///
/// ```swift
/// var configuration = ArchiveConfiguration()
/// configuration.sizeLimit = 100.megabytes
/// configuration.expiration = .days(30)
/// let users = try Archive<User>(at: .path(path), configuration: configuration)
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct ArchiveConfiguration: Sendable {
  /// The most encoded bytes that all elements have together, at any time; nil, the
  /// default, for no limit. Less than 0 counts as 0.
  public var sizeLimit: DataSize?

  /// The most encoded bytes that the elements have that are kept in memory too; 1 MiB by
  /// default. 0 and less: none is kept there; and none ever is that is an object.
  public var memorySizeLimit: DataSize = 1.megabytes

  /// How long elements live, counted from when they were written or last accessed;
  /// `Expiration.never` by default. Its spread is of no effect here.
  public var expiration: Expiration = .never

  /// The largest element, in encoded bytes, that lies in the index beside its key too, so
  /// that reading it does not touch the log. 64 bytes by default; 0 and less: only empty
  /// ones; 1 KiB is the most that counts.
  public var inlineThreshold = StoreDefaults.inlineThreshold

  /// How often expired elements are removed in the background; 60 seconds by
  /// default. 0 and less: only by `deleteExpired()`.
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

  /// Whether the archive is opened for reading only. It must exist then; another process,
  /// or another archive in this one, may write to it meanwhile.
  public var isReadOnly = false

  /// Permissions of new files, as for `chmod(2)`; `0o600` by default.
  public var permissions: UInt16 = 0o600

  /// Whether the archive is written to although its folder or files belong to another user,
  /// or anybody may write to them; false by default: then opening throws `.untrusted`,
  /// because whoever prepared such a folder could read what is stored there. A file with a
  /// second name, a hard link, is never written to.
  public var trustsOtherUsers = false

  /// What Apple's systems are told of the files: data protection, backups.
  public var files = FileAttributes()

  /// What becomes of elements that cannot be decoded, because the type has changed.
  public enum Undecodable: Sendable, Hashable {
    /// Whatever would have to look at one throws `.decoding`, with its primary key in the message;
    /// so does a query by an index as long as there is one that is in no index. Opening
    /// throws `.configurationMismatch` if none of the elements that it looks at can be decoded.
    /// Where an element's bytes are damaged, the same throws `.damaged`.
    case fail
    /// As if they were not there, nor any whose bytes are damaged. Queries and `elements(limit:)`
    /// leave them out, with or without an index, and opening takes any elements: `explain()` says
    /// how many were left out, `verify()` how many there are.
    case skip
  }

  /// What becomes of elements that cannot be decoded, because the type has changed, or their bytes;
  /// `.fail` by default.
  ///
  /// They stay as they are, are found by their primary keys, `ids()` lists them, and they can be
  /// deleted or replaced. As soon as the archive is opened with a type that decodes them,
  /// they are in its indexes again.
  public var undecodable: Undecodable = .fail

  /// Told how far opening is when it takes long, on the thread that opens the archive; gives
  /// back whether to go on. nil, the default, if nobody wants to know.
  ///
  /// It receives what is done and the total: bytes of a log that was not closed, and then, where
  /// the indexes are not those of before, elements that are stored again. When it says no, opening
  /// throws `CancellationError`; nothing is lost, and the next opening begins again. A migration to
  /// another version of the schema that has begun goes on then; until it does, the folder has the
  /// new version, and earlier releases refuse it.
  public var openingProgress: (@Sendable (_ done: UInt64, _ total: UInt64) -> Bool)?

  /// The time; the system's by default. Only its date counts here.
  public var clock: CacheClock = .system

  /// The defaults.
  ///
  /// - Complexity: O(1).
  public init() {}

  /// How many elements opening looks at to find out whether the indexes are theirs.
  var sampleCount = 64

  /// What is told of each element before it is stored; nil: nobody is.
  package var companion: (any ArchiveCompanion)?

  /// The same in the terms of the store.
  var options: StoreOptions {
    var options = StoreOptions()
    options.isReadOnly = isReadOnly
    options.mustExist = isReadOnly
    options.tracksAccess = true
    options.journalCapacity = journalCapacity
    options.inlineThreshold = inlineThreshold
    options.checkpointInterval = checkpointInterval
    options.syncInterval = syncInterval
    options.trimInterval = autoTrimInterval
    options.limits.size = sizeLimit
    options.limits.expiration = expiration
    options.permissions = UInt32(permissions)
    options.trustsOtherUsers = trustsOtherUsers
    options.files = files
    options.clock = clock
    options.progress = openingProgress
    return options
  }
}
