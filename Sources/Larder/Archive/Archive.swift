// SPDX-License-Identifier: MIT

public import Foundation
public import LarderCore
public import Synchronization

/// Elements on disk, found by their primary key, by indexes and by queries.
///
/// ```swift
/// struct User: Codable, Identifiable, Sendable {
///   var id: Int
///   var name: String
///   var age: Int
/// }
///
/// let users = try Archive<User>(at: .named("users"), indexes: [ArchiveIndex("age", \.age)])
/// try users.insert(User(id: 1, name: "Ada", age: 36))
/// let ada = try users.element(forID: 1)
/// let adults = try users.where { $0.age >= 18 }.sorted(by: \.age, .reverse).limit(10).results()
/// ```
///
/// The primary key is the element's `id`. Recently accessed elements are kept in memory too, and
/// are returned again without being decoded. Objects are not: each read of an element whose type
/// is a class decodes another object, so what is done to one changes nothing until it is stored.
/// (An object that is a *property* of a structure is shared by whoever reads it from memory.)
///
/// With ``ArchiveConfiguration/sizeLimit`` an archive stays within that size: what
/// was accessed least recently leaves for what is written.
///
/// Nearly every call has a synchronous form, for threads that may wait, and an `async` one
/// of the same name, which works on a thread of the archive's own. A write of a task that was
/// cancelled is made all the same; what takes long, such as a query, stops.
///
/// **Concurrency.** Safe to use from any number of threads and tasks at a time. Reads do not
/// wait for writes. Each call is atomic but for those that say otherwise. One archive at a
/// time has a folder open for writing, in all processes together; a second one gets
/// `.busy`. Any number that are ``StoreConfiguration/isReadOnly`` read meanwhile.
///
/// **Durability.** What a call wrote survives the end of the process, whatever ends it, with
/// its indexes. After a power cut the archive holds a prefix of what was written, with
/// everything that was synced: see `Durability`.
///
/// **Limits.** Primary keys have up to 64 KiB when encoded; elements as much as the disk
/// has room for; there are up to 64 indexes. Times from 1970 to 2262.
public final class Archive<Element: Identifiable & Sendable>: Sendable
where Element.ID: Codable & Sendable & SendableMetatype {
  /// The folder, as it was given.
  public let path: String

  /// What a write survives once it has returned, unless it says so itself.
  public let durability: Durability

  /// Whether the archive was opened for reading only.
  public let isReadOnly: Bool

  /// How long elements live.
  public let expiration: Expiration

  /// Makes bytes of elements and elements of bytes.
  public let coder: Coder<Element>

  /// The version of the elements, and what becomes of those of earlier ones.
  public let schema: ArchiveSchema<Element>

  /// What an element's extended data is.
  @usableFromInline let versionTag: [UInt8]
  /// What elements are found by besides their primary key, and written with.
  let declaredIndexes: [ArchiveIndex<Element>]
  let hasUniqueIndexes: Bool
  /// The same as the folder knows it.
  let format: ArchiveFormat
  let indexState = ArchiveIndexState()
  /// How many elements opening looks at to find out whether the indexes are theirs.
  let sampleCount: Int
  let undecodable: ArchiveConfiguration.Undecodable
  @usableFromInline let store: StoreHandle
  @usableFromInline let keyCoder: KeyCoder<Element.ID>
  /// What queries are planned with.
  @usableFromInline let catalog: ArchiveCatalog
  @usableFromInline let executor: DiskExecutor
  let changes = ArchiveChanges()
  /// Elements that need not be decoded again: good as long as their version is the store's.
  @usableFromInline let memory: MemoryCache<Element.ID, ArchiveCell<Element>>
  @usableFromInline let memoryLimit: Atomic<Int>
  let room: ArchiveRoom
  /// What is told of each element before it is stored.
  let companion: (any ArchiveCompanion)?
  let clock: CacheClock
  /// The most bytes that one batch has: far from half of what may wait for a checkpoint.
  let batchLimit: Int
  /// Whether something was accessed since the last flush that looked at it.
  @usableFromInline let hasAccesses = Atomic(false)

  /// Opens the archive, and brings its indexes up to date.
  init(
    folder path: String, coder: Coder<Element>, indexes: [ArchiveIndex<Element>],
    schema: ArchiveSchema<Element>, configuration: ArchiveConfiguration
  ) throws {
    try ArchiveFormat.validate(indexes)
    try schema.validate()
    format = ArchiveFormat(coder: coder.format, indexes: indexes, version: schema.version)
    let keyCoder = KeyCoder<Element.ID>.standard
    var options = configuration.options
    options.keyForm = keyCoder.form
    let opened: ArchiveStore
    do throws(LarderError) {
      opened = try format.openStore(
        path: path, options: options, oldest: schema.oldest,
        oldCoders: schema.migrations.map(\.format),
        readsLater: configuration.isReadOnly && schema.readsLaterVersions)
    } catch {
      throw error.errno == ECANCELED ? CancellationError() : error
    }
    self.path = path
    self.coder = coder
    self.schema = schema
    versionTag = [UInt8](schema.tag)
    declaredIndexes = indexes
    hasUniqueIndexes = indexes.contains(where: \.isUnique)
    sampleCount = configuration.sampleCount
    undecodable = configuration.undecodable
    store = opened.store
    self.keyCoder = keyCoder
    catalog = ArchiveCatalog(
      declaredIndexes, keyCoder, store, passesDamage: undecodable == .skip)
    executor = DiskExecutor("larder.archive", store.suspension)
    durability = configuration.durability
    isReadOnly = configuration.isReadOnly
    expiration = configuration.expiration
    clock = configuration.clock
    companion = configuration.companion
    batchLimit = Int(clamping: min(8 << 20, configuration.journalCapacity / 8))
    memory = ArchiveCell.makeMemory(configuration)
    memoryLimit = Atomic(Self.bytesInMemory(configuration.memorySizeLimit))
    room = ArchiveRoom(limit: configuration.sizeLimit)
    try checkIndexes(opened.there, progress: configuration.openingProgress)
    if !isReadOnly { try room.enforce(store, expires: expiration != .never) }
  }

  /// Uses the indexes in the folder if they are certainly those that are declared; else builds
  /// them, but for a reader.
  private func checkIndexes(_ there: ArchiveFormat, progress: StoreProgressReport?) throws {
    let isOlder = there.version < format.version || there.isBuilding
    if !isOlder { try keyCoder.check(store) }
    let sample = try takeSample()
    if undecodable == .fail { try sample.check(path, Element.self) }
    try sample.checkKeys(path, Element.ID.self, isReadOnly: isReadOnly)
    if isReadOnly {
      // After a suspension it may have other indexes.
      store.options.withLock { $0.contentFormatNumber = 0 }
      // A writer may just have begun to build others: then the first query looks again.
      if !declaredIndexes.isEmpty { _ = try? adoptIndexes(there.number, sample) }
    } else if !there.hasElements(as: format) || sample.differing > 0 {
      // What is damaged says so to who asks for it.
      _ = try rebuild(after: there, isAlone: true, movesKeys: isOlder, progress)
    } else {
      try indexUnindexed()
      try useIndexes(there.number)
    }
  }
}

extension Archive: FolderStore {
  /// Application Support: what an archive holds is nowhere else.
  public static var userDirectory: FileManager.SearchPathDirectory { .applicationSupportDirectory }

  /// The library's own way to the store, of no use to programs.
  public var access: StoreAccess {
    var access = StoreAccess(store, executor)
    access.closing = { [memory, changes] close in
      memory.removeAll()
      // Those who observe a query run into `.closed`, and end.
      defer { changes.notify() }
      try close()
    }
    access.resuming = { [store, memory, room, changes] resume in
      guard store.suspension.isSuspended else { return try resume() }
      memory.removeAll()
      try resume()
      room.forget()
      changes.notify()
    }
    return access
  }

  /// The type, the object and the folder, as in
  /// `<Archive<User>: 0x5581> (/var/cache/users)`.
  public var description: String {
    let address = String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16)
    return "<Archive<\(Element.self)>: 0x\(address)> (\(path))"
  }
}
