// SPDX-License-Identifier: MIT

public import Foundation
import LarderCore
public import Synchronization

extension Archive {
  /// Reads the element with a primary key, which counts as an access.
  ///
  /// - Parameter id: The primary key.
  /// - Returns: The element; nil if there is none, or it has expired.
  /// - Throws: `.damaged` (there is one, but its bytes are not what was stored: it is
  ///   neither returned nor deleted), `.decoding`, `.encoding` (of the key), `.closed`, `.io`.
  /// - Complexity: O(log n), and what decoding takes if the element is not in memory.
  @inlinable
  public func element(forID id: Element.ID) throws -> Element? {
    try read(id)
  }

  /// Whether there is an element with a primary key; does not count as an access.
  ///
  /// - Parameter id: The primary key.
  /// - Returns: False also if the element has expired.
  /// - Throws: `.encoding` (of the key), `.damaged`, `.closed`, `.io`.
  /// - Complexity: O(log n).
  public func contains(id: Element.ID) throws -> Bool {
    var isThere = false
    try keyCoder.borrow(id) { isThere = try store.contains($0) }
    try checkVersion()
    return isThere
  }

  /// Reads all elements, in the order of their primary keys as far as those have one, as they
  /// were when the call began. Counts as an access of none.
  ///
  /// One that is damaged or cannot be decoded is an error, or left out and counted in
  /// ``FolderStore/statistics``, as ``ArchiveConfiguration/undecodable`` says.
  ///
  /// - Parameter limit: How many at most; all by default. 0 and less: none.
  /// - Returns: The elements.
  /// - Throws: `.decoding`, `.damaged` (the message has the primary key), `.closed`, `.io`.
  /// - Complexity: O(elements read), and what decoding takes.
  public func elements(limit: Int = .max) throws -> [Element] {
    var elements: [Element] = []
    if limit <= 0 { return elements }
    var cursor = try StoreCursor(store, catalog.selection())
    var areInOrder = true
    while areInOrder, elements.count < limit,
      try cursor.next({ entry in
        areInOrder = entry.key.count <= ArchiveRoute.longKey
        if areInOrder, let element = try decodeOrSkip(entry) { elements.append(element) }
      })
    {}
    return areInOrder ? elements : try query.limit(limit).run().rows.map { $0.element }
  }

  /// nil if the element cannot be decoded, and is to be left out then.
  private func decodeOrSkip(_ entry: StoreEntry) throws -> Element? {
    do { return try decode(entry) } catch {
      try leaveOut(error, entry.key, tag: entry.extended)
      return nil
    }
  }

  /// When the element with a primary key was accessed or written last.
  ///
  /// Outlives the archive, as far as it has been flushed. When very many elements are
  /// accessed between two flushes, the time of some is not noted. An archive that is open
  /// for reading only notes none, and shows those that were flushed.
  ///
  /// - Parameter id: The primary key.
  /// - Returns: The time; nil if there is no element, or it has expired.
  /// - Throws: `.encoding` (of the key), `.closed`, `.damaged`, `.diskFull`, `.io`.
  /// - Complexity: O(log n), and a flush if there were accesses since the last one.
  public func latestAccessTime(of id: Element.ID) throws -> Date? {
    try flushAccesses()
    var time: Date?
    try keyCoder.borrow(id) { key in
      _ = try store.read(key, [.peek, .withoutValue]) { entry in
        time = entry.accessed.map(Date.init(nanoseconds:)) ?? entry.written
      }
    }
    try checkVersion()
    return time
  }
}

// What is inlined into programs: there it is specialised for their elements.
extension Archive {
  /// Reads from memory what is there and still the same; else from the store.
  @inlinable
  func read(_ id: Element.ID, _ how: StoreReading = .use) throws -> Element? {
    var found: Element?
    try keyCoder.borrow(id) { key in
      let kept = memory.value(forKey: id)
      var trace = kept?.trace ?? StoreTrace()
      let isSame = try store.readAgain(key, how, &trace)
      if let kept {
        if isSame {
          found = kept.element
          return
        }
        switch try compare(key, how, &trace) {
        case true?:
          found = kept.element
          if trace.state != 0 { keep(kept.element, id, trace, size: kept.size) }
          return
        case false?: break
        case nil: memory.remove(forKey: id)
        }
      }
      _ = try store.read(key, how) { entry in
        let element: Element
        do { element = try decode(entry.value, tag: entry.extended, key: key.bytes) } catch {
          throw decodingFailure(error, key.bytes)
        }
        found = element
        trace.follow(entry)
        keep(element, id, trace, size: entry.value.count)
      }
    }
    if found == nil {
      try checkVersion()
    } else if !hasAccesses.load(ordering: .relaxed) {
      hasAccesses.store(true, ordering: .releasing)
    }
    return found
  }

  /// Keeps an element in memory, if it is not too large for that.
  @inlinable
  func keep(_ element: Element, _ id: Element.ID, _ trace: StoreTrace, size: Int) {
    if size > memoryLimit.load(ordering: .relaxed) { return }
    let cell = ArchiveCell(element: element, trace: trace, size: size)
    memory.set(cell, forKey: id, cost: max(1, size))
  }

  /// Whether the entry under a key is the trace's, which counts as a use and moves its times
  /// on; nil if there is no entry.
  @usableFromInline
  func compare(
    _ key: StoreKey, _ how: StoreReading, _ trace: inout StoreTrace
  ) throws -> Bool? {
    let version = trace.version
    var isSame: Bool?
    _ = try store.read(key, how.union(.withoutValue)) { entry in
      trace.follow(entry)
      isSame = trace.version == version
    }
    return isSame
  }

  /// Makes the store show when elements were accessed.
  func flushAccesses() throws {
    if isReadOnly || !hasAccesses.exchange(false, ordering: .acquiring) { return }
    do { try store.flush() } catch {
      hasAccesses.store(true, ordering: .releasing)
      throw error
    }
  }
}
