// SPDX-License-Identifier: MIT

public import Foundation
public import LarderCore

// What each of these takes, returns and throws is told at its synchronous form. Where a task's
// cancellation ends it, `CancellationError` is thrown.

extension DiskCache {
  /// As the synchronous form, on another thread.
  public static func delete(at location: StoreLocation) async throws {
    try await DiskExecutor("larder.deleting").run { try self.delete(at: location) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func mappedValue(forKey key: Key) async throws -> Data? {
    try await executor.run { try self.mappedValue(forKey: key) }
  }

  /// As the synchronous form; on a thread of the cache's own where that may have to wait.
  @inlinable
  public nonisolated(nonsending) func value(forKey key: Key) async throws -> Value? {
    try await executor.inPlace { try self.read(key, $0) }
  }

  /// As the synchronous form; on a thread of the cache's own where that may have to wait.
  @inlinable
  public nonisolated(nonsending) func peek(forKey key: Key) async throws -> Value? {
    try await executor.inPlace { try self.read(key, $0.union(.peek)) }
  }

  /// As the synchronous form; on a thread of the cache's own where that may have to wait.
  public nonisolated(nonsending) func contains(_ key: Key) async throws -> Bool {
    try await executor.inPlace { how in
      if how.isEmpty { return try self.contains(key) }
      var isThere = false
      try self.keyCoder.borrow(key) { isThere = try self.store.contains($0, how) }
      return isThere
    }
  }

  /// As the synchronous form; on a thread of the cache's own where that may have to wait.
  @inlinable
  public nonisolated(nonsending) func set(
    _ value: Value?, forKey key: Key, extendedData: Data? = nil, expiration: Expiration? = nil,
    durability: Durability? = nil
  ) async throws {
    try await executor.inPlace(if: encodesShortly && !waitsForDevice(durability)) {
      try self.set(value, key, extendedData, expiration, durability, $0)
    }
  }

  /// As the synchronous form; on a thread of the cache's own where that may have to wait.
  @inlinable
  public nonisolated(nonsending) func remove(
    forKey key: Key, durability: Durability? = nil
  ) async throws {
    try await executor.inPlace(if: !waitsForDevice(durability)) {
      try self.remove(key, durability, $0)
    }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func extendedData(forKey key: Key) async throws -> Data? {
    try await executor.run { try self.extendedData(forKey: key) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func valueWithExtendedData(
    forKey key: Key
  ) async throws -> (value: Value, extendedData: Data?)? {
    try await executor.run { try self.valueWithExtendedData(forKey: key) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func removeAll() async throws {
    try await executor.run { try self.removeAll() }
  }

  /// As the synchronous form, on a thread of the cache's own, until the task is cancelled.
  public func removeAll(
    progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) -> Bool
  ) async throws {
    try await executor.runCancellable { goesOn in
      try self.removeAll { goesOn() && progress($0, $1) }
    }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func remove(forKeys keys: some Sequence<Key> & Sendable) async throws {
    try await executor.run { try self.remove(forKeys: keys) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  @discardableResult
  public func remove(prefix: Key) async throws -> Int {
    try await executor.run { try self.remove(prefix: prefix) }
  }

  /// As the synchronous form, on a thread of the cache's own, until the task is cancelled.
  @discardableResult
  public func removeAll(
    _ selection: DiskCacheSelection<Key> = .all,
    where isUnwanted: @escaping @Sendable (DiskCacheInfo<Key>) throws -> Bool
  ) async throws -> Int {
    try await executor.runCancellable { goesOn in
      try self.removeAll(selection) { info in
        if !goesOn() { throw CancellationError() }
        return try isUnwanted(info)
      }
    }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func keys(
    _ selection: DiskCacheSelection<Key> = .all, order: StoreOrder = .byKey,
    limit: Int = .max
  ) async throws -> [Key] {
    try await executor.run { try self.keys(selection, order: order, limit: limit) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func infos(
    _ selection: DiskCacheSelection<Key> = .all, order: StoreOrder = .byKey,
    limit: Int = .max
  ) async throws -> [DiskCacheInfo<Key>] {
    try await executor.run { try self.infos(selection, order: order, limit: limit) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func entries(
    _ selection: DiskCacheSelection<Key> = .all, order: StoreOrder = .byKey,
    limit: Int = .max
  ) async throws -> [DiskCacheEntry<Key, Value>] {
    try await executor.run { try self.entries(selection, order: order, limit: limit) }
  }

  /// As the synchronous form, on a thread of the cache's own, until the task is cancelled.
  public func forEachEntry(
    _ selection: DiskCacheSelection<Key> = .all, order: StoreOrder = .byKey,
    _ body: @escaping @Sendable (DiskCacheEntry<Key, Value>) throws -> Bool
  ) async throws {
    try await executor.runCancellable { goesOn in
      try self.forEachEntry(selection, order: order) { entry in
        if !goesOn() { throw CancellationError() }
        return try body(entry)
      }
    }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func info(forKey key: Key) async throws -> DiskCacheInfo<Key>? {
    try await executor.run { try self.info(forKey: key) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  @discardableResult
  public func exportValue(forKey key: Key, to directory: URL) async throws -> URL? {
    try await executor.run { try self.exportValue(forKey: key, to: directory) }
  }

  /// As the synchronous form, on a thread of the cache's own, until the task is cancelled.
  public func verify(
    progress: (@Sendable (_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) async throws -> StoreReport {
    try await executor.runCancellable { goesOn in
      try self.verify { goesOn() && (progress?($0, $1) ?? true) }
    }
  }

  /// As the synchronous form, on a thread of the cache's own.
  @discardableResult
  public func trim(toCount count: Int) async throws -> Int {
    try await executor.run { try self.trim(toCount: count) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  @discardableResult
  public func trim(toSize size: DataSize) async throws -> Int {
    try await executor.run { try self.trim(toSize: size) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  @discardableResult
  public func removeExpired() async throws -> Int {
    try await executor.run { try self.removeExpired() }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func trim() async throws { try await executor.run { try self.trim() } }

  /// As the synchronous form, on a thread of the cache's own.
  @discardableResult
  public func transaction<R: Sendable>(
    durability: Durability? = nil,
    _ body: @escaping @Sendable (inout DiskCacheTransaction<Key, Value>) throws -> R
  ) async throws -> R {
    try await executor.run { try self.transaction(durability: durability, body) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  @discardableResult
  public func update<R: Sendable>(
    forKey key: Key, expiration: Expiration? = nil, durability: Durability? = nil,
    _ body: @escaping @Sendable (inout Value?) throws -> R
  ) async throws -> R {
    try await executor.run {
      try self.update(forKey: key, expiration: expiration, durability: durability, body)
    }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func versionedValue(
    forKey key: Key
  ) async throws -> (value: Value, version: UInt64)? {
    try await executor.run { try self.versionedValue(forKey: key) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func compareAndSet(
    _ value: Value?, forKey key: Key, version: UInt64?, extendedData: Data? = nil,
    expiration: Expiration? = nil, durability: Durability? = nil
  ) async throws -> Bool {
    try await executor.run {
      try self.compareAndSet(
        value, forKey: key, version: version, extendedData: extendedData, expiration: expiration,
        durability: durability)
    }
  }

  /// As the synchronous form, on a thread of the cache's own.
  @discardableResult
  public func batch<R: Sendable>(
    durability: Durability? = nil,
    _ body: @escaping @Sendable (borrowing DiskCacheBatch<Key, Value>) throws -> R
  ) async throws -> R {
    try await executor.run { try self.batch(durability: durability, body) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func values(forKeys keys: some Sequence<Key> & Sendable) async throws -> [Key: Value] {
    try await executor.run { try self.values(forKeys: keys) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func set(
    _ entries: some Sequence<(key: Key, value: Value)> & Sendable, expiration: Expiration? = nil,
    durability: Durability? = nil
  ) async throws {
    try await executor.run {
      try self.set(entries, expiration: expiration, durability: durability)
    }
  }
}

extension DiskCache where Value: Equatable {
  /// As the synchronous form, on a thread of the cache's own.
  public func compareAndSet(
    _ value: Value?, forKey key: Key, expected: Value?, expiration: Expiration? = nil,
    durability: Durability? = nil
  ) async throws -> Bool {
    try await executor.run {
      try self.compareAndSet(
        value, forKey: key, expected: expected, expiration: expiration, durability: durability)
    }
  }
}
