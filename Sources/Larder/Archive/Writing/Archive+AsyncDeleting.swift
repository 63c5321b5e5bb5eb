// SPDX-License-Identifier: MIT

public import LarderCore

extension Archive {
  /// As the synchronous form, on a thread of the archive's own: deletes the element with a
  /// primary key, if there is one.
  ///
  /// - Parameters:
  ///   - id: The primary key.
  ///   - durability: What the deletion survives once the call returns; nil: as the
  ///     configuration said.
  /// - Throws: `.encoding` (of the key), `.tooLarge`, `.readOnly`, `.closed`, `.diskFull`,
  ///   `.io`, `.damaged`.
  /// - Complexity: O(bytes of the key), as a write, and a change of threads.
  public func delete(id: Element.ID, durability: Durability? = nil) async throws {
    try await executor.run { try self.remove(id, durability) }
  }

  /// As the synchronous form, on a thread of the archive's own: deletes an element, by its
  /// primary key.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - durability: What the deletion survives once the call returns; nil: as the
  ///     configuration said.
  /// - Throws: `.encoding` (of the key), `.tooLarge`, `.readOnly`, `.closed`, `.diskFull`,
  ///   `.io`, `.damaged`.
  /// - Complexity: O(bytes of the key), as a write, and a change of threads.
  public func delete(_ element: Element, durability: Durability? = nil) async throws {
    try await executor.run { try self.remove(element.id, durability) }
  }

  /// As the synchronous form, on a thread of the archive's own: deletes elements, by their
  /// primary keys, in batches as `insert(all:)`.
  ///
  /// - Parameters:
  ///   - elements: The elements.
  ///   - durability: What the deletion survives once the call returns; nil: as the
  ///     configuration said.
  /// - Throws: `.encoding` (of a key), `.tooLarge`, `.readOnly`, `.closed`, `.diskFull`,
  ///   `.io`, `.damaged`; earlier batches are deleted then.
  /// - Complexity: O(bytes of the keys).
  public func delete(
    all elements: some Sequence<Element> & Sendable, durability: Durability? = nil
  ) async throws {
    try await executor.run { try self.remove(all: elements.lazy.map(\.id), durability) }
  }

  /// As the synchronous form, on a thread of the archive's own: deletes the elements with
  /// some primary keys, in batches as `insert(all:)`.
  ///
  /// - Parameters:
  ///   - ids: The primary keys.
  ///   - durability: What the deletion survives once the call returns; nil: as the
  ///     configuration said.
  /// - Throws: `.encoding` (of a key), `.tooLarge`, `.readOnly`, `.closed`, `.diskFull`,
  ///   `.io`, `.damaged`; earlier batches are deleted then.
  /// - Complexity: O(bytes of the keys).
  public func delete(
    ids: some Sequence<Element.ID> & Sendable, durability: Durability? = nil
  ) async throws {
    try await executor.run { try self.remove(all: ids, durability) }
  }

  /// As the synchronous form, on a thread of the archive's own: deletes everything, at once.
  ///
  /// - Throws: `.readOnly`, `.closed`, `.diskFull`, `.io`, `.damaged`.
  /// - Complexity: O(1), as a write, and a change of threads.
  public func deleteAll() async throws { try await executor.run { try self.deleteAll() } }

  /// As the synchronous form, on a thread of the archive's own: deletes the elements that
  /// were neither accessed nor written for longer than that.
  ///
  /// - Parameter age: How long; 0 and less: everything that was not accessed or written at
  ///   this very moment.
  /// - Returns: How many elements were deleted.
  /// - Throws: `.readOnly`, `.closed`, `.diskFull`, `.io`; `.damaged`, when all others are deleted.
  /// - Complexity: O(elements), and a flush.
  @discardableResult
  public func deleteAll(olderThan age: Duration) async throws -> Int {
    try await executor.run { try self.removeAll(olderThan: age) }
  }

  /// As the synchronous form, on a thread of the archive's own: deletes expired
  /// elements.
  ///
  /// - Returns: How many elements were deleted.
  /// - Throws: `.readOnly`, `.closed`, `.diskFull`, `.io`, `.damaged`.
  /// - Complexity: O(expired · log n), and a flush.
  @discardableResult
  public func deleteExpired() async throws -> Int {
    try await executor.run { try self.deleteExpired() }
  }
}
