// SPDX-License-Identifier: MIT

public import LarderCore

extension Archive {
  /// Stores an element that is new.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - durability: What it survives once the call returns, and with it all that was
  ///     written before; nil: as the configuration said.
  /// - Throws: `.duplicate` if there is an element with its primary key; as
  ///   `upsert(_:durability:)`.
  /// - Complexity: As `upsert(_:durability:)`, and O(log n).
  public func insert(_ element: Element, durability: Durability? = nil) throws {
    if try !insertIfAbsent(element, durability: durability) {
      throw LarderError(
        .duplicate,
        """
        An element was not inserted into \(path): there is one with its primary key; upsert \
        replaces it.
        """, cause: ArchiveDuplicate(index: nil, id: element.id))
    }
  }

  /// Stores elements that are new, in batches of up to a thousand and 8 MiB, or an eighth of
  /// `journalCapacity` where that is less.
  ///
  /// Each batch is stored whole or not at all. Elements of a sequence that is larger than
  /// the archive make room for those that come later.
  ///
  /// - Parameters:
  ///   - elements: The elements.
  ///   - durability: What they survive once the call returns; nil: as the configuration
  ///     said.
  /// - Throws: `.duplicate` for the first element whose primary key another one has, in the archive
  ///   or in its batch; the message says at which offset of the sequence. As
  ///   `upsert(_:durability:)`. In each case nothing of that batch is stored, and earlier ones are.
  /// - Complexity: O(bytes + elements · (indexes + log n)).
  public func insert(
    all elements: some Sequence<Element>, durability: Durability? = nil
  ) throws {
    try insertNew(elements, durability)
  }

  /// Stores an element, in place of the one with the same primary key if there is one; counts
  /// as an access.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - durability: What it survives once the call returns, and with it all that was
  ///     written before; nil: as the configuration said.
  /// - Throws: `.encoding`, `.tooLarge` (above the maximum size on disk; or the key, or
  ///   what it is found by), `.readOnly`, `.closed`; `.diskFull` and `.io` of a new segment
  ///   of the log, of a checkpoint, or of making room; `.damaged`. On failure
  ///   the element that was there is there still, unless it had to make room, or it was the
  ///   sync of `.power` that failed: then the new one is there, and may not survive a power cut.
  /// - Complexity: O(bytes + indexes). No disk access, unless a segment of the log is full
  ///   and no other one is ready, too much waits for a checkpoint, or the archive is full:
  ///   then a tenth of it is evicted at once.
  @inlinable
  public func upsert(_ element: Element, durability: Durability? = nil) throws {
    try store(element, durability)
  }

  /// Stores elements, one after the other, in batches as `insert(all:durability:)`, each in place
  /// of the one with the same primary key if there is one.
  ///
  /// - Parameters:
  ///   - elements: The elements. Of two with one primary key the later stays.
  ///   - durability: What they survive once the call returns; nil: as the configuration
  ///     said.
  /// - Throws: As `upsert(_:durability:)`; earlier batches are stored then.
  /// - Complexity: O(bytes + elements · indexes).
  public func upsert(
    all elements: some Sequence<Element>, durability: Durability? = nil
  ) throws {
    try store(all: elements, durability)
  }

  /// Stores an element if there is none with its primary key.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - durability: What it survives once the call returns; nil: as the configuration
  ///     said.
  /// - Returns: Whether it was stored.
  /// - Throws: As `upsert(_:durability:)`.
  /// - Complexity: As `upsert(_:durability:)`, and O(log n).
  @discardableResult
  public func insertIfAbsent(_ element: Element, durability: Durability? = nil) throws -> Bool {
    if try contains(id: element.id) { return false }
    try recordProperties(of: element)
    return try store(element, ifVersion: 0, durability)
  }

  /// Stores an element in place of the one with the same primary key.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - durability: What it survives once the call returns; nil: as the configuration
  ///     said.
  /// - Throws: `.notFound` if there is none, or it has expired; `.conflict` if others were faster
  ///   a thousand times; as `upsert(_:durability:)`.
  /// - Complexity: As `upsert(_:durability:)`, and O(log n).
  public func update(_ element: Element, durability: Durability? = nil) throws {
    try replace(element, durability)
  }

  /// Changes the element with a primary key in one step: nobody changes it meanwhile.
  ///
  /// ```swift
  /// try users.update(id: 4) { $0.age += 1 }
  /// ```
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
  ///   `.conflict` if others were faster a thousand times; and as `upsert(_:durability:)`.
  /// - Complexity: O(log n + bytes) for each run.
  @discardableResult
  public func update(
    id: Element.ID, durability: Durability? = nil, _ body: (inout Element) throws -> Void
  ) throws -> Element? {
    try change(id, durability, body)
  }

  /// Changes all elements that meet a condition, in one step: all of them, or none.
  ///
  /// ```swift
  /// let count = try books.update(where: { $0.year < 1800 }) { $0.isOld = true }
  /// ```
  ///
  /// - Parameters:
  ///   - condition: Gets the properties of an element, and compares some.
  ///   - durability: What the changes survive once the call returns; nil: as the configuration
  ///     said.
  ///   - body: Gets each element and leaves what is to be stored, under the same primary key.
  ///     May be run several times. If it throws, nothing changes.
  /// - Returns: How many elements were changed.
  /// - Throws: As `update(durability:_:)` of a query.
  /// - Complexity: That of the query, and O(bytes + elements · log n), for each run.
  @discardableResult
  public func update(
    where condition: (ArchiveProperties<Element>) -> ArchiveCondition<Element>,
    durability: Durability? = nil, _ body: (inout Element) throws -> Void
  ) throws -> Int {
    try self.where(condition).update(durability: durability, body)
  }

  /// Deletes all elements that meet a condition, in one step: all of them, or none.
  ///
  /// - Parameters:
  ///   - condition: Gets the properties of an element, and compares some.
  ///   - durability: What the deletion survives once the call returns; nil: as the configuration
  ///     said.
  /// - Returns: How many elements were deleted.
  /// - Throws: As `delete(durability:)` of a query.
  /// - Complexity: That of the query, and O(elements · log n).
  @discardableResult
  public func delete(
    where condition: (ArchiveProperties<Element>) -> ArchiveCondition<Element>,
    durability: Durability? = nil
  ) throws -> Int {
    try self.where(condition).delete(durability: durability)
  }
}
