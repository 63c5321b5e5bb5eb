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
@dynamicMemberLookup
public struct DiskCacheConfiguration<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// What all stores in folders have in common: durability, intervals, permissions and the like.
  /// Its properties are also properties of this configuration.
  public var store = StoreConfiguration()

  /// A name for people; nil, the default, is the last part of the path.
  public var name: String?

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

  /// Whether the order of use is kept, as `.leastRecentFirst` and `trim` want it, although
  /// no limit is set. No by default: then they go by the time of writing.
  public var tracksUse = false

  /// Gives a file name to a key, for `exportValue(forKey:to:)`; nil, the
  /// default: a name is made of the key's bytes.
  ///
  /// It names no file of the cache itself, so that no name that a provider makes up can
  /// collide with another or lead out of the folder.
  public var fileNameProvider: (@Sendable (Key) throws -> String)?

  /// Room on the file system; nil asks the system.
  package var freeDiskSpace: (@Sendable () -> UInt64)?

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

  /// Whether the store must exist already.
  package var mustExist = false

  /// The same in the terms of the store.
  func options(format: String) -> StoreOptions {
    var options = store.options
    if mustExist { options.mustExist = true }
    options.tracksAccess = tracksUse
    options.contentFormat = format
    options.grace = keepsExpired
    options.limits.count = countLimit
    options.limits.size = sizeLimit
    options.limits.expiration = expiration
    options.limits.freeSpace = freeDiskSpaceLimit
    options.freeSpace = freeDiskSpace
    return options
  }
}
