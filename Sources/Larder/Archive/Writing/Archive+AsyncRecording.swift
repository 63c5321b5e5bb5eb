// SPDX-License-Identifier: MIT

public import LarderCore

extension Archive {
  /// As the synchronous form, on a thread of the archive's own: stores an element, in place
  /// of the one with the same primary key if there is one.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - durability: What it survives once the call returns; nil: as the configuration said.
  /// - Throws: `.encoding`, `.tooLarge`, `.readOnly`, `.closed`, `.diskFull`, `.io`,
  ///   `.damaged`.
  /// - Complexity: O(bytes + indexes), and a change of threads.
  public func record(_ element: Element, durability: Durability? = nil) async throws {
    try await executor.run { try self.store(element, durability) }
  }

  /// As the synchronous form, on a thread of the archive's own: stores an element, in place
  /// of the one with the same primary key if there is one.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - durability: What it survives once the call returns; nil: as the configuration said.
  /// - Throws: `.encoding`, `.tooLarge`, `.readOnly`, `.closed`, `.diskFull`, `.io`,
  ///   `.damaged`.
  /// - Complexity: O(bytes + indexes), and a change of threads.
  public func update(_ element: Element, durability: Durability? = nil) async throws {
    try await executor.run { try self.store(element, durability) }
  }

  /// As the synchronous form, on a thread of the archive's own: changes the element with a
  /// primary key in one step.
  ///
  /// - Parameters:
  ///   - id: The primary key.
  ///   - durability: What the change survives once the call returns; nil: as the
  ///     configuration said.
  ///   - body: Gets the element and leaves what is to be stored, under the same primary key.
  ///     May be run several times. If it throws, nothing changes.
  /// - Returns: The element as it was stored; nil, and the body was not run, if there is none,
  ///   or it has expired.
  /// - Throws: What the closure throws; `.invalidArgument` if it changed the primary key;
  ///   `.conflict` if others were faster a thousand times; `.encoding`, `.tooLarge`,
  ///   `.readOnly`, `.closed`, `.diskFull`, `.io`, `.damaged`.
  /// - Complexity: O(log n + bytes) for each run.
  @discardableResult
  public func update(
    _ id: Element.ID, durability: Durability? = nil,
    _ body: @escaping @Sendable (inout Element) throws -> Void
  ) async throws -> Element? {
    try await executor.run { try self.update(id, durability: durability, body) }
  }

  /// As the synchronous form, on a thread of the archive's own: stores elements.
  ///
  /// - Parameters:
  ///   - first: An element.
  ///   - others: More of them.
  /// - Throws: `.encoding`, `.tooLarge`, `.readOnly`, `.closed`, `.diskFull`, `.io`,
  ///   `.damaged`.
  /// - Complexity: O(bytes + elements · indexes).
  public func insert(_ first: Element, _ others: Element...) async throws {
    try await executor.run { try self.store(all: [first] + others, nil) }
  }

  /// As the synchronous form, on a thread of the archive's own: stores elements, one after
  /// the other, in batches as `insert(all:)`.
  ///
  /// - Parameters:
  ///   - elements: The elements. Of two with one primary key the later stays.
  ///   - durability: What they survive once the call returns; nil: as the configuration
  ///     said.
  /// - Throws: `.encoding`, `.tooLarge`, `.readOnly`, `.closed`, `.diskFull`, `.io`,
  ///   `.damaged`; earlier batches are stored then.
  /// - Complexity: O(bytes + elements · indexes).
  public func insert(
    all elements: some Sequence<Element> & Sendable, durability: Durability? = nil
  ) async throws {
    try await executor.run { try self.store(all: elements, durability) }
  }

  /// As the synchronous form, on a thread of the archive's own: stores an element if there
  /// is none with its primary key.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - durability: What it survives once the call returns; nil: as the configuration said.
  /// - Returns: Whether it was stored.
  /// - Throws: `.encoding`, `.tooLarge`, `.readOnly`, `.closed`, `.diskFull`, `.io`,
  ///   `.damaged`.
  /// - Complexity: O(log n + bytes + indexes), and a change of threads.
  @discardableResult
  public func insertIfAbsent(
    _ element: Element, durability: Durability? = nil
  ) async throws -> Bool {
    try await executor.run { try self.insertIfAbsent(element, durability: durability) }
  }
}
