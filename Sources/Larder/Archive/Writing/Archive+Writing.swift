// SPDX-License-Identifier: MIT

import Foundation
public import LarderCore

// What all writing has in common; some of it is inlined into programs, and specialised there.
extension Archive {
  /// Stores an element, and before it the properties that are archived themselves.
  @inlinable
  func store(
    _ element: Element, _ durability: Durability?, _ how: StoreReading = .use
  ) throws {
    try recordProperties(of: element, how)
    try storeAlone(element, durability, how)
  }

  /// Stores an element without its properties.
  @inlinable
  func storeAlone(
    _ element: Element, _ durability: Durability?, _ how: StoreReading = .use
  ) throws {
    let id = element.id
    try keyCoder.borrow(id) { key in
      var size = 0
      var version: UInt64 = 0
      do {
        version = try coder.borrow(element) { bytes throws(LarderError) in
          size = bytes.count
          executor.noteLength(size)
          return try put(key, bytes, element, durability, how)
        }
      } catch {
        throw encodingFailure(error)
      }
      keep(element, id, StoreTrace(version: version), size: size)
    }
    notify()
  }

  @usableFromInline
  func notify() { changes.notify() }

  @usableFromInline
  func encodingFailure(_ error: any Error) -> any Error { Coder<Element>.encodingFailure(error) }

  @usableFromInline
  func put(
    _ key: StoreKey, _ bytes: UnsafeRawBufferPointer, _ element: Element,
    _ durability: Durability?, _ how: StoreReading
  ) throws(LarderError) -> UInt64 {
    let values = indexValues(of: element)
    let unique = try uniqueValues(of: element, values)
    var terms = terms(durability ?? self.durability)
    terms.flags |= how.rawValue
    // What makes room or looks for a duplicate reads first.
    if !terms.waits, !room.isUnlimited || !unique.isEmpty {
      throw store.failure(EAGAIN, "store an element in \(path)")
    }
    if room.isUnlimited { return try put(key, bytes, terms, values, unique) }
    return try room.withRoom(
      for: bytes.count, in: store, expires: expiration != .never,
      replacing: { () throws(LarderError) in try size(key) },
      { () throws(LarderError) in try put(key, bytes, terms, values, unique) })
  }

  private func put(
    _ key: StoreKey, _ bytes: UnsafeRawBufferPointer, _ terms: StoreTerms,
    _ values: [StoreIndexValue], _ unique: [StoreIndexValue]
  ) throws(LarderError) -> UInt64 {
    // `withUnsafeBytes` does not know the type of what is thrown.
    try versionTag.withUnsafeBytes { tag in
      Result { () throws(LarderError) -> UInt64 in
        if unique.isEmpty {
          return try store.put(key, bytes, extended: tag, terms: terms, indexes: values)
        }
        return try putUnique(key, bytes, tag, terms, values, unique)
      }
    }.get()
  }

  private func putUnique(
    _ key: StoreKey, _ bytes: UnsafeRawBufferPointer, _ tag: UnsafeRawBufferPointer,
    _ terms: StoreTerms, _ values: [StoreIndexValue], _ unique: [StoreIndexValue]
  ) throws(LarderError) -> UInt64 {
    let batch = try StoreBatch(store)
    try batch.put(key, bytes, extended: tag, terms: terms.unsynced, indexes: values)
    for value in unique { try batch.requireUnique(value) }
    do throws(LarderError) {
      // Nothing else is required: without a duplicate there is a version.
      return try batch.commit(isSynced: terms.flags & StoreTerms.flags(.power) != 0) ?? 0
    } catch {
      throw named(error, [([UInt8](key.bytes), unique)])
    }
  }

  /// Stores an element if its key has that version still; 0: if there is none.
  ///
  /// - Returns: Whether it had.
  func store(
    _ element: Element, ifVersion version: UInt64, _ durability: Durability?
  ) throws -> Bool {
    var batch = ArchiveBatch(self)
    batch.add(try batch.encode(element, ifVersion: version))
    return try batch.commit(durability ?? self.durability)
  }

  /// Stores elements in batches.
  func store(all elements: some Sequence<Element>, _ durability: Durability?) throws {
    let durability = durability ?? self.durability
    var batch = ArchiveBatch(self)
    for element in elements {
      try recordProperties(of: element)
      let item = try batch.encode(element)
      // The last batch is synced, and all before it at once.
      if batch.isFull(before: item) { _ = try batch.commit(.process) }
      batch.add(item)
    }
    if !batch.isEmpty { _ = try batch.commit(durability) }
  }

  func readVersioned(_ id: Element.ID) throws -> (element: Element, version: UInt64)? {
    var found: (element: Element, version: UInt64)?
    try keyCoder.borrow(id) { key in
      _ = try store.read(key, .use) { entry in
        found = (try decode(entry), entry.sequence)
      }
    }
    return found
  }

  /// How large the element under a key is; 0 if there is none. Counts as a use.
  func size(_ key: StoreKey) throws(LarderError) -> Int {
    var size = 0
    do {
      _ = try store.read(key, [.withoutValue, .expiredToo]) { size = Int(clamping: $0.valueCount) }
    } catch let error as LarderError {
      throw error
    } catch {
      throw LarderError(.io, "Could not read an entry of \(path).", cause: error)
    }
    return size
  }

  func indexValues(of element: Element) -> [StoreIndexValue] {
    if declaredIndexes.isEmpty { return [] }
    var values: [StoreIndexValue] = []
    values.reserveCapacity(declaredIndexes.count)
    for index in declaredIndexes {
      values.append(StoreIndexValue(index: index.number, bytes: index.bytes(of: element)))
    }
    return values
  }

  /// Every element has an idle time: it makes the store note when it was used last.
  func terms(_ durability: Durability) -> StoreTerms {
    let idle = min(StoreTerms.idle(expiration), ArchiveCell<Element>.idle)
    return StoreTerms(idle: idle, flags: StoreTerms.flags(durability))
  }
}

extension ArchiveCell {
  /// A hundred years in nanoseconds: a life that ends nothing, and whose end, less this,
  /// is the time of the last use.
  static var idle: Int64 { 3_155_760_000_000_000_000 }
}
