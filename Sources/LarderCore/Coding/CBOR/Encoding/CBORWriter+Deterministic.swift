// SPDX-License-Identifier: MIT

import CLarder

extension CBORWriter {
  /// Puts the pairs of every map into the bytewise order of their keys (RFC 8949,
  /// section 4.2.1), and so what is in arrays that are marked. Everything else is in its one form
  /// already.
  func sort() {
    let source = UnsafeBufferPointer(start: bytes, count: count)
    var sorter = CBORSorter(source)
    sorter.sort()
    // A copy of what was there in another order, without marks, so no longer.
    count = min(count, sorter.sorted.count)
    bytes.update(from: sorter.sorted, count: count)
  }

  /// Marks the array that a value has just become, if it is one.
  func write(_ mark: CBORUnordered, before item: CBORItem) {
    let record = items[Int(item.index)]
    guard record.kind == .array else { return }
    let length = Int(LARDER_CBOR_HEAD_MAX_BYTES)
    move(from: record.head, by: length)
    _ = larder_cbor_write_head(bytes + record.head, UInt32(LARDER_CBOR_TAG), mark.rawValue)
    shift(behind: record.head, by: length)
  }
}

/// What the elements of an array are whose order means nothing, as a tag that stands before it
/// until it is sorted.
enum CBORUnordered: UInt64 {
  case elements = 0x4C61_7264_6572_0001
  /// Keys and values in turn.
  case pairs

  /// The standard library's; no other type says that its order means nothing.
  @inline(never)
  static func mark(of type: Any.Type) -> CBORUnordered? {
    (type as? any UnorderedByType.Type)?.mark
  }
}

private protocol UnorderedByType {
  static var mark: CBORUnordered { get }
}

extension Set: UnorderedByType {
  fileprivate static var mark: CBORUnordered { .elements }
}

extension Dictionary: UnorderedByType {
  fileprivate static var mark: CBORUnordered { .pairs }
}

/// Writes one item again with the pairs of maps, and what is in arrays that are marked, in order,
/// and with text and zeros in the form that is asked for.
package struct CBORSorter: ~Copyable {
  /// The form of texts that Swift calls equal.
  package enum Texts: Sendable { case asGiven, composed, decomposed }
  /// The sign of zeros.
  package enum Zeros: Sendable { case asGiven, positive, negative }

  package private(set) var sorted: [UInt8] = []
  /// There are texts that others are equal to.
  package private(set) var hasFormsOfText = false
  package private(set) var hasZeros = false
  package private(set) var hasNotANumber = false

  private let source: UnsafeBufferPointer<UInt8>
  private let texts: Texts
  private let zeros: Zeros

  /// - Parameter source: One well-formed item without indefinite lengths, as a writer leaves it.
  package init(
    _ source: UnsafeBufferPointer<UInt8>, texts: Texts = .asGiven, zeros: Zeros = .asGiven
  ) {
    self.source = source
    self.texts = texts
    self.zeros = zeros
    sorted.reserveCapacity(source.count)
  }

  package mutating func sort() { _ = append(at: 0) }

  /// - Returns: Where the item ends.
  private mutating func append(at offset: Int) -> Int {
    var head = larder_cbor_head()
    guard larder_cbor_read_head(source.baseAddress! + offset, source.count - offset, &head) else {
      return source.count
    }
    var end = offset + Int(head.length)
    let contents = Int(truncatingIfNeeded: head.argument)
    switch Int(head.major) {
    case LARDER_CBOR_TAG where CBORUnordered(rawValue: head.argument) != nil:
      end = appendUnordered(CBORUnordered(rawValue: head.argument)!, at: end)
    case LARDER_CBOR_BYTES:
      end += contents
      sorted.append(contentsOf: source[offset..<end])
    case LARDER_CBOR_TEXT:
      end += contents
      appendText(source[offset..<end], headCount: Int(head.length))
    case LARDER_CBOR_ARRAY, LARDER_CBOR_TAG:
      sorted.append(contentsOf: source[offset..<end])
      for _ in 0..<(Int(head.major) == LARDER_CBOR_TAG ? 1 : contents) { end = append(at: end) }
    case LARDER_CBOR_MAP:
      sorted.append(contentsOf: source[offset..<end])
      end = appendSorted(contents, arePairs: true, at: end)
    default:
      if Int(head.major) == LARDER_CBOR_SIMPLE, head.info >= 25 {
        appendFloat(source[offset..<end], head)
      } else {
        sorted.append(contentsOf: source[offset..<end])
      }
    }
    return end
  }

  /// The array behind a mark, without the mark.
  private mutating func appendUnordered(_ mark: CBORUnordered, at offset: Int) -> Int {
    var head = larder_cbor_head()
    guard larder_cbor_read_head(source.baseAddress! + offset, source.count - offset, &head),
      Int(head.major) == LARDER_CBOR_ARRAY
    else { return append(at: offset) }
    let end = offset + Int(head.length)
    sorted.append(contentsOf: source[offset..<end])
    let contents = Int(truncatingIfNeeded: head.argument)
    let count = mark == .pairs ? contents / 2 : contents
    return appendSorted(count, arePairs: mark == .pairs, at: end)
  }

  /// What is in a map or an array, in the order of its keys or its elements.
  private mutating func appendSorted(_ count: Int, arePairs: Bool, at offset: Int) -> Int {
    let start = sorted.count
    var end = offset
    var entries: [(key: Range<Int>, end: Int)] = []
    entries.reserveCapacity(count)
    for _ in 0..<count {
      let key = sorted.count
      end = append(at: end)
      let value = sorted.count
      if arePairs { end = append(at: end) }
      entries.append((key - start..<value - start, sorted.count - start))
    }
    let unsorted = [UInt8](sorted[start...])
    sorted.removeSubrange(start...)
    entries.sort { unsorted[$0.key].lexicographicallyPrecedes(unsorted[$1.key]) }
    for entry in entries { sorted += unsorted[entry.key.lowerBound..<entry.end] }
    return end
  }

  private mutating func appendText(_ item: Slice<UnsafeBufferPointer<UInt8>>, headCount: Int) {
    let text = UnsafeBufferPointer(rebasing: item.dropFirst(headCount))
    let utf8 = UnsafeRawBufferPointer(text)
    if utf8.isASCII { return sorted.append(contentsOf: item) }
    let given = String(decoding: utf8, as: UTF8.self)
    if !CanonicalText.hasOneForm(given) { hasFormsOfText = true }
    switch texts {
    case .asGiven: sorted.append(contentsOf: item)
    case .composed:
      var composed = CanonicalText.composed(given)
      composed.withUTF8 { append(text: UnsafeRawBufferPointer($0)) }
    case .decomposed: CanonicalText.decomposed(given).withUnsafeBytes { append(text: $0) }
    }
  }

  private mutating func append(text: UnsafeRawBufferPointer) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: LARDER_CBOR_HEAD_MAX_BYTES) { head in
      let count = larder_cbor_write_head(
        head.baseAddress!, UInt32(LARDER_CBOR_TEXT), UInt64(truncatingIfNeeded: text.count))
      sorted.append(contentsOf: head[..<count])
    }
    sorted.append(contentsOf: text)
  }

  private mutating func appendFloat(
    _ item: Slice<UnsafeBufferPointer<UInt8>>, _ head: larder_cbor_head
  ) {
    let value: Double =
      switch head.info {
      case 25: larder_cbor_half_value(UInt16(truncatingIfNeeded: head.argument))
      case 26: Double(Float(bitPattern: UInt32(truncatingIfNeeded: head.argument)))
      default: Double(bitPattern: head.argument)
      }
    if value.isNaN { hasNotANumber = true }
    guard value == 0 else { return sorted.append(contentsOf: item) }
    hasZeros = true
    let start = sorted.count
    sorted.append(contentsOf: item)
    // The sign is the first bit behind the initial byte.
    switch zeros {
    case .asGiven: break
    case .positive: sorted[start + 1] &= 0x7F
    case .negative: sorted[start + 1] |= 0x80
    }
  }
}
