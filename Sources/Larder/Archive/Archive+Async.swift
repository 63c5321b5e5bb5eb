// SPDX-License-Identifier: MIT

public import Foundation
public import LarderCore

// What each of these takes, returns and throws is told at its synchronous form. Where a task's
// cancellation ends it, `CancellationError` is thrown.

extension Archive {
  /// As the synchronous form; on a thread of the archive's own where that may have to wait.
  public nonisolated(nonsending) func element(forID id: Element.ID) async throws -> Element? {
    try await executor.inPlace { try self.read(id, $0) }
  }

  /// As the synchronous form; on a thread of the archive's own where that may have to wait.
  public nonisolated(nonsending) func contains(id: Element.ID) async throws -> Bool {
    try await executor.inPlace { how in
      if how.isEmpty { return try self.contains(id: id) }
      var isThere = false
      try self.keyCoder.borrow(id) { isThere = try self.store.contains($0, how) }
      try self.checkVersion()
      return isThere
    }
  }

  /// As the synchronous form, on a thread of the archive's own.
  public func elements(limit: Int = .max) async throws -> [Element] {
    try await executor.run { try self.elements(limit: limit) }
  }

  /// As the synchronous form, on a thread of the archive's own.
  public func latestAccessTime(of id: Element.ID) async throws -> Date? {
    try await executor.run { try self.latestAccessTime(of: id) }
  }

  /// As the synchronous form, on a thread of the archive's own.
  public func setSizeLimit(_ size: DataSize?) async throws {
    try await executor.run { try self.changeSizeLimit(size) }
  }

  /// As the synchronous form; on a thread of the archive's own where that may have to wait.
  public nonisolated(nonsending) func delete(
    id: Element.ID, durability: Durability? = nil
  ) async throws {
    try await executor.inPlace(if: (durability ?? self.durability) != .power) {
      try self.remove(id, durability, $0)
    }
  }

  /// As the synchronous form; on a thread of the archive's own where that may have to wait.
  public nonisolated(nonsending) func delete(
    _ element: Element, durability: Durability? = nil
  ) async throws {
    try await delete(id: element.id, durability: durability)
  }

  /// As the synchronous form, on a thread of the archive's own.
  public func delete(
    all elements: some Sequence<Element> & Sendable, durability: Durability? = nil
  ) async throws {
    try await executor.run { try self.remove(all: elements.lazy.map(\.id), durability) }
  }

  /// As the synchronous form, on a thread of the archive's own.
  public func delete(
    ids: some Sequence<Element.ID> & Sendable, durability: Durability? = nil
  ) async throws {
    try await executor.run { try self.remove(all: ids, durability) }
  }

  /// As the synchronous form, on a thread of the archive's own.
  public func deleteAll() async throws { try await executor.run { try self.deleteAll() } }

  /// As the synchronous form, on a thread of the archive's own.
  @discardableResult
  public func deleteAll(olderThan age: Duration) async throws -> Int {
    try await executor.run { try self.removeAll(olderThan: age) }
  }

  /// As the synchronous form, on a thread of the archive's own.
  @discardableResult
  public func deleteExpired() async throws -> Int {
    try await executor.run { try self.deleteExpired() }
  }

  /// As the synchronous form, on a thread of the archive's own.
  public func insert(_ element: Element, durability: Durability? = nil) async throws {
    try await executor.run { try self.insert(element, durability: durability) }
  }

  /// As the synchronous form, on a thread of the archive's own.
  public func insert(
    all elements: some Sequence<Element> & Sendable, durability: Durability? = nil
  ) async throws {
    try await executor.run { try self.insertNew(elements, durability) }
  }

  /// As the synchronous form; on a thread of the archive's own where that may have to wait.
  @inlinable
  public nonisolated(nonsending) func upsert(
    _ element: Element, durability: Durability? = nil
  ) async throws {
    let isInPlace = executor.encodesShortly && (durability ?? self.durability) != .power
    try await executor.inPlace(if: isInPlace) { try self.store(element, durability, $0) }
  }

  /// As the synchronous form, on a thread of the archive's own.
  public func upsert(
    all elements: some Sequence<Element> & Sendable, durability: Durability? = nil
  ) async throws {
    try await executor.run { try self.store(all: elements, durability) }
  }

  /// As the synchronous form, on a thread of the archive's own.
  @discardableResult
  public func insertIfAbsent(
    _ element: Element, durability: Durability? = nil
  ) async throws -> Bool {
    try await executor.run { try self.insertIfAbsent(element, durability: durability) }
  }

  /// As the synchronous form, on a thread of the archive's own.
  public func update(_ element: Element, durability: Durability? = nil) async throws {
    try await executor.run { try self.replace(element, durability) }
  }

  /// As the synchronous form, on a thread of the archive's own.
  @discardableResult
  public func update(
    id: Element.ID, durability: Durability? = nil,
    _ body: @escaping @Sendable (inout Element) throws -> Void
  ) async throws -> Element? {
    try await executor.run { try self.change(id, durability, body) }
  }

  /// As the synchronous form, on a thread of the archive's own, until the task is cancelled.
  @discardableResult
  public func update(
    where condition: (ArchiveProperties<Element>) -> ArchiveCondition<Element>,
    durability: Durability? = nil, _ body: @escaping @Sendable (inout Element) throws -> Void
  ) async throws -> Int {
    try await self.where(condition).update(durability: durability, body)
  }

  /// As the synchronous form, on a thread of the archive's own, until the task is cancelled.
  @discardableResult
  public func delete(
    where condition: (ArchiveProperties<Element>) -> ArchiveCondition<Element>,
    durability: Durability? = nil
  ) async throws -> Int {
    try await self.where(condition).delete(durability: durability)
  }

  /// As the synchronous form, on a thread of the archive's own.
  @discardableResult
  public func transaction<R: Sendable>(
    durability: Durability? = nil,
    _ body: @escaping @Sendable (ArchiveTransaction<Element>) throws -> R
  ) async throws -> R {
    try await executor.run { try self.transaction(durability: durability, body) }
  }

  /// As the synchronous form, on a thread of the archive's own, until the task is cancelled.
  public func reindex(
    progress: (@Sendable (_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) async throws {
    try await executor.runCancellable { goesOn in
      try self.reindex { goesOn() && (progress?($0, $1) ?? true) }
    }
  }

  /// As the synchronous form, on a thread of the archive's own, until the task is cancelled.
  public func verify(
    progress: (@Sendable (_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) async throws -> ArchiveReport {
    try await executor.runCancellable { goesOn in
      try self.verify { goesOn() && (progress?($0, $1) ?? true) }
    }
  }

  /// As the synchronous form, on a thread of the archive's own.
  public func ids(limit: Int = .max) async throws -> [Element.ID] {
    try await executor.run { try self.ids(limit: limit) }
  }

  /// As the synchronous form, on a thread of the archive's own.
  public func unindexedIDs(limit: Int = .max) async throws -> [Element.ID] {
    try await executor.run { try self.unindexedIDs(limit: limit) }
  }
}
