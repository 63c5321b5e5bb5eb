// SPDX-License-Identifier: MIT

import CLarder

/// An array of whatever is `Decodable`, which is decoded here rather than by its `init(from:)`:
/// that has its elements go through a container in a box, and appends one to the other.
protocol CBORArray {
  /// Where the elements begin and how many there are.
  ///
  /// - Returns: nil for what is no array, or not of a moderate size: then the type decodes itself.
  static func moderate(at offset: Int, _ source: CBORSource) -> (start: Int, count: Int)?

  /// Decodes so many elements.
  static func decode(_ elements: (start: Int, count: Int), _ position: CBORPosition) throws -> Self
}

extension Array: CBORArray where Element: Decodable {
  /// Beyond this an array grows with what is read, however many elements its head announces.
  private static var mostBytesAtOnce: Int { 1 << 16 }

  static func moderate(at offset: Int, _ source: CBORSource) -> (start: Int, count: Int)? {
    guard let elements = source.entries(of: LARDER_CBOR_ARRAY, at: offset),
      elements.count <= mostBytesAtOnce / Swift.max(MemoryLayout<Element>.stride, 1)
    else { return nil }
    return elements
  }

  static func decode(
    _ elements: (start: Int, count: Int), _ position: CBORPosition
  ) throws -> [Element] {
    let (input, source) = (position.input, position.source)
    let (start, length) = elements
    // Of length 0 it would be the empty array of all threads that is written to.
    if length == 0 { return [] }
    var next = start
    var step: CBORPosition?
    return try [Element](unsafeUninitializedCapacity: length) { buffer, count in
      guard let first = buffer.baseAddress else { return }
      while count < length {
        let element = try input.decode(Element.self, at: next) {
          CBORPosition.element(count, of: position, reusing: &step)
        }
        (first + count).initialize(to: element)
        do throws(CBORFault) {
          next = try source.end(of: next)
        } catch {
          (first + count).deinitialize(count: 1)
          throw input.error(error, Element.self, CBORPosition(input, position, index: count))
        }
        count += 1
      }
    }
  }
}

extension CBORInput {
  /// Decodes `T`, which is the array `A`.
  @inline(never)
  static func decode<A: CBORArray, T: Decodable>(
    _ array: A.Type, as type: T.Type, _ elements: (start: Int, count: Int), _ position: CBORPosition
  ) throws -> T {
    unsafeBitCast(try A.decode(elements, position), to: T.self)
  }
}
