// SPDX-License-Identifier: MIT

public import LarderCore

/// Something that keeps entries below a ``Cache``'s memory: a disk, another machine.
///
/// ``DiskCache`` is one. To make one of your own, say how it does these few things; a
/// cache does the rest: promotion, one load per key, consistency.
///
/// ```swift
/// struct Shared: CacheTier {
///   let name = "shared"
///   let store: Store
///   func entry(forKey key: String) async throws -> CacheTierEntry<Data>? {
///     try await store.get(key).map { CacheTierEntry(value: $0.bytes, expiration: $0.life) }
///   }
///   func set(_ entry: CacheTierEntry<Data>, forKey key: String) async throws {
///     try await store.put(key, entry.value, lives: entry.expiration)
///   }
///   func remove(forKey key: String) async throws { try await store.delete(key) }
///   func removeAll(progress: CacheProgress?) async throws { try await store.deleteAll() }
///   func contains(_ key: String) async throws -> Bool { try await store.has(key) }
/// }
/// ```
///
/// What a tier has to keep to:
/// - A read that begins after a write has returned finds what was written, or nothing.
/// - A write that throws leaves the old entry, the new one or none; never a mixture.
/// - An expired entry is a miss.
///
/// A cache writes one key at a time; different keys at the same time.
///
/// **Concurrency.** Called from any task, several at a time.
public protocol CacheTier<Key, Value>: Sendable {
  /// What entries are stored under.
  associatedtype Key: Hashable & Sendable
  /// What is stored.
  associatedtype Value: Sendable

  /// A name for people, in statistics.
  var name: String { get }

  /// Reads what is stored under a key.
  ///
  /// - Parameter key: The key.
  /// - Returns: The entry, with its remaining time to live; nil if there is none, or it
  ///   has expired.
  /// - Throws: Why it cannot be told. A miss is not an error.
  func entry(forKey key: Key) async throws -> CacheTierEntry<Value>?

  /// Stores an entry; another one under its key is replaced, whole.
  ///
  /// - Parameters:
  ///   - entry: What to store. An expiration of nil stands for the tier's own.
  ///   - key: The key.
  /// - Throws: Why it could not be stored.
  func set(_ entry: CacheTierEntry<Value>, forKey key: Key) async throws

  /// Stores an entry that has to survive a power cut, or only the end of the process.
  ///
  /// By default that is ``set(_:forKey:)`` and for `.power` also ``sync()``. A tier that
  /// can do it for less has its own.
  ///
  /// - Parameters:
  ///   - entry: What to store. An expiration of nil stands for the tier's own.
  ///   - key: The key.
  ///   - durability: What it survives once the call returns; nil: what it does by default.
  /// - Throws: Why it could not be stored, or might not survive.
  func set(
    _ entry: CacheTierEntry<Value>, forKey key: Key, durability: Durability?
  ) async throws

  /// Removes the entry under a key, if there is one.
  ///
  /// - Parameter key: The key.
  /// - Throws: Why it could not be removed.
  func remove(forKey key: Key) async throws

  /// Removes the entry under a key, if there is one, so that it stays away.
  ///
  /// By default that is ``remove(forKey:)`` and for `.power` also ``sync()``.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - durability: What the removal survives once the call returns; nil: what it does by
  ///     default.
  /// - Throws: Why it could not be removed, or might come back.
  func remove(forKey key: Key, durability: Durability?) async throws

  /// Removes every entry.
  ///
  /// - Parameter progress: To be called now and then; nil for nobody.
  /// - Throws: Why they could not be removed, some of them perhaps were;
  ///   `CancellationError` if `progress` said so.
  func removeAll(progress: CacheProgress?) async throws

  /// Whether there is an entry under a key whose time is not over.
  ///
  /// - Parameter key: The key.
  /// - Throws: As ``entry(forKey:)``.
  func contains(_ key: Key) async throws -> Bool

  /// Removes every entry whose key begins with another key, as text does.
  ///
  /// A tier that cannot need not have it: then a cache over it cannot either.
  ///
  /// - Parameter prefix: What the keys begin with.
  /// - Returns: How many entries were removed.
  /// - Throws: Why they could not be removed, some of them perhaps were.
  @discardableResult
  func remove(prefix: Key) async throws -> Int

  /// Begins to tell what others change in the tier; by default nobody does, and it is nil.
  ///
  /// A cache asks once, and removes what it is told of from memory and the tiers above, and all
  /// that is there at the beginning; on disks it stays where ``confirmsCopies`` says so. What it
  /// writes and removes itself need not be told. A change must be told after it was made, and what
  /// is read behind that must be the new value.
  ///
  /// - Returns: A stream for the cache that asks; nil if only the cache changes anything.
  func invalidations() -> AsyncStream<CacheInvalidation<Key>>?

  /// Asks whether to load a value, and how to store it, where several caches share the tier.
  ///
  /// A cache asks the farthest of its tiers, unless that is local. By default it may load, and
  /// stores in any case. A tier that lets only one of them load what is missing keeps the others
  /// waiting in this call.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - reason: Why it is loaded, and whether the call may wait.
  /// - Returns: Whether to load, or, if it is ``CacheTierLoadReason/missing``, to look again.
  /// - Throws: Why it cannot be told. The cache loads then, and keeps nothing of it.
  func beginLoad(
    forKey key: Key, reason: CacheTierLoadReason
  ) async throws -> CacheTierLoad<Value>

  /// How long copies of its entries may live in memory and in the tiers above, at most; nil, the
  /// default: as long as they would otherwise.
  ///
  /// What ``entry(forKey:)`` returns is to say so itself, but not where the tier confirms copies.
  var copyLifetime: Duration? { get }

  /// Whether the tier can confirm copies of its entries; false by default.
  ///
  /// Then copies on disks above it stay when it could not tell of changes for a while, when the
  /// cache is opened, and when ``copyLifetime`` has passed: before one is used again, the cache
  /// asks. Entries that are read must have a ``CacheTierEntry/version``, all the life that is
  /// left to them, and as ``CacheTierEntry/writtenAt`` a time at which they were current; and
  /// those that are written are to be stored under their version.
  var confirmsCopies: Bool { get }

  /// Asks whether the entry under a key still has a version; asked only if ``confirmsCopies``.
  ///
  /// If so, a change of it must be told from then on as after ``entry(forKey:)``.
  ///
  /// - Parameters:
  ///   - version: The version that a copy has.
  ///   - key: The key.
  /// - Returns: What is left of its life, `Expiration.never` for ever; nil if it has another
  ///   version, has expired, or there is none.
  /// - Throws: Why it cannot be told: then the copy is not used.
  func confirm(_ version: CacheTierVersion, forKey key: Key) async throws -> Expiration?

  /// Makes everything that was written survive a power cut. Does nothing by default.
  ///
  /// - Throws: Why it might not.
  func sync() async throws

  /// Releases locks, descriptors and mappings until ``resume()``. Does nothing by default.
  ///
  /// - Parameter calls: What calls do until then.
  /// - Throws: What went wrong; the tier is suspended all the same.
  func suspend(calls: SuspendedCalls) async throws

  /// Ends a suspension, if the tier is suspended. Does nothing by default.
  ///
  /// - Throws: Why it cannot; the tier stays suspended then.
  func resume() async throws

  /// Ends the use of the tier. Does nothing by default.
  ///
  /// - Throws: What went wrong; the tier is closed all the same.
  func close() async throws
}

extension CacheTier {
  /// Stores the entry, and for `.power` syncs everything.
  ///
  /// - Parameters:
  ///   - entry: What to store. An expiration of nil stands for the tier's own.
  ///   - key: The key.
  ///   - durability: What it survives once the call returns; nil: what it does by default.
  /// - Throws: As ``set(_:forKey:)`` and ``sync()``.
  /// - Complexity: That of both.
  public func set(
    _ entry: CacheTierEntry<Value>, forKey key: Key, durability: Durability?
  ) async throws {
    try await set(entry, forKey: key)
    if durability == .power { try await sync() }
  }

  /// Removes the entry, and for `.power` syncs everything.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - durability: What the removal survives once the call returns; nil: what it does by
  ///     default.
  /// - Throws: As ``remove(forKey:)`` and ``sync()``.
  /// - Complexity: That of both.
  public func remove(forKey key: Key, durability: Durability?) async throws {
    try await remove(forKey: key)
    if durability == .power { try await sync() }
  }

  /// Throws `.invalidArgument`.
  ///
  /// - Parameter prefix: What the keys begin with.
  /// - Returns: Nothing.
  /// - Throws: `.invalidArgument`.
  /// - Complexity: O(1).
  public func remove(prefix: Key) async throws -> Int {
    throw LarderError(
      .invalidArgument, "The tier \(name) does not remove by prefix.")
  }

  /// Tells nothing.
  ///
  /// - Returns: nil.
  /// - Complexity: O(1).
  public func invalidations() -> AsyncStream<CacheInvalidation<Key>>? { nil }

  /// Everybody may load.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - reason: Why it is loaded.
  /// - Returns: `.allowed`.
  /// - Complexity: O(1).
  public func beginLoad(
    forKey key: Key, reason: CacheTierLoadReason
  ) async throws -> CacheTierLoad<Value> { .allowed }

  /// No limit.
  ///
  /// - Complexity: O(1).
  public var copyLifetime: Duration? { nil }

  /// It cannot.
  ///
  /// - Complexity: O(1).
  public var confirmsCopies: Bool { false }

  /// Confirms nothing.
  ///
  /// - Parameters:
  ///   - version: The version that a copy has.
  ///   - key: The key.
  /// - Returns: nil.
  /// - Complexity: O(1).
  public func confirm(
    _ version: CacheTierVersion, forKey key: Key
  ) async throws -> Expiration? { nil }

  /// Does nothing.
  ///
  /// - Complexity: O(1).
  public func sync() async throws {}

  /// Does nothing.
  ///
  /// - Parameter calls: What calls do until the tier is resumed.
  /// - Complexity: O(1).
  public func suspend(calls: SuspendedCalls) async throws {}

  /// Does nothing.
  ///
  /// - Complexity: O(1).
  public func resume() async throws {}

  /// Does nothing.
  ///
  /// - Complexity: O(1).
  public func close() async throws {}
}

/// Told how far a long call is: done and all there is, in entries or files. Says
/// whether to go on.
public typealias CacheProgress = @Sendable (_ done: UInt64, _ total: UInt64) -> Bool
