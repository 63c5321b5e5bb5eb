// SPDX-License-Identifier: MIT

public import LarderCore

extension Archive {
  /// As the synchronous form, on a thread of the archive's own: stores an element
  /// that is new.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - durability: What it survives once the call returns; nil: as the configuration
  ///     said.
  /// - Throws: `.duplicate`; `.encoding`, `.tooLarge`, `.readOnly`, `.closed`,
  ///   `.diskFull`, `.io`, `.damaged`.
  /// - Complexity: O(log n + bytes + indexes), and a change of threads.
  public func insert(_ element: Element, durability: Durability? = nil) async throws {
    try await executor.run { try self.insert(element, durability: durability) }
  }

  /// As the synchronous form, on a thread of the archive's own: stores elements
  /// that are new, in batches.
  ///
  /// - Parameters:
  ///   - elements: The elements.
  ///   - durability: What they survive once the call returns; nil: as the configuration
  ///     said.
  /// - Throws: `.duplicate`; `.encoding`, `.tooLarge`, `.readOnly`, `.closed`,
  ///   `.diskFull`, `.io`, `.damaged`. Earlier batches are stored then.
  /// - Complexity: O(bytes + elements · (indexes + log n)), and a change of threads.
  public func insert(
    all elements: some Sequence<Element> & Sendable, durability: Durability? = nil
  ) async throws {
    try await executor.run { try self.insertNew(elements, durability) }
  }

  /// As the synchronous form, on a thread of the archive's own: stores an element,
  /// in place of the one with the same primary key if there is one.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - durability: What it survives once the call returns; nil: as the configuration
  ///     said.
  /// - Throws: `.encoding`, `.tooLarge`, `.readOnly`, `.closed`,
  ///   `.diskFull`, `.io`, `.damaged`.
  /// - Complexity: O(bytes + indexes), and a change of threads.
  public func upsert(_ element: Element, durability: Durability? = nil) async throws {
    try await executor.run { try self.store(element, durability) }
  }

  /// As the synchronous form, on a thread of the archive's own: stores elements,
  /// one after the other, in batches.
  ///
  /// - Parameters:
  ///   - elements: The elements. Of two with one primary key the later stays.
  ///   - durability: What they survive once the call returns; nil: as the configuration
  ///     said.
  /// - Throws: `.encoding`, `.tooLarge`, `.readOnly`, `.closed`,
  ///   `.diskFull`, `.io`, `.damaged`. Earlier batches are stored then.
  /// - Complexity: O(bytes + elements · indexes), and a change of threads.
  public func upsert(
    all elements: some Sequence<Element> & Sendable, durability: Durability? = nil
  ) async throws {
    try await executor.run { try self.store(all: elements, durability) }
  }

  /// As the synchronous form, on a thread of the archive's own: stores an element
  /// if there is none with its primary key.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - durability: What it survives once the call returns; nil: as the configuration
  ///     said.
  /// - Returns: Whether it was stored.
  /// - Throws: `.encoding`, `.tooLarge`, `.readOnly`, `.closed`,
  ///   `.diskFull`, `.io`, `.damaged`.
  /// - Complexity: O(log n + bytes + indexes), and a change of threads.
  @discardableResult
  public func insertIfAbsent(
    _ element: Element, durability: Durability? = nil
  ) async throws -> Bool {
    try await executor.run { try self.insertIfAbsent(element, durability: durability) }
  }

  /// As the synchronous form, on a thread of the archive's own: stores an element
  /// in place of the one with the same primary key.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - durability: What it survives once the call returns; nil: as the configuration
  ///     said.
  /// - Throws: `.notFound`, `.conflict`; `.encoding`, `.tooLarge`, `.readOnly`, `.closed`,
  ///   `.diskFull`, `.io`, `.damaged`.
  /// - Complexity: O(log n + bytes + indexes), and a change of threads.
  public func update(_ element: Element, durability: Durability? = nil) async throws {
    try await executor.run { try self.replace(element, durability) }
  }

  /// As the synchronous form, on a thread of the archive's own: changes the element
  /// with a primary key in one step.
  ///
  /// - Parameters:
  ///   - id: The primary key.
  ///   - durability: What the change survives once the call returns; nil: as the configuration
  ///     said.
  ///   - body: Gets the element and leaves what is to be stored, under the same primary key.
  ///     May be run several times. If it throws, nothing changes.
  /// - Returns: The element as it was stored; nil, and the body was not run, if there is none,
  ///   or it has expired.
  /// - Throws: What the closure throws; `.invalidArgument`, `.conflict`; `.encoding`,
  ///   `.tooLarge`, `.readOnly`, `.closed`, `.diskFull`, `.io`, `.damaged`.
  /// - Complexity: O(log n + bytes) for each run, and a change of threads.
  @discardableResult
  public func update(
    id: Element.ID, durability: Durability? = nil,
    _ body: @escaping @Sendable (inout Element) throws -> Void
  ) async throws -> Element? {
    try await executor.run { try self.change(id, durability, body) }
  }

  /// As the synchronous form, on a thread of the archive's own: changes all elements
  /// that meet a condition, in one step.
  ///
  /// - Parameters:
  ///   - condition: Gets the properties of an element, and compares some.
  ///   - durability: What the changes survive once the call returns; nil: as the configuration
  ///     said.
  ///   - body: Gets the element and leaves what is to be stored, under the same primary key.
  ///     May be run several times. If it throws, nothing changes.
  /// - Returns: How many elements were changed.
  /// - Throws: As `update(durability:_:)` of a query.
  /// - Complexity: As the synchronous form, and a change of threads.
  @discardableResult
  public func update(
    where condition: (ArchiveProperties<Element>) -> ArchiveCondition<Element>,
    durability: Durability? = nil, _ body: @escaping @Sendable (inout Element) throws -> Void
  ) async throws -> Int {
    try await self.where(condition).update(durability: durability, body)
  }

  /// As the synchronous form, on a thread of the archive's own: deletes all elements
  /// that meet a condition, in one step.
  ///
  /// - Parameters:
  ///   - condition: Gets the properties of an element, and compares some.
  ///   - durability: What the deletion survives once the call returns; nil: as the configuration
  ///     said.
  /// - Returns: How many elements were deleted.
  /// - Throws: As `delete(durability:)` of a query.
  /// - Complexity: As the synchronous form, and a change of threads.
  @discardableResult
  public func delete(
    where condition: (ArchiveProperties<Element>) -> ArchiveCondition<Element>,
    durability: Durability? = nil
  ) async throws -> Int {
    try await self.where(condition).delete(durability: durability)
  }
}
