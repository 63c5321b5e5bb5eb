// SPDX-License-Identifier: MIT

import CLarder

// How values become bytes while the caller's types decide what comes next.
//
// Bytes are written front to back, into one buffer. How many entries a container will have is known
// only when its type is done with it, so its head is written as one byte, and made longer, with the
// bytes behind it moved, if it turns out to have 24 entries or more.
//
// A container that can still be written to has a record, `Item`. Those whose end is the end of the
// buffer are open; they form a chain from `top` to the outermost. Writing to one of them seals what
// is above it. What is sealed is in its place, and can be added to all the same, because `Codable`
// lets a type keep two containers and write to both in turn: CBORWriter+Late.swift.
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
    /// How many bytes behind its end are room for more.
    var gap = 0
    /// Entries: values of an array, pairs of a map.
    var count: Int
    /// A bit for each key so far, by its hash.
    var keyMask: UInt128
    /// How many keys were noted, with those that are gone again.
    var notedKeys = 0
  }

  /// Where an entry begins, to be able to take it back.
  struct Mark {
    var count: Int
    var itemCount: Int
    var isLate: Bool
    /// Where its value begins, behind the key if it has one.
    var keyEnd: Int
    /// The key may have been written before.
    var mayRepeatKey = false
  }

  private(set) var options: CBOROptions<CBOREncoder.Options>
  /// Whether keys are written as they are.
  private(set) var hasPlainKeys: Bool
  /// Whether arrays whose order means nothing are marked, for whoever sorts.
  private(set) var marksUnordered: Bool
  private(set) var depthLimit: Int
  var bytes: UnsafeMutablePointer<UInt8>
  var count = 0
  private var capacity: Int

  var items: UnsafeMutablePointer<Item>
  var itemCount = 0
  private(set) var itemCapacity: Int
  /// For each record the hashes of its first keys.
  private(set) var keyHashes: UnsafeMutablePointer<UInt16>
  var lastSerial: UInt32 = 0
  /// By types of keys, a `CBOREncodingMaker` each.
  let makers = CBORTypeTable<AnyObject>()
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
  /// Records before this one are not part of the entry that is being added to a sealed container.
  var firstMovable = 0
  /// Whether there may be room left between containers.
  var hasGaps = false
  /// Hashes of the keys of large maps, by the serial numbers of their records.
  var keys: [UInt32: Set<Int>] = [:]
  var hasLargeMaps = false
  /// Set by calls that cannot throw, thrown when the outermost value is done.
  var failure: (any Error)?

  init(_ options: CBOROptions<CBOREncoder.Options>) {
    self.options = options
    hasPlainKeys = options.values.hasPlainKeys
    marksUnordered = options.values.marksUnordered || options.values.isDeterministic
    depthLimit = options.values.depthLimit
    capacity = 512
    bytes = .allocate(capacity: capacity)
    itemCapacity = 8
    items = .allocate(capacity: itemCapacity)
    keyHashes = .allocate(capacity: itemCapacity * Self.fewKeys)
  }

  deinit {
    bytes.deallocate()
    items.deallocate()
    keyHashes.deallocate()
    makers.deallocate()
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
    if writer.options !== options { writer.set(options) }
    return writer
  }

  private func set(_ options: CBOROptions<CBOREncoder.Options>) {
    self.options = options
    hasPlainKeys = options.values.hasPlainKeys
    marksUnordered = options.values.marksUnordered || options.values.isDeterministic
    depthLimit = options.values.depthLimit
  }

  /// Keeps the writer for reuse, unless something else refers to it.
  @inline(__always)
  static func giveBack(_ writer: consuming CBORWriter) {
    writer.count = 0
    writer.itemCount = 0
    writer.depth = 0
    writer.deepest = 0
    writer.top = -1
    writer.hasGaps = false
    // What a caller put into options, such as userInfo, lives no longer than the call.
    if !writer.options.areDefaults { writer.set(CBOREncoder.Options.defaults) }
    if writer.hasLargeMaps {
      writer.hasLargeMaps = false
      writer.keys = [:]
    }
    if writer.capacity <= mostSpareBytes, isKnownUniquelyReferenced(&writer) { spare.give(writer) }
  }

  // MARK: - Memory

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

  /// Makes room for one more record.
  @inline(never)
  func growItems() {
    let grown = UnsafeMutablePointer<Item>.allocate(capacity: 2 * itemCapacity)
    grown.update(from: items, count: itemCount)
    items.deallocate()
    items = grown
    let hashes = UnsafeMutablePointer<UInt16>.allocate(capacity: 2 * itemCapacity * Self.fewKeys)
    hashes.update(from: keyHashes, count: itemCount * Self.fewKeys)
    keyHashes.deallocate()
    keyHashes = hashes
    itemCapacity *= 2
  }
}
