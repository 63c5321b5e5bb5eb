// SPDX-License-Identifier: MIT

import CLarder

extension CBORWriter {
  /// Puts the pairs of every map into the bytewise order of their keys (RFC 8949,
  /// section 4.2.1). Everything else is in its one form already.
  func sortKeys() {
    let source = UnsafeBufferPointer(start: bytes, count: count)
    var sorter = CBORSorter(source)
    sorter.sort()
    // A copy of what was there in another order, so of the same length.
    bytes.update(from: sorter.sorted, count: min(count, sorter.sorted.count))
  }
}

/// Writes one item again with the pairs of maps in order, and with text and zeros in the form
/// that is asked for.
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
      end = appendPairs(contents, at: end)
    default:
      if Int(head.major) == LARDER_CBOR_SIMPLE, head.info >= 25 {
        appendFloat(source[offset..<end], head)
      } else {
        sorted.append(contentsOf: source[offset..<end])
      }
    }
    return end
  }

  private mutating func appendPairs(_ count: Int, at offset: Int) -> Int {
    let start = sorted.count
    var end = offset
    var pairs: [(key: Range<Int>, end: Int)] = []
    pairs.reserveCapacity(count)
    for _ in 0..<count {
      let key = sorted.count
      end = append(at: end)
      let value = sorted.count
      end = append(at: end)
      pairs.append((key - start..<value - start, sorted.count - start))
    }
    let unsorted = [UInt8](sorted[start...])
    sorted.removeSubrange(start...)
    pairs.sort { unsorted[$0.key].lexicographicallyPrecedes(unsorted[$1.key]) }
    for pair in pairs { sorted += unsorted[pair.key.lowerBound..<pair.end] }
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
