// SPDX-License-Identifier: MIT

import Foundation
import LarderCore

/// Elements that are stored together or not at all.
///
/// They are encoded here, and only written when there is room for all of them.
struct ArchiveBatch<Element: Identifiable & Sendable>
where Element.ID: Codable & Sendable & SendableMetatype {
  struct Item {
    let element: Element
    let key: StoreOwnKey
    let bytes: Data
    let indexes: [StoreIndexValue]
    /// Those of them that no other element may have.
    let unique: [StoreIndexValue]
    /// What the key must have at the commit; nil: anything. 0: nothing.
    let version: UInt64?

    /// About what it takes in the log; not less.
    var logSize: Int {
      ArchiveBatchSize.overhead + key.count + bytes.count
        + indexes.reduce(0) { $0 + $1.bytes.count }
    }
  }

  /// What the commit depends on besides, and what it removes: of a transaction.
  struct Conditions {
    var removed: [(id: Element.ID, key: StoreOwnKey)] = []
    /// Versions that keys must have; 0: none.
    var versions: [(key: StoreOwnKey, version: UInt64)] = []
    /// Nothing must have been written since that version.
    var unchangedSince: UInt64?
  }

  var conditions = Conditions()
  private let archive: Archive<Element>
  private var items: [Item] = []
  private var size = 0
  private var logSize = 0

  init(_ archive: Archive<Element>) { self.archive = archive }

  var isEmpty: Bool { items.isEmpty }

  func encode(_ element: Element, ifVersion version: UInt64? = nil) throws -> Item {
    let values = archive.indexValues(of: element)
    return Item(
      element: element, key: try archive.keyCoder.own(element.id),
      bytes: try archive.coder.encode(element), indexes: values,
      unique: try archive.uniqueValues(of: element, values), version: version)
  }

  /// Whether the batch is to be committed before that one is added.
  func isFull(before item: Item) -> Bool {
    if items.isEmpty { return false }
    // Room is made for a whole batch: a large one would drive out too much.
    let limit = archive.room.maximum.map { $0.bytes / 10 } ?? .max
    return items.count == ArchiveBatchSize.count || size > limit - item.bytes.count
      || logSize > archive.batchLimit - item.logSize
  }

  mutating func add(_ item: Item) {
    items.append(item)
    size += item.bytes.count
    logSize += item.logSize
  }

  /// Writes everything, or nothing, and empties the batch.
  ///
  /// - Returns: false if a version was another one.
  mutating func commit(_ durability: Durability) throws -> Bool {
    defer {
      items = []
      conditions = Conditions()
      size = 0
      logSize = 0
    }
    let version = try archive.room.withRoom(
      for: size, in: archive.store, expires: archive.expiration != .never,
      replacing: { () throws(LarderError) in try replacedSize() },
      { () throws(LarderError) in try write(durability) })
    guard let version else { return false }
    for removed in conditions.removed { archive.memory.remove(forKey: removed.id) }
    // Where memory has no room for all of them, each would drive out another, which takes as long
    // as all else. Those of before are known by their version to be others.
    // If that cannot be told, they are not kept: the next call that needs the store says why.
    let isKept = (try? archive.fitsIntoMemory) ?? false
    for item in isKept ? items : [] {
      archive.keep(
        item.element, item.element.id, StoreTrace(version: version), size: item.bytes.count)
    }
    if !items.isEmpty || !conditions.removed.isEmpty { archive.changes.notify() }
    return true
  }

  private func write(_ durability: Durability) throws(LarderError) -> UInt64? {
    try archive.versionTag.withUnsafeBytes { tag in
      Result { () throws(LarderError) in try write(durability, tag) }
    }.get()
  }

  private func write(
    _ durability: Durability, _ tag: UnsafeRawBufferPointer
  ) throws(LarderError) -> UInt64? {
    let batch = try StoreBatch(archive.store)
    let terms = archive.terms(durability).unsynced
    try add(conditions, to: batch)
    for item in items {
      // `withUnsafeBytes` does not know the type of what is thrown.
      let added = item.key.withKey { key in
        item.bytes.withUnsafeBytes { bytes in
          Result { () throws(LarderError) in
            if let version = item.version { try batch.require(key, version: version) }
            try batch.put(
              key, bytes, extended: tag, terms: terms, indexes: item.indexes)
            for value in item.unique { try batch.requireUnique(value) }
          }
        }
      }
      try added.get()
    }
    do throws(LarderError) { return try batch.commit(isSynced: durability == .power) } catch {
      throw archive.named(error, items.map { ($0.key.bytes, $0.unique) })
    }
  }

  private func add(
    _ conditions: Conditions, to batch: borrowing StoreBatch
  ) throws(LarderError) {
    for (key, version) in conditions.versions {
      try key.withKey { key in
        Result { () throws(LarderError) in try batch.require(key, version: version) }
      }.get()
    }
    for (_, key) in conditions.removed {
      try key.withKey { key in
        Result { () throws(LarderError) in try batch.remove(key) }
      }.get()
    }
    if let sequence = conditions.unchangedSince { batch.requireUnchanged(since: sequence) }
  }

  private func replacedSize() throws(LarderError) -> Int {
    var keys: Set<[UInt8]> = []
    var size = 0
    for item in items where keys.insert(item.key.bytes).inserted {
      let replaced = item.key.withKey { key in
        Result { () throws(LarderError) in try archive.size(key) }
      }
      size += try replaced.get()
    }
    return size
  }
}

/// How much a batch holds, whatever the elements are.
enum ArchiveBatchSize {
  /// Elements.
  static let count = 1000
  /// Bytes that an element takes in the log besides its own; not less.
  static let overhead = 512
}
