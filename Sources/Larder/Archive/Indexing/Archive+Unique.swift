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
      if value.bytes.count >= ArchiveIndex<Element>.maximumCount { throw tooLong(index) }
      unique.append(value)
    }
    return unique
  }

  /// An error of the store, in terms of the archive's indexes.
  func named(_ error: LarderError) -> LarderError {
    guard let duplicate = error.cause as? StoreDuplicate,
      let index = declaredIndexes.first(where: { $0.number == duplicate.index })
    else { return error }
    return LarderError(
      .duplicate,
      """
      Another element of \(path) has the same value of \(index.propertyNames), which the index \
      "\(index.name)" has as unique; nothing was stored.
      """)
  }

  /// Looks whether what the unique indexes hold is that, after they were built.
  ///
  /// - Throws: `.duplicate` with the number of elements that would have to go.
  func checkUniqueness(_ progress: StoreProgressReport?) throws {
    for index in declaredIndexes where index.isUnique {
      var selection = StoreSelection()
      selection.index = index.number
      selection.indexFormat = 0
      var cursor = try StoreCursor(store, selection)
      var (last, count, done) = ([UInt8](), 0, UInt64(0))
      var isFirst = true
      while try cursor.next({ entry in
        done += 1
        if done % 256 == 0, let progress, !progress(done, done) { throw CancellationError() }
        if entry.indexValue.count >= ArchiveIndex<Element>.maximumCount { throw tooLong(index) }
        let isSame = !isFirst && entry.indexValue.elementsEqual(last)
        isFirst = false
        if !isSame { last = [UInt8](entry.indexValue) }
        if isSame, index.isUnique(for: try decode(entry)) { count += 1 }
      }) {}
      if count > 0 { throw notUnique(index, count) }
    }
  }

  private func notUnique(_ index: ArchiveIndex<Element>, _ count: Int) -> LarderError {
    LarderError(
      .duplicate,
      """
      Could not build the unique index "\(index.name)" of \(path): \(count) element\
      \(count == 1 ? "" : "s") have the same value of \(index.propertyNames) as another one; no \
      element was changed; open the archive with an index that is not unique to delete or change \
      them.
      """)
  }

  private func tooLong(_ index: ArchiveIndex<Element>) -> LarderError {
    LarderError(
      .tooLarge,
      """
      A value of \(index.propertyNames) takes \(ArchiveIndex<Element>.maximumCount) bytes or more, \
      and the index "\(index.name)" of \(path) is unique, which it can be of shorter ones only.
      """)
  }
}

extension ArchiveIndex {
  /// The properties, as a message has them.
  fileprivate var propertyNames: String { shape.parts.map(\.name).joined(separator: ", ") }
}
