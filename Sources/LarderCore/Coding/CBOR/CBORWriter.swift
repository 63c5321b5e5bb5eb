// SPDX-License-Identifier: MIT

import CLarder
import Foundation

// How values become bytes while the caller's types decide what comes next.
//
// Bytes are written front to back, into one buffer. How many entries a container will have is known
// only when its type is done with it, so its head is written as one byte, and made longer, with the
// bytes behind it moved, if it turns out to have 24 entries or more.
//
// A container that can still be written to has a record, `Item`. Those whose end is the end of the
// buffer are open; they form a chain from `top` to the outermost. Writing to one of them seals what
// is above it. What is sealed is in its place, and can be added to all the same, because `Codable`
// lets a type keep two containers and write to both in turn: the bytes behind are put aside, the
// entry is written, and they are put back. (CBORWriter+Late.swift; rare, and linear in those
// bytes.)
//
// Invariants:
//  1. An item is unsealed exactly if it is on the chain of parents from `top`.
//  2. The ranges of two items are nested or disjoint, and `head` is where the range begins.
//  3. A record outlives the `encode(to:)` it was made in only for items of an outer one: `close`
//     cuts the list back, and a container that was kept finds another serial number, or none.

/// Names a record of a ``CBORWriter``. A stale name is recognised by its serial number.
struct CBORItem {
  var index: Int32
  var serial: UInt32
}

/// Bytes in the making.
///
/// Belongs to one call of `encode`, and so to one thread.
final class CBORWriter {
  enum Kind: UInt8 {
    /// Nothing was written in its place yet; an empty map stands there.
    case pending
    case single, array, map
  }

  struct Item {
    var serial: UInt32
    /// -1 for the outermost.
    var parent: Int32
    /// How many records there are from the outermost to this one.
    var depth: Int32
    var kind: Kind
    var isSealed: Bool
    /// Two keys may be the same.
    var mayRepeatKeys: Bool
    var headBytes: UInt8
    /// The length of the key before it; 0 if it has none.
    var keyBytes: Int32
    /// Where it begins.
    var head: Int
    /// Where it ends, if it is sealed.
    var end: Int
    /// Entries: values of an array, pairs of a map.
    var count: Int
    /// A bit for each key so far, by its hash.
    var keyMask: UInt128
  }

  /// Where an entry begins, to be able to take it back.
  struct Mark {
    var count: Int
    var itemCount: Int
    var isLate: Bool
    /// Where its key ends, if it has one.
    var keyEnd = 0
    /// The key may have been written before.
    var mayRepeatKey = false
  }

  private(set) var options: CBOROptions<CBOREncoder.Options>
  /// Whether keys are written as they are.
  private(set) var hasPlainKeys: Bool
  private(set) var depthLimit: Int
  var bytes: UnsafeMutablePointer<UInt8>
  var count = 0
  private var capacity: Int

  var items: UnsafeMutablePointer<Item>
  var itemCount = 0
  private var itemCapacity: Int
  private(set) var lastSerial: UInt32 = 0
  /// The innermost open item; -1 before the first and after the end.
  var top: Int32 = -1

  /// How many calls of `encode(to:)` are under way.
  var depth = 0
  /// The most records on a chain so far, and thus the most containers, but for those that a value
  /// of a known type brings with it.
  var deepest = 0
  /// The type whose `encode(to:)` was called last.
  var valueType: Any.Type = Void.self
  /// Entries being added to sealed containers, the outermost first.
  var late: [Late] = []
  /// Records before this one stand in bytes put aside, or are outside.
  var firstMovable = 0
  /// Set by calls that cannot throw, thrown when the outermost value is done.
  var failure: (any Error)?

  init(_ options: CBOROptions<CBOREncoder.Options>) {
    self.options = options
    hasPlainKeys = options.values.hasPlainKeys
    depthLimit = options.values.depthLimit
    capacity = 512
    bytes = .allocate(capacity: capacity)
    itemCapacity = 8
    items = .allocate(capacity: itemCapacity)
  }

  deinit {
    bytes.deallocate()
    items.deallocate()
  }

  // MARK: - Reuse

  /// One writer that is not in use.
  private static let spare = Spare<CBORWriter>()

  /// Beyond this a spare writer's memory is given back.
  private static let mostSpareBytes = 1 << 16

  /// The spare writer, or a new one.
  @inline(__always)
  static func take(_ options: CBOROptions<CBOREncoder.Options>) -> CBORWriter {
    guard let writer = spare.take() else { return CBORWriter(options) }
    if writer.options !== options {
      writer.options = options
      writer.hasPlainKeys = options.values.hasPlainKeys
      writer.depthLimit = options.values.depthLimit
    }
    return writer
  }

  /// Keeps the writer for the next one who needs it, if nobody else refers to it.
  @inline(__always)
  static func giveBack(_ writer: consuming CBORWriter) {
    writer.count = 0
    writer.itemCount = 0
    writer.depth = 0
    writer.deepest = 0
    writer.top = -1
    if writer.capacity <= mostSpareBytes, isKnownUniquelyReferenced(&writer) { spare.give(writer) }
  }

  // MARK: - Bytes

  /// Makes room for `extra` more bytes.
  @inline(__always)
  func reserve(_ extra: Int) {
    if capacity - count < extra { grow(by: extra) }
  }

  @inline(never)
  private func grow(by extra: Int) {
    let larger = max(2 * capacity, count + extra)
    let grown = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
    grown.update(from: bytes, count: count)
    bytes.deallocate()
    bytes = grown
    capacity = larger
  }

  /// Moves what is behind `offset` by `distance`, which may be negative.
  func move(from offset: Int, by distance: Int) {
    if distance > 0 { reserve(distance) }
    let source = bytes + offset
    (source + distance).update(from: source, count: count - offset)
    count += distance
  }

  // MARK: - Items

  /// Writes an empty map in the place of a value to come, as part of `top`.
  func open(_ kind: Kind, keyBytes: Int = 0) -> CBORItem {
    if itemCount == itemCapacity { growItems() }
    lastSerial &+= 1
    let index = Int32(truncatingIfNeeded: itemCount)
    let depth = (top < 0 ? 0 : items[Int(top)].depth) + 1
    deepest = max(deepest, Int(depth))
    items[itemCount] = Item(
      serial: lastSerial, parent: top, depth: depth, kind: kind, isSealed: false,
      mayRepeatKeys: false,
      headBytes: 1, keyBytes: Int32(clamping: keyBytes), head: count, end: 0, count: 0, keyMask: 0)
    itemCount += 1
    top = index
    reserve(1)
    bytes[count] = kind == .array ? 0x80 : 0xa0
    count += 1
    return CBORItem(index: index, serial: lastSerial)
  }

  /// The container that was opened before under the key of an entry: a type and its superclass may
  /// both add to it, as they may with Foundation's encoders.
  func container(_ kind: Kind, in parent: CBORItem, at mark: Mark) -> CBORItem? {
    nested(in: parent, at: mark).first { items[$0].kind == kind }
      .map { CBORItem(index: Int32(truncatingIfNeeded: $0), serial: items[$0].serial) }
  }

  /// Keeps the containers under that key from being found again: another value takes their place.
  func disown(_ parent: CBORItem, at mark: Mark) {
    for index in nested(in: parent, at: mark) { items[index].keyBytes = 0 }
  }

  /// Records of what was opened before under the key of an entry.
  @inline(never)
  private func nested(in parent: CBORItem, at mark: Mark) -> [Int] {
    let length = mark.keyEnd - mark.count
    return (Int(parent.index) + 1..<mark.itemCount).filter { index in
      let item = items[index]
      return item.parent == parent.index && Int(item.keyBytes) == length
        && memcmp(bytes + item.head - length, bytes + mark.count, length) == 0
    }
  }

  @inline(never)
  private func growItems() {
    let grown = UnsafeMutablePointer<Item>.allocate(capacity: 2 * itemCapacity)
    grown.update(from: items, count: itemCount)
    items.deallocate()
    items = grown
    itemCapacity *= 2
  }

  /// Ends the place of a value and all that was opened in it.
  func close(_ item: CBORItem, parent: Int32) {
    if isCurrent(item), !items[Int(item.index)].isSealed {
      seal(downTo: parent)
    } else {
      // The value wrote to a container around it, which sealed its own place.
      while top >= item.index { seal(downTo: items[Int(top)].parent) }
    }
    itemCount = min(itemCount, Int(item.index))
  }

  /// Whether the record is the one that the name was made for.
  @inline(__always)
  func isCurrent(_ item: CBORItem) -> Bool {
    Int(item.index) < itemCount && items[Int(item.index)].serial == item.serial
  }

  /// Seals open items until `index` is the innermost.
  func seal(downTo index: Int32) {
    while top != index, top >= 0 {
      let item = items + Int(top)
      item.pointee.end = count
      item.pointee.isSealed = true
      top = item.pointee.parent
      setHead(item)
    }
  }

  /// Brings a container's head in line with its entries.
  @inline(__always)
  func setHead(_ item: UnsafeMutablePointer<Item>) {
    if item.pointee.count >= 24 || item.pointee.mayRepeatKeys { return settle(item) }
    // The type and the count share the one byte there is.
    if item.pointee.kind == .map || item.pointee.kind == .array {
      bytes[item.pointee.head] =
        (item.pointee.kind == .map ? 0xa0 : 0x80) | UInt8(truncatingIfNeeded: item.pointee.count)
    }
  }

  @inline(never)
  private func settle(_ item: UnsafeMutablePointer<Item>) {
    if item.pointee.mayRepeatKeys { removeRepeatedKeys(item) }
    let major = item.pointee.kind == .map ? LARDER_CBOR_MAP : LARDER_CBOR_ARRAY
    var head: (UInt64, UInt64) = (0, 0)
    withUnsafeMutableBytes(of: &head) { head in
      let start = head.baseAddress!.assumingMemoryBound(to: UInt8.self)
      let length = larder_cbor_write_head(
        start, UInt32(major), UInt64(truncatingIfNeeded: item.pointee.count))
      let old = Int(item.pointee.headBytes)
      if length != old {
        let head = item.pointee.head
        move(from: head + old, by: length - old)
        shift(behind: head, by: length - old)
        item.pointee.headBytes = UInt8(truncatingIfNeeded: length)
      }
      (bytes + item.pointee.head).update(from: start, count: length)
    }
  }

  /// Accounts for `distance` bytes more, or fewer, directly behind the head at `offset`.
  private func shift(behind offset: Int, by distance: Int) {
    for other in firstMovable..<itemCount {
      if items[other].head > offset { items[other].head += distance }
      if items[other].isSealed, items[other].end > offset { items[other].end += distance }
    }
  }

  /// Of two pairs with one key the later is kept, as a dictionary would.
  private func removeRepeatedKeys(_ item: UnsafeMutablePointer<Item>) {
    item.pointee.mayRepeatKeys = false
    while true {
      var first = larder_cbor_pair()
      var second = larder_cbor_pair()
      var end = 0
      guard
        larder_cbor_find_duplicate(
          bytes, item.pointee.end, item.pointee.head + Int(item.pointee.headBytes),
          item.pointee.count, &first, &second) == LARDER_OK,
        larder_cbor_skip(bytes, item.pointee.end, first.value, &end) == LARDER_OK
      else { return }
      move(from: end, by: first.key - end)
      // What was inside the pair that is gone cannot be written to any more.
      for other in firstMovable..<itemCount
      where items[other].head >= first.key && items[other].head < end {
        items[other].serial = 0
        items[other].keyBytes = 0
      }
      shift(behind: first.key, by: first.key - end)
      item.pointee.count -= 1
    }
  }

  // MARK: - Entries

  /// Makes `item` the place where bytes go.
  ///
  /// - Returns: Whether it was sealed, so that `endLate` has to be called when the entry is
  ///   written.
  @inline(__always)
  func focus(_ item: CBORItem, _ path: CBORPath?) throws -> Bool {
    if item.index == top, items[Int(top)].serial == item.serial { return false }
    return try focusElsewhere(item, path)
  }

  @inline(never)
  private func focusElsewhere(_ item: CBORItem, _ path: CBORPath?) throws -> Bool {
    guard isCurrent(item), item.index >= firstMovable || item.index == late.last?.item.index else {
      throw unusable(
        path, "A container was used after the value it belongs to, or in the midst of another one.")
    }
    if items[Int(item.index)].isSealed {
      beginLate(item)
      return true
    }
    seal(downTo: item.index)
    return false
  }

  /// Takes back what was written of an entry that failed.
  @inline(never)
  func rollBack(_ item: CBORItem, to mark: Mark) {
    // Sealed, it was left for a container around it, and what it has is whole.
    guard isCurrent(item), !items[Int(item.index)].isSealed else { return }
    itemCount = mark.itemCount
    top = item.index
    count = mark.count
    items[Int(item.index)].count -= 1
    if mark.isLate { endLate() }
  }

  func unusable(_ path: CBORPath?, _ why: String) -> EncodingError {
    EncodingError.invalidValue(
      valueType, EncodingError.Context(codingPath: path.keys, debugDescription: why))
  }

  /// Keeps the first failure of calls that cannot throw.
  func fail(_ error: any Error) {
    if failure == nil { failure = error }
  }
}
