// SPDX-License-Identifier: MIT

import CLarder

extension CBORWriter {
  /// Puts the pairs of every map into the bytewise order of their keys (RFC 8949,
  /// section 4.2.1). Everything else is in its one form already.
  func sortKeys() {
    let source = UnsafeBufferPointer(start: bytes, count: count)
    var sorted: [UInt8] = []
    sorted.reserveCapacity(count)
    _ = Self.appendSorted(source, at: 0, to: &sorted)
    // A copy of what was there in another order, so of the same length.
    bytes.update(from: sorted, count: min(count, sorted.count))
  }

  /// - Returns: Where the item ends.
  private static func appendSorted(
    _ source: UnsafeBufferPointer<UInt8>, at offset: Int, to sorted: inout [UInt8]
  ) -> Int {
    var head = larder_cbor_head()
    guard larder_cbor_read_head(source.baseAddress! + offset, source.count - offset, &head) else {
      return source.count
    }
    var end = offset + Int(head.length)
    let contents = Int(truncatingIfNeeded: head.argument)
    switch Int(head.major) {
    case LARDER_CBOR_BYTES, LARDER_CBOR_TEXT:
      end += contents
      sorted.append(contentsOf: source[offset..<end])
    case LARDER_CBOR_ARRAY, LARDER_CBOR_TAG:
      sorted.append(contentsOf: source[offset..<end])
      for _ in 0..<(Int(head.major) == LARDER_CBOR_TAG ? 1 : contents) {
        end = appendSorted(source, at: end, to: &sorted)
      }
    case LARDER_CBOR_MAP:
      sorted.append(contentsOf: source[offset..<end])
      var pairs: [(key: [UInt8], value: [UInt8])] = []
      pairs.reserveCapacity(contents)
      for _ in 0..<contents {
        var pair: (key: [UInt8], value: [UInt8]) = ([], [])
        end = appendSorted(source, at: end, to: &pair.key)
        end = appendSorted(source, at: end, to: &pair.value)
        pairs.append(pair)
      }
      pairs.sort { $0.key.lexicographicallyPrecedes($1.key) }
      for pair in pairs { sorted += pair.key + pair.value }
    default:
      sorted.append(contentsOf: source[offset..<end])
    }
    return end
  }
}
