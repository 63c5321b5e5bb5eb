// SPDX-License-Identifier: MIT

public import Larder
public import LarderCore

// In Vellum's archives, what is inserted or updated replaces what is there. So it does for elements
// that are `Archivable`; for others `insert` and `update` mean what they mean in Larder.

extension Archive where Element: Archivable {
  /// Stores an element, in place of the one with the same primary key if there is one.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - durability: What it survives once the call returns; nil: as the configuration said.
  /// - Throws: As `upsert(_:durability:)`.
  /// - Complexity: As `upsert(_:durability:)`.
  public func insert(_ element: Element, durability: Durability? = nil) throws {
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
  public func insert(_ element: Element, durability: Durability? = nil) async throws {
    try await upsert(element, durability: durability)
  }

  /// Stores an element, in place of the one with the same primary key if there is one.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - durability: What it survives once the call returns; nil: as the configuration said.
  /// - Throws: As `upsert(_:durability:)`.
  /// - Complexity: As `upsert(_:durability:)`.
  public func update(_ element: Element, durability: Durability? = nil) throws {
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
  public func update(_ element: Element, durability: Durability? = nil) async throws {
    try await upsert(element, durability: durability)
  }

  /// Stores elements, each in place of the one with the same primary key if there is one.
  ///
  /// - Parameters:
  ///   - first: An element.
  ///   - second: Another one.
  ///   - others: More of them. Of two with one primary key the later stays.
  /// - Throws: As `upsert(all:durability:)`.
  /// - Complexity: As `upsert(all:durability:)`.
  public func insert(_ first: Element, _ second: Element, _ others: Element...) throws {
    try upsert(all: [first, second] + others)
  }

  /// As the synchronous form, on a thread of the archive's own:
  /// stores elements, each in place of the one with the same primary key if there is one.
  ///
  /// - Parameters:
  ///   - first: An element.
  ///   - second: Another one.
  ///   - others: More of them. Of two with one primary key the later stays.
  /// - Throws: As `upsert(all:durability:)`.
  /// - Complexity: As `upsert(all:durability:)`.
  public func insert(_ first: Element, _ second: Element, _ others: Element...) async throws {
    try await upsert(all: [first, second] + others)
  }

  /// Stores elements, each in place of the one with the same primary key if there is one.
  ///
  /// - Parameters:
  ///   - elements: The elements. Of two with one primary key the later stays.
  ///   - durability: What it survives once the call returns; nil: as the configuration said.
  /// - Throws: As `upsert(all:durability:)`.
  /// - Complexity: As `upsert(all:durability:)`.
  public func insert(
    all elements: some Sequence<Element>, durability: Durability? = nil
  ) throws {
    try upsert(all: elements, durability: durability)
  }

  /// As the synchronous form, on a thread of the archive's own:
  /// stores elements, each in place of the one with the same primary key if there is one.
  ///
  /// - Parameters:
  ///   - elements: The elements. Of two with one primary key the later stays.
  ///   - durability: What it survives once the call returns; nil: as the configuration said.
  /// - Throws: As `upsert(all:durability:)`.
  /// - Complexity: As `upsert(all:durability:)`.
  public func insert(
    all elements: some Sequence<Element> & Sendable, durability: Durability? = nil
  ) async throws {
    try await upsert(all: elements, durability: durability)
  }
}
