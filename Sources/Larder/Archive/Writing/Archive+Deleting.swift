// SPDX-License-Identifier: MIT

import Foundation
public import LarderCore

extension Archive {
  /// Deletes the element with a primary key, if there is one.
  ///
  /// - Parameters:
  ///   - id: The primary key.
  ///   - durability: What the deletion survives once the call returns; nil: as the
  ///     configuration said.
  /// - Throws: `.encoding` (of the key), `.tooLarge`, `.readOnly`, `.closed`, `.diskFull`,
  ///   `.io`, `.damaged`.
  /// - Complexity: O(bytes of the key), as a write.
  public func delete(id: Element.ID, durability: Durability? = nil) throws {
    try remove(id, durability)
  }

  /// Deletes an element, by its primary key: whatever is stored under it.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - durability: What the deletion survives once the call returns; nil: as the
  ///     configuration said.
  /// - Throws: As `delete(id:durability:)`.
  /// - Complexity: As `delete(id:durability:)`.
  public func delete(_ element: Element, durability: Durability? = nil) throws {
    try remove(element.id, durability)
  }

  /// Deletes elements, by their primary keys, in batches as `insert(all:)`.
  ///
  /// - Parameters:
  ///   - elements: The elements.
  ///   - durability: What the deletion survives once the call returns; nil: as the
  ///     configuration said.
  /// - Throws: As `delete(id:durability:)`; earlier batches are deleted then.
  /// - Complexity: O(bytes of the keys).
  public func delete(
    all elements: some Sequence<Element>, durability: Durability? = nil
  ) throws {
    try remove(all: elements.lazy.map(\.id), durability)
  }

  /// Deletes the elements with some primary keys, in batches as `insert(all:)`.
  ///
  /// - Parameters:
  ///   - ids: The primary keys.
  ///   - durability: What the deletion survives once the call returns; nil: as the
  ///     configuration said.
  /// - Throws: As `delete(id:durability:)`; earlier batches are deleted then.
  /// - Complexity: O(bytes of the keys).
  public func delete(
    ids: some Sequence<Element.ID>, durability: Durability? = nil
  ) throws {
    try remove(all: ids, durability)
  }

  /// Deletes everything, at once; the archive goes on.
  ///
  /// - Throws: `.readOnly`, `.closed`, `.diskFull`, `.io`, `.damaged`.
  /// - Complexity: O(1), as a write.
  public func deleteAll() throws {
    try store.removeAll(progress: nil)
    memory.removeAll()
    changes.notify()
  }

  /// Deletes the elements that were neither accessed nor written for longer than that; the
  /// others stay.
  ///
  /// - Parameter age: How long; 0 and less: everything that was not accessed or written at
  ///   this very moment.
  /// - Returns: How many elements were deleted.
  /// - Throws: `.readOnly`, `.closed`, `.diskFull`, `.io`; `.damaged`, when all others are deleted.
  /// - Complexity: O(elements), and a flush.
  @discardableResult
  public func deleteAll(olderThan age: Duration) throws -> Int {
    try removeAll(olderThan: age)
  }

  /// Deletes expired elements; happens by itself too.
  ///
  /// - Returns: How many elements were deleted.
  /// - Throws: `.readOnly`, `.closed`, `.diskFull`, `.io`, `.damaged`.
  /// - Complexity: O(expired · log n), and a flush.
  @discardableResult
  public func deleteExpired() throws -> Int {
    let count = try store.removeExpired()
    if count > 0 { changes.notify() }
    return count
  }
}
