// SPDX-License-Identifier: MIT

import LarderCore

// Values that one element at most may have.
//
// The store compares them when it writes, under its lock: see `larder_store_batch_require_unique`.
// So each write of an element goes through a batch that requires it of all values of unique
// indexes but nil. Those that opening finds are compared once, when the index is built; from then
// on none comes that was not compared.

extension Archive {
  /// Those of an element's values in indexes that no other element may have.
  ///
  /// - Parameter values: What the element is found by, of all declared indexes.
  /// - Throws: `.tooLarge` for a value of which an index keeps the beginning only.
  func uniqueValues(
    of element: Element, _ values: [StoreIndexValue]
  ) throws(LarderError) -> [StoreIndexValue] {
    if !hasUniqueIndexes { return [] }
    var unique: [StoreIndexValue] = []
    for (index, value) in zip(declaredIndexes, values) where index.isUnique(for: element) {
      if value.bytes.count >= ArchiveIndex<Element>.maximumCount { throw tooLong(index, element) }
      unique.append(value)
    }
    return unique
  }

  /// An error of the store, in terms of the archive's indexes.
  ///
  /// - Parameter writes: Keys and unique values of what was to be stored.
  /// - Complexity: O(log n) for each of them, if it is of a value that is not unique.
  func named(
    _ error: LarderError, _ writes: [(key: [UInt8], unique: [StoreIndexValue])]
  ) -> LarderError {
    guard let duplicate = error.cause as? StoreDuplicate,
      let index = declaredIndexes.first(where: { $0.number == duplicate.index })
    else { return error }
    let key = try? keyOfOther(index.number, writes)
    let id = key.flatMap { key in try? key.withUnsafeBytes { try keyCoder.decode($0) } }
    return LarderError(
      .duplicate,
      """
      Another element of \(path) has the same value of \(index.propertyNames), which the index \
      "\(index.name)" has as unique; nothing was stored.
      """, cause: ArchiveDuplicate(index: index.name, id: id))
  }

  /// The key of an element that has a value which one of the writes has, too: in the archive, or
  /// else among them.
  private func keyOfOther(
    _ index: UInt16, _ writes: [(key: [UInt8], unique: [StoreIndexValue])]
  ) throws -> [UInt8]? {
    var owners: [[UInt8]: [UInt8]] = [:]
    var other: [UInt8]?
    var selection = catalog.selection()
    selection.index = index
    selection.isWithoutValues = true
    var cursor = try StoreCursor(store, selection)
    let keys = Set(writes.map(\.key))
    for write in writes {
      for value in write.unique where value.index == index {
        if let before = owners.updateValue(write.key, forKey: value.bytes), before != write.key {
          other = before
        }
        selection.setLower(value.bytes)
        selection.setUpper(value.bytes, isExclusive: false)
        try cursor.seek(selection)
        var found: [UInt8]?
        while found == nil,
          try cursor.next({ if !keys.contains([UInt8]($0.key)) { found = [UInt8]($0.key) } })
        {}
        if let found { return found }
      }
    }
    return other
  }

  /// Refuses unique indexes of values that several elements have.
  ///
  /// - Parameters:
  ///   - prepare: Is given each element and its key first.
  ///   - isStrict: An element of an earlier version that cannot be migrated is an error.
  /// - Throws: `.duplicate`, with the ids of two elements and the number that would have to go.
  /// - Complexity: O(elements), twice if some collide; in memory O(values, whatever their length).
  func checkUniqueness(
    isStrict: Bool = false, _ progress: StoreProgressReport?,
    _ prepare: (Element, StoreEntry) throws -> Void = { _, _ in }
  ) throws {
    var hashes = Set<Int>()
    var repeated = Set<Int>()
    try forEachElement(isStrict: isStrict, progress) { element, entry in
      try prepare(element, entry)
      for value in try uniqueValues(of: element) where !hashes.insert(value.hashValue).inserted {
        repeated.insert(value.hashValue)
      }
    }
    if repeated.isEmpty { return }
    var owners: [StoreIndexValue: Element.ID] = [:]
    var collisions: [UInt16: (ids: (Element.ID, Element.ID), count: Int)] = [:]
    try forEachElement(isStrict: false, progress) { element, _ in
      for value in try uniqueValues(of: element) where repeated.contains(value.hashValue) {
        if let owner = owners[value] {
          collisions[value.index, default: ((owner, element.id), 0)].count += 1
        } else {
          owners[value] = element.id
        }
      }
    }
    for index in declaredIndexes {
      if let found = collisions[index.number] { throw notUnique(index, found.ids, found.count) }
    }
  }

  private func uniqueValues(of element: Element) throws -> [StoreIndexValue] {
    hasUniqueIndexes ? try uniqueValues(of: element, indexValues(of: element)) : []
  }

  private func forEachElement(
    isStrict: Bool, _ progress: StoreProgressReport?,
    _ body: (Element, StoreEntry) throws -> Void
  ) throws {
    let total = UInt64(try store.totals().count)
    var seen: UInt64 = 0
    var cursor = try StoreCursor(store, StoreSelection())
    while try cursor.next({ entry in
      seen += 1
      if seen % 256 == 0, let progress, !progress(0, total) { throw CancellationError() }
      let element: Element
      do { element = try decodeToMove(entry) } catch {
        if isStrict, !isCurrent(entry.extended) { throw error }
        return
      }
      try body(element, entry)
    }) {}
  }

  private func notUnique(
    _ index: ArchiveIndex<Element>, _ ids: (Element.ID, Element.ID), _ count: Int
  ) -> LarderError {
    LarderError(
      .duplicate,
      """
      Could not build the unique index "\(index.name)" of \(path): \(count) element\
      \(count == 1 ? "" : "s") have the same value of \(index.propertyNames) as another one, such \
      as those with the primary keys \(keyCoder.shown(ids.0)) and \(keyCoder.shown(ids.1)); no \
      element was changed; open the archive with an index that is not unique to delete or change \
      them.
      """, cause: ArchiveDuplicate(index: index.name, id: ids.0))
  }

  private func tooLong(_ index: ArchiveIndex<Element>, _ element: Element) -> LarderError {
    LarderError(
      .tooLarge,
      """
      Of the element with the primary key \(keyCoder.shown(element.id)), the value of \
      \(index.propertyNames) takes \(ArchiveIndex<Element>.maximumCount) bytes or more, and the \
      index "\(index.name)" of \(path) is unique, which it can be of shorter ones only.
      """)
  }
}

extension ArchiveIndex {
  /// The properties, as a message has them.
  fileprivate var propertyNames: String { shape.parts.map(\.name).joined(separator: ", ") }
}
