// SPDX-License-Identifier: MIT

import Foundation
import LarderCore

// Writes that depend on what is there: each is a batch that requires the versions that were read,
// and is tried again when others were faster.
extension Archive {
  /// Until the body returns something: as often as others are faster, up to a thousand times.
  func retryingConflicts<R>(_ body: () throws -> R?) throws -> R {
    for _ in 0..<1000 { if let result = try body() { return result } }
    throw LarderError(
      .conflict,
      "A change in \(path) was tried 1000 times, and each time others changed what it read.")
  }

  func replace(_ element: Element, _ durability: Durability?) throws {
    try retryingConflicts {
      guard let version = try version(element.id) else {
        throw LarderError(
          .notFound,
          """
          An element of \(path) was not updated: there is none with its primary key; upsert \
          inserts it.
          """)
      }
      try recordProperties(of: element)
      return try store(element, ifVersion: version, durability) ? () : nil
    }
  }

  func change(
    _ id: Element.ID, _ durability: Durability?, _ body: (inout Element) throws -> Void
  ) throws -> Element? {
    try retryingConflicts { () -> Element?? in
      guard let found = try readVersioned(id) else { return .some(nil) }
      let element = try changed(found.element, body)
      // Of `? element : nil`, nil would be "there is none".
      guard try store(element, ifVersion: found.version, durability) else { return nil }
      return element
    }
  }

  /// Stores elements of which each is new, in batches.
  func insertNew(_ elements: some Sequence<Element>, _ durability: Durability?) throws {
    let durability = durability ?? self.durability
    var batch = ArchiveBatch(self)
    var items: [ArchiveBatch<Element>.Item] = []
    var ids: Set<Element.ID> = []
    var count = 0
    for element in elements {
      let item = try batch.encode(element, ifVersion: 0)
      if batch.isFull(before: item) {
        try insert(items, &batch, before: count, .process)
        items = []
        ids = []
      }
      guard ids.insert(element.id).inserted else { throw duplicate(at: count, element.id) }
      try recordProperties(of: element)
      batch.add(item)
      items.append(item)
      count += 1
    }
    if !items.isEmpty { try insert(items, &batch, before: count, durability) }
  }

  /// Commits a batch of these items; again if one that was in the way has gone meanwhile.
  private func insert(
    _ items: [ArchiveBatch<Element>.Item], _ batch: inout ArchiveBatch<Element>, before end: Int,
    _ durability: Durability
  ) throws {
    try retryingConflicts {
      if batch.isEmpty { for item in items { batch.add(item) } }
      if try batch.commit(durability) { return () }
      for (number, item) in items.enumerated() where try contains(id: item.element.id) {
        throw duplicate(at: end - items.count + number, item.element.id)
      }
      return nil
    }
  }

  private func duplicate(at offset: Int, _ id: Element.ID) -> LarderError {
    LarderError(
      .duplicate,
      """
      The element at offset \(offset) of a sequence was not inserted into \(path), nor were those \
      of its batch: there is one with its primary key; upsert(all:) replaces it.
      """, cause: ArchiveDuplicate(index: nil, id: id))
  }

  /// The element as the closure leaves it.
  func changed(_ element: Element, _ body: (inout Element) throws -> Void) throws -> Element {
    var changed = element
    try body(&changed)
    guard changed.id == element.id else {
      throw LarderError(.invalidArgument, "An update must not change the primary key.")
    }
    return changed
  }

  /// nil if there is no element, or it has expired.
  private func version(_ id: Element.ID) throws -> UInt64? {
    var version: UInt64?
    try keyCoder.borrow(id) { key in
      _ = try store.read(key, .withoutValue) { version = $0.sequence }
    }
    return version
  }
}
