// SPDX-License-Identifier: MIT

import CLarderStore
import Foundation
import LarderCore
import Synchronization

extension Archive {
  /// Builds all indexes again from the elements.
  ///
  /// Opening does so where it sees that they are not those that are declared; this is for what it
  /// cannot see. Reads, queries and writes go on meanwhile; queries use no index until it is done.
  /// If it is stopped or fails, that remains so until the next one, or until the archive is opened
  /// again.
  ///
  /// - Parameter progress: Receives the elements done and their total from time to time, and
  ///   gives back whether to go on; nil, the default, if nobody wants to know.
  /// - Throws: `CancellationError` if `progress` said so; `.readOnly`, `.closed`, `.suspended`,
  ///   `.diskFull`, `.io`; `.damaged`, when everything else is indexed, if an element is and
  ///   ``ArchiveConfiguration/undecodable-swift.property`` is `.fail`: queries use no index then.
  /// - Complexity: O(bytes of everything).
  public func reindex(
    progress: ((_ done: UInt64, _ total: UInt64) -> Bool)? = nil
  ) throws {
    if isReadOnly {
      throw LarderError(
        .readOnly, "\(path) gets no other indexes: it was opened for reading only.")
    }
    try indexState.lock.withLock { _ in
      let number = try store.statistics().content_format
      let damage = try rebuild(
        after: ArchiveFormat(number: number) ?? format, isAlone: false, progress)
      if let damage { throw damage }
    }
  }

  /// Writes every element again with what it is found by now, then says so in the store.
  ///
  /// Until then the store says that it has the indexes of nobody, durably before the first element.
  /// If we crash here, the next opening does it all again, be it with the new indexes or with the
  /// old ones. So it does, and queries use no index, as long as an element is damaged that they
  /// must not leave out: it is in none.
  ///
  /// - Parameters:
  ///   - there: What the store says about itself.
  ///   - isAlone: Nobody else writes meanwhile.
  ///   - movesKeys: Elements of earlier versions may get other primary keys.
  ///   - progress: Told of elements; gives back whether to go on.
  /// - Returns: What is wrong with such an element.
  /// - Throws: `CancellationError` if it said no.
  func rebuild(
    after there: ArchiveFormat, isAlone: Bool, movesKeys: Bool = false,
    _ progress: StoreProgressReport?
  ) throws -> LarderError? {
    var next = format.rebuilt(after: there)
    if next.coder == 0 { next.coder = there.coder }
    // Of a store that lost what it said about itself nothing is taken for done.
    let said = ArchiveFormat(number: try store.statistics().content_format)
    let isResumed = said?.isBuilding == true
    if isAlone { try checkElements(movesKeys: movesKeys && !isResumed, progress) }
    let wereCurrent = indexState.areCurrent.exchange(false, ordering: .acquiringAndReleasing)
    do { try store.setContentFormat(next.changing.number) } catch {
      indexState.areCurrent.store(wereCurrent, ordering: .releasing)
      throw error
    }
    let damage = try writeAll(
      isAlone: isAlone, isResumed: isResumed, movesKeys: movesKeys, progress)
    // Others may have written meanwhile.
    if !isAlone, hasUniqueIndexes { try checkUniqueness(progress) }
    if isAlone { try indexUnindexed() }
    if let damage, undecodable == .fail { return damage }
    try store.setContentFormat(next.number)
    try useIndexes(next.number)
    return nil
  }

  /// - Parameter isResumed: Some elements may be as they are to be: then they stay, and stand in
  ///   the order of use behind those that are written now, as they did when they were written.
  /// - Returns: What is wrong with the first element that was passed because it is damaged.
  private func writeAll(
    isAlone: Bool, isResumed: Bool, movesKeys: Bool, _ progress: StoreProgressReport?
  ) throws -> LarderError? {
    let total = UInt64(try store.totals().count)
    // What waits for a checkpoint is most of the work, and counts as done too early.
    let flushedPart = max(total / 16, 1)
    var flushed: UInt64 = 0
    var done: UInt64 = 0
    var selection = catalog.selection()
    selection.refusesDamage = false
    // Least recent first, so that the order stays as it is.
    selection.isByRecency = true
    var cursor = try StoreCursor(store, selection)
    var items: [ArchiveRebuilt] = []
    var size = 0
    while try cursor.next({ entry in
      if isResumed, isCurrent(entry.extended), case .same = compare(entry) {
        done += 1
        if done % 256 == 0, let progress, !progress(done, max(done, total)) {
          throw CancellationError()
        }
        return
      }
      // What was left out before is for the end: it takes no key that another one has.
      if movesKeys, undecodable == .skip, !isCurrent(entry.extended),
        entry.indexValues == [ArchiveIndex<Element>.unindexed]
      {
        done += 1
        return
      }
      let isStrict = isAlone && undecodable == .fail
      let item = try rebuilt(entry, isStrict: isStrict, movesKeys: movesKeys)
      let isFull = size > batchLimit - item.logSize
      if items.count == ArchiveBatchSize.count || (!items.isEmpty && isFull) {
        try write(items[...], isAlone: isAlone)
        items.removeAll(keepingCapacity: true)
        size = 0
        if done - flushed >= flushedPart {
          try store.flush()
          flushed = done
        }
        if let progress, !progress(done, max(done, total)) { throw CancellationError() }
      }
      done += 1
      items.append(item)
      size += item.logSize
    }) {}
    try write(items[...], isAlone: isAlone)
    if let progress, !progress(done, done) { throw CancellationError() }
    return cursor.damage
  }

  /// Gives those elements their indexes that could not be decoded when these were built, and can be
  /// now; and their keys, if a migration gives them others that no element has.
  func indexUnindexed() throws {
    var items: [ArchiveRebuilt] = []
    try forEachUnindexed { entry in
      let item = try rebuilt(entry, movesKeys: true)
      if item.values != [ArchiveIndex<Element>.unindexed] { items.append(item) }
      return true
    }
    for item in items {
      let isTaken =
        try item.place != nil
        && item.key.withUnsafeBytes {
          try store.contains(StoreKey($0))
        }
      if !isTaken { try write([item], isAlone: true, requiresUnique: true) }
    }
  }

  /// - Parameter isStrict: Throws if an element of an earlier version cannot be migrated.
  private func rebuilt(
    _ entry: StoreEntry, isStrict: Bool = false, movesKeys: Bool = false
  ) throws -> ArchiveRebuilt {
    var key = [UInt8](entry.key)
    var terms = terms(.process)
    terms.written = entry.raw.written_ns
    // The time of the last access would be lost otherwise. It can stand for the time of
    // writing, unless that is what ends the element's life.
    if expiration.afterWrite == nil, let accessed = entry.accessed {
      terms.written = max(terms.written, accessed)
    }
    // An element that cannot be decoded stays what it is, and is found by its key. One of an
    // earlier version is marked even without indexes, so that later openings try again.
    let isMarked = !declaredIndexes.isEmpty || !isCurrent(entry.extended)
    var values = isMarked ? [ArchiveIndex<Element>.unindexed] : []
    var unique: [StoreIndexValue] = []
    var (value, tag) = (Data(copied: entry.value), Data(copied: entry.extended))
    var element: Element?
    do {
      if let migrated = try migrated(entry, movesKeys: movesKeys) {
        element = migrated.element
        key = migrated.key
        (value, tag) = (migrated.bytes, schema.tag)
        values = []
      } else if !declaredIndexes.isEmpty {
        element = try decode(entry)
      }
    } catch {
      if isStrict, !isCurrent(entry.extended) { throw error }
    }
    if !declaredIndexes.isEmpty, let element {
      values = indexValues(of: element)
      unique = try uniqueValues(of: element, values)
    }
    let place = entry.key.elementsEqual(key) ? nil : [UInt8](entry.key)
    return ArchiveRebuilt(
      key: key, place: place, value: value, extended: tag, version: entry.sequence, terms: terms,
      values: values, unique: unique)
  }

  /// Writes elements, but for those that were written or deleted meanwhile.
  private func write(
    _ items: ArraySlice<ArchiveRebuilt>, isAlone: Bool, requiresUnique: Bool = false
  ) throws {
    if items.isEmpty { return }
    let batch = try StoreBatch(store)
    for item in items {
      try item.key.withUnsafeBytes { key in
        let key = StoreKey(key)
        if let place = item.place {
          try batch.require(key, version: 0)
          try batch.remove(place)
        } else if !isAlone {
          try batch.require(key, version: item.version)
        }
        if requiresUnique { for value in item.unique { try batch.requireUnique(value) } }
        try item.value.withUnsafeBytes { value in
          try item.extended.withUnsafeBytes { extended in
            try batch.put(
              key, value, extended: extended, terms: item.terms, indexes: item.values)
          }
        }
      }
    }
    do throws(LarderError) {
      if try batch.commit(isSynced: false) != nil { return }
      if items.count == 1 {
        // Another one was written meanwhile, or is in the way of one that moves.
        if let moved = items.first, moved.place != nil { throw twice(moved.key) }
        return
      }
    } catch {
      throw named(error, items.map { ($0.key, $0.unique) })
    }
    let middle = items.startIndex + items.count / 2
    try write(items[..<middle], isAlone: isAlone)
    try write(items[middle...], isAlone: isAlone)
  }
}

/// An element that is to be written with other indexes.
private struct ArchiveRebuilt {
  let key: [UInt8]
  /// Where it lies so far, if that is not under its key.
  let place: [UInt8]?
  let value: Data
  let extended: Data
  let version: UInt64
  let terms: StoreTerms
  let values: [StoreIndexValue]
  /// Those of them that no other element may have.
  let unique: [StoreIndexValue]

  /// About what it takes in the log; not less.
  var logSize: Int {
    ArchiveBatchSize.overhead + key.count + value.count
      + values.reduce(0) { $0 + $1.bytes.count }
  }
}

extension StoreEntry {
  /// When it was accessed or written last, in nanoseconds since 1970, as far as that has
  /// been flushed. Elements are stored with an idle time for that alone.
  var accessed: Int64? {
    if raw.expires_ns == .max || raw.idle_ns == .max { return nil }
    let (accessed, overflows) = raw.expires_ns.subtractingReportingOverflow(raw.idle_ns)
    return overflows ? nil : accessed
  }
}
