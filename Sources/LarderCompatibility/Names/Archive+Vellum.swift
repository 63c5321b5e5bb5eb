// SPDX-License-Identifier: MIT

public import Larder
public import LarderCore

// Archives as Vellum names what they do.

extension Archive {
  /// Stores an element, in place of the one with the same primary key if there is one.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - durability: What it survives once the call returns; nil: as the configuration said.
  /// - Throws: As `upsert(_:durability:)`.
  /// - Complexity: As `upsert(_:durability:)`.
  @inlinable
  public func record(_ element: Element, durability: Durability? = nil) throws {
    try upsert(element, durability: durability)
  }

  /// As the synchronous form, on a thread of the archive's own:
  /// stores an element, in place of the one with the same primary key if there is one.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - durability: What it survives once the call returns; nil: as the configuration said.
  /// - Throws: As `upsert(_:durability:)`.
  /// - Complexity: As `upsert(_:durability:)`.
  public func record(_ element: Element, durability: Durability? = nil) async throws {
    try await upsert(element, durability: durability)
  }

  /// Reads the element with a primary key, which counts as an access.
  ///
  /// - Parameter id: The primary key.
  /// - Returns: The element; nil if there is none, or it has expired.
  /// - Throws: As `element(forID:)`.
  /// - Complexity: As `element(forID:)`.
  @inlinable
  public func access(_ id: Element.ID) throws -> Element? {
    try element(forID: id)
  }

  /// As the synchronous form, on a thread of the archive's own:
  /// reads the element with a primary key, which counts as an access.
  ///
  /// - Parameter id: The primary key.
  /// - Returns: The element; nil if there is none, or it has expired.
  /// - Throws: As `element(forID:)`.
  /// - Complexity: As `element(forID:)`.
  public func access(_ id: Element.ID) async throws -> Element? {
    try await element(forID: id)
  }

  /// Reads all elements, in the order of their primary keys as far as those have one.
  ///
  /// - Parameter limit: How many at most; all by default. 0 and less: none.
  /// - Returns: The elements.
  /// - Throws: As `elements(limit:)`.
  /// - Complexity: As `elements(limit:)`.
  public func accessAll(limitedBy limit: Int = .max) throws -> [Element] {
    try elements(limit: limit)
  }

  /// As the synchronous form, on a thread of the archive's own:
  /// reads all elements, in the order of their primary keys as far as those have one.
  ///
  /// - Parameter limit: How many at most; all by default. 0 and less: none.
  /// - Returns: The elements.
  /// - Throws: As `elements(limit:)`.
  /// - Complexity: As `elements(limit:)`.
  public func accessAll(limitedBy limit: Int = .max) async throws -> [Element] {
    try await elements(limit: limit)
  }

  /// Whether there is an element with a primary key; does not count as an access.
  ///
  /// - Parameter id: The primary key.
  /// - Returns: False also if the element has expired.
  /// - Throws: As `contains(id:)`.
  /// - Complexity: As `contains(id:)`.
  public func contains(_ id: Element.ID) throws -> Bool {
    try contains(id: id)
  }

  /// As the synchronous form, on a thread of the archive's own:
  /// whether there is an element with a primary key; does not count as an access.
  ///
  /// - Parameter id: The primary key.
  /// - Returns: False also if the element has expired.
  /// - Throws: As `contains(id:)`.
  /// - Complexity: As `contains(id:)`.
  public func contains(_ id: Element.ID) async throws -> Bool {
    try await contains(id: id)
  }

  /// Changes the element with a primary key in one step.
  ///
  /// - Parameters:
  ///   - id: The primary key.
  ///   - durability: What it survives once the call returns; nil: as the configuration said.
  ///   - body: Gets the element and leaves what is to be stored.
  /// - Returns: The element as it was stored; nil if there is none.
  /// - Throws: As `update(id:durability:_:)`.
  /// - Complexity: As `update(id:durability:_:)`.
  @discardableResult
  public func update(
    _ id: Element.ID, durability: Durability? = nil, _ body: (inout Element) throws -> Void
  ) throws -> Element? {
    try update(id: id, durability: durability, body)
  }

  /// As the synchronous form, on a thread of the archive's own:
  /// changes the element with a primary key in one step.
  ///
  /// - Parameters:
  ///   - id: The primary key.
  ///   - durability: What it survives once the call returns; nil: as the configuration said.
  ///   - body: Gets the element and leaves what is to be stored.
  /// - Returns: The element as it was stored; nil if there is none.
  /// - Throws: As `update(id:durability:_:)`.
  /// - Complexity: As `update(id:durability:_:)`.
  @discardableResult
  public func update(
    _ id: Element.ID, durability: Durability? = nil,
    _ body: @escaping @Sendable (inout Element) throws -> Void
  ) async throws -> Element? {
    try await update(id: id, durability: durability, body)
  }

  /// Deletes elements, by their primary keys.
  ///
  /// - Parameters:
  ///   - first: An element.
  ///   - second: Another one.
  ///   - others: More of them.
  /// - Throws: As `delete(all:durability:)`.
  /// - Complexity: As `delete(all:durability:)`.
  public func delete(_ first: Element, _ second: Element, _ others: Element...) throws {
    try delete(all: [first, second] + others)
  }

  /// As the synchronous form, on a thread of the archive's own:
  /// deletes elements, by their primary keys.
  ///
  /// - Parameters:
  ///   - first: An element.
  ///   - second: Another one.
  ///   - others: More of them.
  /// - Throws: As `delete(all:durability:)`.
  /// - Complexity: As `delete(all:durability:)`.
  public func delete(_ first: Element, _ second: Element, _ others: Element...) async throws {
    try await delete(all: [first, second] + others)
  }

  /// Adds elements, all of them or none.
  ///
  /// - Parameters:
  ///   - first: An element.
  ///   - second: Another one.
  ///   - others: More of them.
  /// - Throws: As `insert(all:durability:)`: a duplicate is an error.
  /// - Complexity: As `insert(all:durability:)`.
  public func insert(_ first: Element, _ second: Element, _ others: Element...) throws {
    try insert(all: [first, second] + others)
  }

  /// As the synchronous form, on a thread of the archive's own:
  /// adds elements, all of them or none.
  ///
  /// - Parameters:
  ///   - first: An element.
  ///   - second: Another one.
  ///   - others: More of them.
  /// - Throws: As `insert(all:durability:)`: a duplicate is an error.
  /// - Complexity: As `insert(all:durability:)`.
  public func insert(_ first: Element, _ second: Element, _ others: Element...) async throws {
    try await insert(all: [first, second] + others)
  }

  /// Deletes the elements with some primary keys.
  ///
  /// - Parameters:
  ///   - first: A primary key.
  ///   - others: More of them.
  /// - Throws: As `delete(ids:durability:)`.
  /// - Complexity: As `delete(ids:durability:)`.
  public func delete(ids first: Element.ID, _ others: Element.ID...) throws {
    try delete(ids: [first] + others)
  }

  /// As the synchronous form, on a thread of the archive's own:
  /// deletes the elements with some primary keys.
  ///
  /// - Parameters:
  ///   - first: A primary key.
  ///   - others: More of them.
  /// - Throws: As `delete(ids:durability:)`.
  /// - Complexity: As `delete(ids:durability:)`.
  public func delete(ids first: Element.ID, _ others: Element.ID...) async throws {
    try await delete(ids: [first] + others)
  }

  /// Deletes the elements with some primary keys.
  ///
  /// - Parameters:
  ///   - ids: The primary keys.
  ///   - durability: What it survives once the call returns; nil: as the configuration said.
  /// - Throws: As `delete(ids:durability:)`.
  /// - Complexity: As `delete(ids:durability:)`.
  public func delete(
    allIDs ids: some Sequence<Element.ID>, durability: Durability? = nil
  ) throws {
    try delete(ids: ids, durability: durability)
  }

  /// As the synchronous form, on a thread of the archive's own:
  /// deletes the elements with some primary keys.
  ///
  /// - Parameters:
  ///   - ids: The primary keys.
  ///   - durability: What it survives once the call returns; nil: as the configuration said.
  /// - Throws: As `delete(ids:durability:)`.
  /// - Complexity: As `delete(ids:durability:)`.
  public func delete(
    allIDs ids: some Sequence<Element.ID> & Sendable, durability: Durability? = nil
  ) async throws {
    try await delete(ids: ids, durability: durability)
  }

  /// Closes the archive and deletes its files.
  ///
  /// - Throws: As `destroy()`.
  /// - Complexity: As `destroy()`.
  public func delete() throws {
    try destroy()
  }

  /// As the synchronous form, on a thread of the archive's own:
  /// closes the archive and deletes its files.
  ///
  /// - Throws: As `destroy()`.
  /// - Complexity: As `destroy()`.
  public func delete() async throws {
    try await destroy()
  }
}
