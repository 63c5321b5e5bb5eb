// SPDX-License-Identifier: MIT

public import Foundation
public import LarderCore

// What each of these takes, returns and throws is told at its synchronous form. Where a task's
// cancellation ends it, `CancellationError` is thrown.

extension EntryCache {
  /// As the synchronous form, on a thread of the cache's own.
  public func setValues(
    _ values: [Data], forKey key: Key, expiration: Expiration? = nil,
    durability: Durability? = nil
  ) async throws {
    try await store.executor.run {
      try self.setValues(values, forKey: key, expiration: expiration, durability: durability)
    }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func update(
    _ values: [Int: Data], forKey key: Key, expiration: Expiration? = nil,
    durability: Durability? = nil
  ) async throws {
    try await store.executor.run {
      try self.update(values, forKey: key, expiration: expiration, durability: durability)
    }
  }

  /// As the synchronous form; on a thread of the cache's own where that may have to wait.
  public nonisolated(nonsending) func snapshot(forKey key: Key) async throws -> EntrySnapshot? {
    try await store.executor.inPlace { how in
      var snapshot: EntrySnapshot?
      try self.keyCoder.borrow(key) { snapshot = try self.store.snapshot($0, how) }
      return snapshot
    }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func snapshot(
    forKey key: Key, values: some Sequence<Int>
  ) async throws -> EntrySnapshot? {
    let values = Array(values)
    return try await store.executor.run { try self.snapshot(forKey: key, values: values) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func contains(_ key: Key) async throws -> Bool {
    try await store.executor.run { try self.contains(key) }
  }

  /// As the synchronous form, on a thread of the cache's own, until the task is cancelled.
  public func verify(
    progress: (@Sendable (_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) async throws -> StoreReport {
    try await store.executor.runCancellable { goesOn in
      try self.verify { goesOn() && (progress?($0, $1) ?? true) }
    }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func keys(
    order: StoreOrder = .byKey, limit: Int = .max
  ) async throws -> [Key] {
    try await store.executor.run { try self.keys(order: order, limit: limit) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func infos(
    order: StoreOrder = .byKey, limit: Int = .max
  ) async throws -> [EntryInfo<Key>] {
    try await store.executor.run { try self.infos(order: order, limit: limit) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func info(forKey key: Key) async throws -> EntryInfo<Key>? {
    try await store.executor.run { try self.info(forKey: key) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  @discardableResult
  public func remove(forKey key: Key, durability: Durability? = nil) async throws -> Bool {
    try await store.executor.run { try self.remove(forKey: key, durability: durability) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func removeAll() async throws { try await store.executor.run { try self.removeAll() } }

  /// As the synchronous form, on a thread of the cache's own.
  public func edit(_ key: Key) async throws -> EntryEditor? {
    try await store.executor.run { try self.edit(key) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func edit(_ snapshot: EntrySnapshot) async throws -> EntryEditor? {
    try await store.executor.run { try self.edit(snapshot) }
  }
}

extension EntryEditor {
  /// As the synchronous form, on a thread of the cache's own.
  public func data(at index: Int) async throws -> Data? {
    try await store.executor.run { try self.data(at: index) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func string(
    at index: Int, encoding: String.Encoding = .utf8
  ) async throws -> String? {
    try await store.executor.run { try self.string(at: index, encoding: encoding) }
  }

  /// As the synchronous form, on a thread of the cache's own.
  public func commit(expiration: Expiration? = nil, durability: Durability? = nil) async throws {
    try await store.executor.run {
      try self.commit(expiration: expiration, durability: durability)
    }
  }
}

extension EntrySnapshot {
  /// As the synchronous form, on a thread of the cache's own.
  public func edit() async throws -> EntryEditor? {
    try await openStore().executor.run { try self.edit() }
  }
}
