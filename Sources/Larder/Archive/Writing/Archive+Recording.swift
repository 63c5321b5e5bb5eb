// SPDX-License-Identifier: MIT

public import LarderCore

extension Archive {
  /// Stores an element, in place of the one with the same primary key if there is one; counts
  /// as an access.
  ///
  /// Where the element is ``Archivable``, its properties that are archivable too go to
  /// their own archives before, if ``ArchiveConfiguration/propertyFactory`` says where.
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
  public func record(_ element: Element, durability: Durability? = nil) throws {
    try store(element, durability)
  }

  /// Stores an element, in place of the one with the same primary key if there is one: the
  /// same as `record(_:durability:)`.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - durability: What it survives once the call returns; nil: as the configuration
  ///     said.
  /// - Throws: As `record(_:durability:)`.
  /// - Complexity: As `record(_:durability:)`.
  public func update(_ element: Element, durability: Durability? = nil) throws {
    try store(element, durability)
  }

  /// Changes the element with a primary key in one step: nobody changes it meanwhile.
  ///
  /// ```swift
  /// try users.update(id) { $0.age += 1 }
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
  ///   `.conflict` if others were faster a thousand times; and as `record(_:durability:)`.
  /// - Complexity: O(log n + bytes) for each run.
  @discardableResult
  public func update(
    _ id: Element.ID, durability: Durability? = nil, _ body: (inout Element) throws -> Void
  ) throws -> Element? {
    for _ in 0..<1000 {
      guard let found = try readVersioned(id) else { return nil }
      var element = found.element
      try body(&element)
      guard element.id == id else {
        throw LarderError(.invalidArgument, "An update must not change the primary key.")
      }
      if try store(element, ifVersion: found.version, durability) { return element }
    }
    throw LarderError(
      .conflict,
      "An update in \(path) was tried 1000 times, and each time others changed the element.")
  }

  /// Stores elements: as `record(_:durability:)` for each of them.
  ///
  /// - Parameters:
  ///   - first: An element.
  ///   - others: More of them.
  /// - Throws: As `insert(all:durability:)`.
  /// - Complexity: As `insert(all:durability:)`.
  public func insert(_ first: Element, _ others: Element...) throws {
    try store(all: [first] + others, nil)
  }

  /// Stores elements, one after the other, in batches of up to a thousand
  /// and 8 MiB, or an eighth of `journalCapacity` where that is less.
  ///
  /// Each batch is stored whole or not at all. Elements of a sequence that is larger than
  /// the archive make room for those that come later.
  ///
  /// - Parameters:
  ///   - elements: The elements. Of two with one primary key the later stays.
  ///   - durability: What they survive once the call returns; nil: as the configuration
  ///     said.
  /// - Throws: As `record(_:durability:)`; earlier batches are stored then.
  /// - Complexity: O(bytes + elements · indexes).
  public func insert(
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
  /// - Throws: As `record(_:durability:)`.
  /// - Complexity: As `record(_:durability:)`.
  @discardableResult
  public func insertIfAbsent(_ element: Element, durability: Durability? = nil) throws -> Bool {
    if try contains(element.id) { return false }
    try recordProperties(of: element)
    return try store(element, ifVersion: 0, durability)
  }
}
