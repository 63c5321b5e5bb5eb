// SPDX-License-Identifier: MIT

import CLarder

/// The elements of an array, one after the other.
struct CBORUnkeyedDecoding: UnkeyedDecodingContainer {
  private let position: CBORPosition
  private let length: Int
  /// Where the next element begins.
  private var next: Int
  private(set) var currentIndex = 0
  /// The position of an element, for the next one to use again.
  private var step: CBORPosition?

  init(position: CBORPosition, offset: Int) throws {
    self.position = position
    let input = position.input
    do throws(CBORFault) {
      var inner = offset
      let head = try position.source.head(at: &inner)
      guard Int(head.major) == LARDER_CBOR_ARRAY else { throw position.source.mismatch(head) }
      next = inner + Int(head.length)
      length = try position.source.length(head, at: inner)
    } catch {
      throw input.error(error, [Any].self, position)
    }
  }

  private var input: CBORInput { position.input }

  var codingPath: [any CodingKey] { CBORPosition?.some(position).keys }
  var count: Int? { length }
  var isAtEnd: Bool { currentIndex >= length }

  private var elementPosition: CBORPosition { CBORPosition(input, position, index: currentIndex) }

  /// Goes behind the element that was read.
  @inline(__always)
  private mutating func advance(_ type: Any.Type) throws {
    do { next = try position.source.end(of: next) } catch {
      throw input.error(error, type, elementPosition)
    }
    currentIndex += 1
  }

  @inline(__always)
  private func checkEnd(_ type: Any.Type) throws {
    if isAtEnd { throw atEnd(type) }
  }

  @inline(never)
  private func atEnd(_ type: Any.Type) -> DecodingError {
    .valueNotFound(
      type,
      DecodingError.Context(
        codingPath: CBORPath?.some(elementPosition).keys,
        debugDescription: "The array has no more than \(length) elements."))
  }

  /// Reads an element, and says where it was if that fails.
  @inline(__always)
  private mutating func read<T>(_ body: (CBORSource, Int) throws(CBORFault) -> T) throws -> T {
    try checkEnd(T.self)
    let value: T
    do {
      value = try body(position.source, next)
    } catch {
      throw input.error(error, T.self, elementPosition)
    }
    try advance(T.self)
    return value
  }

  mutating func decodeNil() throws -> Bool {
    try checkEnd(Any?.self)
    guard position.source.isNil(at: next) else { return false }
    try advance(Any?.self)
    return true
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try checkEnd(type)
    let value = try input.decode(type, at: next) {
      CBORPosition.element(currentIndex, of: position, reusing: &step)
    }
    try advance(type)
    return value
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool {
    try read { source, at throws(CBORFault) in try source.bool(at: at) }
  }
  mutating func decode(_ type: String.Type) throws -> String {
    try read { source, at throws(CBORFault) in try source.string(at: at) }
  }
  mutating func decode(_ type: Double.Type) throws -> Double {
    try read { source, at throws(CBORFault) in try source.double(at: at) }
  }
  mutating func decode(_ type: Float.Type) throws -> Float {
    try read { source, at throws(CBORFault) in try source.float(at: at) }
  }
  @inline(__always)
  private mutating func integer<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
    try read { source, at throws(CBORFault) in try source.integer(at: at, as: type) }
  }
  mutating func decode(_ type: Int.Type) throws -> Int { try integer(type) }
  mutating func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
  mutating func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
  mutating func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
  mutating func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
  mutating func decode(_ type: Int128.Type) throws -> Int128 { try integer(type) }
  mutating func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
  mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
  mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
  mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
  mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
  mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(type) }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    let container = try decoder(KeyedDecodingContainer<NestedKey>.self).container(keyedBy: type)
    try advance(NestedKey.self)
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let container = try decoder((any UnkeyedDecodingContainer).self).unkeyedContainer()
    try advance([Any].self)
    return container
  }

  mutating func superDecoder() throws -> any Decoder {
    let decoder = try decoder((any Decoder).self)
    try advance(Any.self)
    return decoder
  }

  private func decoder(_ type: Any.Type) throws -> CBORDecoding {
    try checkEnd(type)
    return CBORDecoding(position: elementPosition, offset: next)
  }
}

extension CBORSource {
  /// How many elements the array has whose head is at `offset`.
  func length(_ head: larder_cbor_head, at offset: Int) throws(CBORFault) -> Int {
    guard Int(head.info) == LARDER_CBOR_INFO_INDEFINITE else { return clampedCount(head) }
    var offset = offset + Int(head.length)
    var elements = 0
    while let bytes, offset < count, Int(bytes[offset]) != LARDER_CBOR_BREAK {
      offset = try end(of: offset)
      elements += 1
    }
    return elements
  }
}
