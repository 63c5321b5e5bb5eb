// SPDX-License-Identifier: MIT

import CLarderStore
import LarderCore

/// A key as the store has it, borrowed for a call: the bytes that all keys have that are equal.
@usableFromInline
struct StoreKey {
  @usableFromInline let bytes: UnsafeRawBufferPointer
  /// Where an entry of an equal key may be that an earlier version stored.
  @usableFromInline let others: StoreKeyForms

  @usableFromInline
  init(_ bytes: UnsafeRawBufferPointer, others: StoreKeyForms = .none) {
    self.bytes = bytes
    self.others = others
  }
}

/// The same, to be kept.
struct StoreOwnKey: Sendable {
  let bytes: [UInt8]
  let others: StoreKeyForms

  var count: Int { bytes.count }

  init() {
    bytes = []
    others = .none
  }

  init(_ key: StoreKey) {
    bytes = [UInt8](key.bytes)
    others = key.others
  }

  /// The key's own bytes, and then those that earlier versions may have stored it under.
  var allForms: [[UInt8]] { [bytes] + bytes.withUnsafeBytes { others.bytes(besides: $0) } }

  func withKey<R>(_ body: (StoreKey) throws -> R) rethrows -> R {
    try bytes.withUnsafeBytes { try body(StoreKey($0, others: others)) }
  }
}

/// Other bytes than today's that equal keys may have: earlier versions stored texts as they
/// were written, and zeros with their signs.
@usableFromInline
enum StoreKeyForms: Sendable {
  /// Equal keys always had these bytes.
  case none
  case text(String)
  /// One CBOR item, with everything as it was given.
  case item([UInt8])

  var isNone: Bool { if case .none = self { true } else { false } }

  /// The bytes, but for those of the key itself.
  func bytes(besides key: UnsafeRawBufferPointer) -> [[UInt8]] {
    var found: [[UInt8]] = []
    func add(_ bytes: [UInt8]) {
      let isKey = bytes.count == key.count && bytes.elementsEqual(key)
      if isKey || found.contains(bytes) { return }
      found.append(bytes)
    }
    switch self {
    case .none: break
    case .text(let text):
      add([UInt8](text.utf8))
      add(CanonicalText.decomposed(text))
    case .item(let item):
      for texts in [CBORSorter.Texts.asGiven, .decomposed, .composed] {
        for zeros in [CBORSorter.Zeros.asGiven, .negative, .positive] {
          add(Self.sorted(item, texts, zeros))
        }
      }
    }
    return found
  }

  private static func sorted(
    _ item: [UInt8], _ texts: CBORSorter.Texts, _ zeros: CBORSorter.Zeros
  ) -> [UInt8] {
    item.withUnsafeBufferPointer { item in
      var sorter = CBORSorter(item, texts: texts, zeros: zeros)
      sorter.sort()
      return sorter.sorted
    }
  }
}

// What earlier versions stored under other bytes is found as long as it is there, and goes when
// its key is written to. Nothing is stored under them any more.
extension StoreHandle {
  /// Lends the entry under one of the other forms of a key, which the key itself has none of.
  @usableFromInline
  func readOther(
    _ key: StoreKey, _ how: StoreReading, _ body: (inout StoreEntry) throws -> Void
  ) throws -> Bool {
    if how.contains(.withoutWaiting) { throw StoreWait() }
    for bytes in try others(key)
    where try bytes.withUnsafeBytes({ try read(bytes: $0, how, body) }) {
      return true
    }
    // Meanwhile a write may have replaced the one by the other.
    return try holds(key.bytes) && read(bytes: key.bytes, how, body)
  }

  /// The other forms of a key that have an entry.
  func others(_ key: StoreKey) throws(LarderError) -> [[UInt8]] {
    if key.others.isNone { return [] }
    var there: [[UInt8]] = []
    for bytes in key.others.bytes(besides: key.bytes) {
      let isThere = bytes.withUnsafeBytes { bytes in
        Result { () throws(LarderError) in try holds(bytes) }
      }
      if try isThere.get() { there.append(bytes) }
    }
    return there
  }

  /// Whether there is an entry, intact or not.
  private func holds(_ bytes: UnsafeRawBufferPointer) throws(LarderError) -> Bool {
    let status = try suspension.call { larder_store_contains($0, larder_bytes(bytes)) }
    if status == LARDER_OK || status == LARDER_EDAMAGED { return true }
    if status == LARDER_ENOTFOUND { return false }
    throw failure(status, "look for an entry in \(path)")
  }

  /// Stores an entry in place of those under other forms of its key, all at once.
  func put(
    _ key: StoreKey, _ value: UnsafeRawBufferPointer, extended: UnsafeRawBufferPointer,
    terms: StoreTerms, indexes: [StoreIndexValue], insteadOf others: [[UInt8]]
  ) throws(LarderError) -> UInt64 {
    do throws(LarderError) {
      let batch = try StoreBatch(self)
      try batch.putAlone(
        key.bytes, value, extended: extended, terms: terms.unsynced, indexes: indexes)
      for bytes in others { try batch.remove(bytes) }
      let isSynced = terms.flags & StoreTerms.flags(.power) != 0
      if let version = try batch.commit(isSynced: isSynced) { return version }
    } catch {
      guard error.code == .tooLarge else { throw error }
    }
    // One after the other, where a batch of both is too large.
    let version = try put(
      StoreKey(key.bytes), value, extended: extended, terms: terms, indexes: indexes)
    for bytes in others { try remove(bytes, isSynced: false) }
    return version
  }

  func remove(_ key: [UInt8], isSynced: Bool) throws(LarderError) {
    let status = try suspension.call { store in
      key.withUnsafeBytes {
        larder_store_remove(store, larder_bytes($0), isSynced ? UInt32(LARDER_STORE_SYNCED) : 0)
      }
    }
    try check(status, "remove an entry from \(path)")
  }
}
