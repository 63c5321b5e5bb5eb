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
@dynamicMemberLookup
public struct EntryCacheConfiguration: Sendable {
  /// What all stores in folders have in common: durability, intervals, permissions and the like.
  /// Its properties are also properties of this configuration.
  public var store = StoreConfiguration()

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

  /// The bytes that the cache leaves free on its file system, as far as its own values
  /// go; 0, the default, for none.
  public var freeDiskSpaceLimit: UInt64 = 0

  /// Whether the order of use is kept, as `.leastRecentFirst` wants it, although no limit
  /// is set. No by default: then it goes by the time of writing.
  public var tracksUse = false

  /// The defaults.
  ///
  /// - Complexity: O(1).
  public init() {}

  /// A property of ``store``.
  ///
  /// - Parameter path: Which one.
  /// - Complexity: O(1).
  public subscript<Property>(
    dynamicMember path: WritableKeyPath<StoreConfiguration, Property>
  ) -> Property {
    get { store[keyPath: path] }
    set { store[keyPath: path] = newValue }
  }

  /// The same in the terms of the store.
  func options(_ format: EntryFormat) -> StoreOptions {
    var options = store.options
    options.tracksAccess = tracksUse
    options.contentFormatNumber = format.number
    options.limits.count = countLimit
    options.limits.size = sizeLimit
    options.limits.expiration = expiration
    options.limits.freeSpace = freeDiskSpaceLimit
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
