// SPDX-License-Identifier: MIT

public import LarderCore
import Synchronization

/// Entries of several values under one key each, in a folder, within a limit of bytes, the
/// least recently used leaving first.
///
/// ```swift
/// var configuration = EntryCacheConfiguration()
/// configuration.sizeLimit = 50.megabytes
/// let pages = try EntryCache<String>(
///   name: "pages", valueCount: 2, version: 1, configuration: configuration)
/// try await pages.setValues([head, body], forKey: "home")
/// let page = try await pages.snapshot(forKey: "home")
/// ```
///
/// All values of an entry are written together and read together: a reader sees those of
/// one version, never some of another. What changes an entry step by step is an
/// ``EntryEditor``, one at a time for a key. The cache's version says what the values mean to
/// the program: with another one, or another number of values, the cache starts afresh.
///
/// A miss is nil. An entry that cannot be read because it is damaged throws `.damaged`, or is a
/// miss, too, if ``EntryCacheConfiguration/readingDamage`` says so; damage never costs another
/// entry, and nothing is wiped because of it.
///
/// Nearly every call has a synchronous form, for threads that may wait, and an `async` one
/// of the same name, which works on a thread of the cache's own.
///
/// **Concurrency.** Safe to use from any number of threads and tasks at a time. Reads do
/// not wait for writes. One cache at a time has a folder open for writing, in all processes
/// together; a second one gets `.busy`. Any number of caches that are
/// ``StoreConfiguration/isReadOnly`` read meanwhile.
///
/// **Durability.** What a call wrote survives the end of the process, whatever ends it.
/// After a power cut the cache holds a prefix of what was written, with everything that
/// was synced: see <doc:Durability>. An entry is wholly old or wholly new.
///
/// **Limits.** Keys of up to 64 KiB, 1 to 4096 values an entry, of any size.
public final class EntryCache<Key: Hashable & Sendable>: Sendable {
  /// Makes bytes of keys and keys of bytes.
  public let keyCoder: KeyCoder<Key>

  let store: EntryStore

  /// Opens the cache in a folder, and creates it if it is missing.
  ///
  /// A cache of another version or another number of values is emptied first, in one
  /// step. What a process that was killed had not brought into the index is read from the
  /// log.
  ///
  /// - Parameters:
  ///   - location: The folder, by its path, its URL or a name: see ``LarderCore/StoreLocation``.
  ///   - valueCount: How many values each entry has, 1 to 4096.
  ///   - version: What the values mean to the program, from 0 to 2³² − 1; 1 by default.
  ///   - keyCoder: Makes bytes of keys. What these are is kept in the folder.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: `.invalidArgument` (a number out of range, an empty path, no file URL, a name of no
  ///   folder), `.busy` (the
  ///   message names the process), `.configurationMismatch` (the folder holds something
  ///   else, or other keys, or, for reading only, entries of another form), `.incompatibleVersion`,
  ///   `.notALarderFile`, `.damaged`, `.readOnly`, `.diskFull`, `.io`.
  /// - Complexity: O(1) for a cache that was closed, whatever it holds; O(what waited for a
  ///   checkpoint) for one that was not; O(entries) for one that starts afresh.
  public init(
    at location: StoreLocation, valueCount: Int, version: Int = 1, keyCoder: KeyCoder<Key>,
    configuration: EntryCacheConfiguration = .init()
  ) throws {
    let format = try EntryFormat(valueCount: valueCount, version: version)
    let path = try location.path(in: Self.userDirectory)
    store = try EntryStore(path: path, format: format, keyForm: keyCoder.form, configuration)
    self.keyCoder = keyCoder
    try keyCoder.check(store.handle)
  }

  /// The folder, as it was given.
  ///
  /// - Complexity: O(1).
  public var path: String { store.path }

  /// How many values each entry has.
  ///
  /// - Complexity: O(1).
  public var valueCount: Int { store.valueCount }

  /// What the values mean to the program.
  ///
  /// - Complexity: O(1).
  public var version: Int { Int(clamping: store.format.version) }

  /// Which keys the cache takes.
  ///
  /// - Complexity: O(1).
  public var keyRule: EntryKeyRule { store.keyRule }

  /// What a write survives once it has returned, unless it says so itself.
  ///
  /// - Complexity: O(1).
  public var durability: Durability { store.durability }

  /// Whether the cache was opened for reading only.
  ///
  /// - Complexity: O(1).
  public var isReadOnly: Bool { store.isReadOnly }
}

extension EntryCache: FolderStore {
  /// The library's own way to the store, of no use to programs.
  public var access: StoreAccess {
    var access = StoreAccess(store.handle, store.executor)
    access.closing = { [editing = store.editing] close in
      editing.close()
      try close()
    }
    access.deletesOthers = { EntrySpool.clean($0) }
    access.unreadable = store.unreadable.load(ordering: .relaxed)
    return access
  }

  /// The type, the object and the folder, as in
  /// `<EntryCache<String>: 0x5581> (2 values, version 1: /var/cache/pages)`.
  public var description: String {
    let address = String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16)
    let values = valueCount == 1 ? "1 value" : "\(valueCount) values"
    return "<EntryCache<\(Key.self)>: 0x\(address)> (\(values), version \(version): \(path))"
  }
}
