// SPDX-License-Identifier: MIT

import LarderCore
import Synchronization

/// Reads and writes of several elements that happen as if nothing else did meanwhile, or not at
/// all; see `transaction(durability:_:)` of an ``Archive``.
///
/// Nothing is stored before the closure returns; what it reads has its own writes in it.
///
/// **Concurrency.** Belongs to the closure that got it, and is of no use behind that: every call
/// throws `.invalidArgument` then.
public final class ArchiveTransaction<Element: Identifiable & Sendable>: Sendable
where Element.ID: Codable & Sendable & SendableMetatype {
  /// What is known of a primary key.
  struct Known {
    let key: StoreOwnKey
    /// What was read: the version, 0 if there was none; nil: nothing was.
    var version: UInt64?
    /// As the transaction has it.
    var element: Element?
    var isWritten = false
  }

  struct State {
    var known: [Element.ID: Known] = [:]
    /// The last write before the first query.
    var queriedAt: UInt64?
    var isOver = false
  }

  let archive: Archive<Element>
  private let state = Mutex(State())

  init(_ archive: Archive<Element>) { self.archive = archive }

  // MARK: - Elements

  /// Reads the element with a primary key, as the transaction's own writes left it; counts as an
  /// access.
  ///
  /// - Parameter id: The primary key.
  /// - Returns: The element; nil if there is none, or it has expired.
  /// - Throws: `.damaged`, `.decoding`, `.encoding` (of the key), `.closed`, `.io`.
  /// - Complexity: O(log n) the first time, and what decoding takes.
  public func element(forID id: Element.ID) throws -> Element? { try known(id).element }

  /// Whether there is an element with a primary key, as the transaction's own writes left it.
  ///
  /// - Parameter id: The primary key.
  /// - Returns: False also if the element has expired.
  /// - Throws: As `element(forID:)`.
  /// - Complexity: As `element(forID:)`.
  public func contains(id: Element.ID) throws -> Bool { try known(id).element != nil }

  /// Adds an element when the transaction ends.
  ///
  /// - Parameter element: The element.
  /// - Throws: `.duplicate` if there is one with its primary key; as `element(forID:)`.
  /// - Complexity: As `element(forID:)`.
  public func insert(_ element: Element) throws {
    if try contains(id: element.id) {
      throw LarderError(
        .duplicate,
        """
        An element was not inserted into \(archive.path): there is one with its primary key; \
        upsert replaces it.
        """, cause: ArchiveDuplicate(index: nil, id: element.id))
    }
    try write(element, element.id)
  }

  /// Stores an element when the transaction ends, in place of the one with its primary key if
  /// there is one.
  ///
  /// - Parameter element: The element.
  /// - Throws: `.encoding` (of the key).
  /// - Complexity: O(bytes of the key).
  public func upsert(_ element: Element) throws { try write(element, element.id) }

  /// Stores an element when the transaction ends, in place of the one with its primary key.
  ///
  /// - Parameter element: The element.
  /// - Throws: `.notFound` if there is none; as `element(forID:)`.
  /// - Complexity: As `element(forID:)`.
  public func update(_ element: Element) throws {
    guard try contains(id: element.id) else {
      throw LarderError(
        .notFound,
        """
        An element of \(archive.path) was not updated: there is none with its primary key; upsert \
        inserts it.
        """)
    }
    try write(element, element.id)
  }

  /// Changes the element with a primary key when the transaction ends.
  ///
  /// - Parameters:
  ///   - id: The primary key.
  ///   - body: Gets the element and leaves what is to be stored, under the same primary key.
  /// - Returns: The element as it will be stored; nil, and the body was not run, if there is none.
  /// - Throws: What the closure throws; `.invalidArgument` if it changed the primary key; as
  ///   `element(forID:)`.
  /// - Complexity: As `element(forID:)`.
  @discardableResult
  public func update(
    id: Element.ID, _ body: (inout Element) throws -> Void
  ) throws -> Element? {
    guard var element = try element(forID: id) else { return nil }
    try body(&element)
    guard element.id == id else {
      throw LarderError(.invalidArgument, "An update must not change the primary key.")
    }
    try write(element, id)
    return element
  }

  /// Deletes the element with a primary key when the transaction ends, if there is one.
  ///
  /// - Parameter id: The primary key.
  /// - Throws: `.encoding` (of the key).
  /// - Complexity: O(bytes of the key).
  public func delete(id: Element.ID) throws { try write(nil, id) }

  // MARK: - Queries

  /// A query of all elements, as the transaction's own writes left them.
  ///
  /// Its results hold when the transaction ends: where anybody has written to the archive since
  /// the first query, the closure is run again. With writes of its own before it, a query sorts
  /// by itself, and reads up to its limit and as many elements more as were written.
  ///
  /// - Complexity: O(1).
  public var query: ArchiveQuery<Element> {
    ArchiveQuery(archive: archive, transaction: self)
  }

  // MARK: - State

  private func known(_ id: Element.ID) throws -> Known {
    if let known = try state.withLock({ try $0.checked().known[id] }) { return known }
    let found = try archive.readVersioned(id)
    let known = Known(
      key: try archive.keyCoder.own(id), version: found?.version ?? 0, element: found?.element)
    state.withLock { $0.known[id] = known }
    return known
  }

  private func write(_ element: Element?, _ id: Element.ID) throws {
    let key = try archive.keyCoder.own(id)
    try state.withLock { state in
      var known = try state.checked().known[id] ?? Known(key: key)
      known.element = element
      known.isWritten = true
      state.known[id] = known
    }
  }

  /// What was written so far; from now on nobody else may write.
  func written() throws -> [Element.ID: Known] {
    try state.withLock { state in
      if try state.checked().queriedAt == nil {
        state.queriedAt = try archive.store.lastSequence()
      }
      return state.known.filter(\.value.isWritten)
    }
  }

  func end() {
    state.withLock {
      $0.isOver = true
      $0.known = [:]
    }
  }

  /// Writes everything, or nothing.
  ///
  /// - Parameter writes: false: only looks whether what was read is still there.
  /// - Returns: Whether what was read was still there.
  func commit(_ durability: Durability, writes: Bool = true) throws -> Bool {
    let (known, queriedAt) = state.withLock { ($0.known, $0.queriedAt) }
    if known.isEmpty, queriedAt == nil { return true }
    var batch = ArchiveBatch(archive)
    batch.conditions.unchangedSince = queriedAt
    for (id, known) in known {
      if let version = known.version { batch.conditions.versions.append((known.key, version)) }
      guard writes, known.isWritten else { continue }
      if let element = known.element {
        try archive.recordProperties(of: element)
        batch.add(try batch.encode(element))
      } else {
        batch.conditions.removed.append((id, known.key))
      }
    }
    return try batch.commit(durability)
  }
}

extension ArchiveTransaction.State {
  fileprivate func checked() throws -> Self {
    if isOver {
      throw LarderError(
        .invalidArgument, "A transaction cannot be used after the closure that it was made for.")
    }
    return self
  }
}
