// SPDX-License-Identifier: MIT

public import LarderCore
public import Synchronization

/// Keys and values in a folder, within limits, that survive `kill -9` at nearly the speed
/// of memory.
///
/// ```swift
/// let users = try DiskCache<User.ID, User>(at: .named("users"))
/// try await users.set(user, forKey: user.id, expiration: .days(30))
/// let found = try await users.value(forKey: id)
/// ```
///
/// A write is an append to a log; an index, which checkpoints bring up to date, says where
/// in it each value is. Long values are read in place, without a copy. A miss is nil; an
/// error means that the disk, a coder or an argument is at fault, and never costs what else
/// is stored. Nothing is ever wiped because something is damaged: see `verify(progress:)`
/// and `salvage(from:to:keepsUncertain:progress:)`.
///
/// Nearly every call has a synchronous form, for threads that may wait, and an `async` one
/// of the same name, which does at once what waits for nothing, reads of what is in memory
/// and short writes, and works on a thread of the cache's own otherwise: neither the caller's
/// thread nor one of those that run tasks waits for the disk. A write of a task that was
/// cancelled is made all the same; what takes long and throws `CancellationError`, such as
/// `verify(progress:)`, stops.
///
/// **Concurrency.** Safe to use from any number of threads and tasks at a time. Reads do
/// not wait for writes. Each call is atomic, and so is a batch. One cache at a time has a
/// folder open for writing, in all processes together; a second one gets `.busy`. Any
/// number of caches that are ``StoreConfiguration/isReadOnly`` read meanwhile.
///
/// **Durability.** What a call wrote survives the end of the process, whatever ends it.
/// After a power cut the cache holds a prefix of what was written, with everything that
/// was synced: see <doc:Durability>. A value is never torn: it is the one that was stored,
/// its checksum says so, or an error.
///
/// **Memory.** A `Data` of more than 20 KiB that a read gives lies in the cache's log, and
/// is not copied. When its segment is deleted, what is still kept of it is copied: neither
/// the disk nor memory hold on to the rest. On Apple's systems they do, until it is released.
///
/// **Limits.** Keys and extended data have up to 64 KiB, and may be empty; values up to 4
/// GiB. Times from 1970 to 2262.
public final class DiskCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// What can be changed while the cache is open.
  struct Settings {
    var name: String
    var limits: StoreLimits
  }

  /// The folder, as it was given.
  public let path: String

  /// The largest value, in encoded bytes, that lies in the index beside its key too.
  public let inlineThreshold: Int

  /// What a write survives once it has returned, unless it says so itself.
  public let durability: Durability

  /// Whether the cache was opened for reading only.
  public let isReadOnly: Bool

  /// Makes bytes of values and values of bytes.
  public let coder: Coder<Value>

  /// Makes bytes of keys and keys of bytes.
  public let keyCoder: KeyCoder<Key>

  @usableFromInline let store: StoreHandle
  /// What caches in memory over this one tell of; nil if it is read only.
  let readsAbove: StoreReads?
  @usableFromInline let executor: DiskExecutor
  /// The terms of an entry that was stored without any of its own.
  @usableFromInline let defaultIdle: Atomic<Int64>
  @usableFromInline let defaultFlags: UInt32
  @usableFromInline let lives: EntryExpiration<Key, Value>
  /// Whether the value that was encoded last was short.
  @usableFromInline let lastIsShort = Atomic(false)
  let clock: CacheClock
  /// How long entries are kept after they have expired.
  let expiredLife: Duration
  let fileNameProvider: (@Sendable (Key) throws -> String)?
  let settings: Mutex<Settings>

  /// Opens the cache in a folder, and creates it if it is missing.
  ///
  /// What a process that was killed had not brought into the index is read from the log.
  ///
  /// - Parameters:
  ///   - location: The folder, by its path, its URL or a name: see ``LarderCore/StoreLocation``.
  ///   - coder: Makes bytes of values. Its format is kept in the folder: a coder of
  ///     another one is refused.
  ///   - keyCoder: Makes bytes of keys. What these are is kept, too.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: `.invalidArgument` (an empty path, no file URL, a name of no folder, a number
  ///   out of range), `.busy` (the message names the process), `.configurationMismatch` (another
  ///   coder's values or keys), `.incompatibleVersion`, `.notALarderFile`, `.damaged`,
  ///   `.readOnly`, `.diskFull`, `.io`.
  /// - Complexity: O(1) for a cache that was closed, whatever it holds; O(what waited for a
  ///   checkpoint) for one that was not.
  public init(
    at location: StoreLocation, coder: Coder<Value>, keyCoder: KeyCoder<Key>,
    configuration: DiskCacheConfiguration<Key, Value> = .init()
  ) throws {
    let path = try location.path(in: Self.userDirectory)
    var options = configuration.options(format: coder.format)
    let reads = configuration.isReadOnly ? nil : StoreReads()
    options.reads = reads
    options.keyForm = keyCoder.form
    let store = try StoreHandle(path: path, options: options)
    try keyCoder.check(store)
    let name = configuration.name ?? DiskFolder.lastComponent(of: path)
    self.store = store
    readsAbove = reads
    self.path = path
    self.coder = coder
    self.keyCoder = keyCoder
    executor = DiskExecutor("larder.disk.\(name)", store.suspension)
    inlineThreshold = configuration.inlineThreshold
    durability = configuration.durability
    isReadOnly = configuration.isReadOnly
    clock = configuration.clock
    expiredLife = max(.zero, configuration.keepsExpired ?? .zero)
    fileNameProvider = configuration.fileNameProvider
    defaultIdle = Atomic(StoreTerms.idle(configuration.expiration))
    lives = EntryExpiration(
      configuration.expirationForEntry, standard: configuration.expiration)
    defaultFlags = StoreTerms.flags(configuration.durability)
    settings = Mutex(Settings(name: name, limits: options.limits))
  }

  /// A name for people; the library makes no use of it.
  ///
  /// - Complexity: O(1).
  public var name: String {
    get { settings.withLock { $0.name } }
    set { settings.withLock { $0.name = newValue } }
  }
}

extension DiskCache: FolderStore {
  /// The library's own way to the store, of no use to programs.
  public var access: StoreAccess { StoreAccess(store, executor) }

  /// The type, the object, the name and the folder, as in
  /// `<DiskCache<Int, String>: 0x5581> (users: /var/cache/users)`.
  public var description: String {
    let address = String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16)
    return "<DiskCache<\(Key.self), \(Value.self)>: 0x\(address)> (\(name): \(path))"
  }
}
