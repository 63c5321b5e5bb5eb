// SPDX-License-Identifier: MIT

import CLarder

/// What a type's `init(from:)` is given: a position in the input.
struct CBORDecoding: Decoder {
  let position: CBORPosition
  /// Where the value begins; negative for one that is missing, and so null.
  let offset: Int

  private var input: CBORInput { position.input }

  var codingPath: [any CodingKey] { CBORPosition?.some(position).keys }

  var userInfo: [CodingUserInfoKey: Any] { input.options.values.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    let map = try position.map(
      at: offset, isDictionary: ObjectIdentifier(type) == DictionaryKeys.codingKeyType)
    return input.container(of: map, type)
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try CBORUnkeyedDecoding(position: position, offset: offset)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }
}

extension CBORDecoding: SingleValueDecodingContainer {
  /// Reads the value, and says where it was if that fails.
  @inline(__always)
  private func read<T>(_ body: (CBORSource, Int) throws(CBORFault) -> T) throws -> T {
    do { return try body(position.source, offset) } catch {
      throw input.error(error, T.self, position)
    }
  }

  func decodeNil() -> Bool { position.source.isNil(at: offset) }
  func decode(_ type: Bool.Type) throws -> Bool {
    try read { source, offset throws(CBORFault) in try source.bool(at: offset) }
  }
  func decode(_ type: String.Type) throws -> String {
    try read { source, offset throws(CBORFault) in try source.string(at: offset) }
  }
  func decode(_ type: Double.Type) throws -> Double {
    try read { source, offset throws(CBORFault) in try source.double(at: offset) }
  }
  func decode(_ type: Float.Type) throws -> Float {
    try read { source, offset throws(CBORFault) in try source.float(at: offset) }
  }
  @inline(__always)
  private func integer<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
    try read { source, offset throws(CBORFault) in try source.integer(at: offset, as: type) }
  }
  func decode(_ type: Int.Type) throws -> Int { try integer(type) }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
  func decode(_ type: Int128.Type) throws -> Int128 { try integer(type) }
  func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(type) }
  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try input.decode(type, at: offset) { position }
  }
}

extension CBORInput {
  /// The error that a fault is at a path.
  @inline(never)
  func error(_ fault: CBORFault, _ type: Any.Type, _ path: CBORPath?) -> DecodingError {
    func context(_ text: String) -> DecodingError.Context {
      DecodingError.Context(codingPath: path.keys, debugDescription: text)
    }
    switch fault {
    case .null:
      return .valueNotFound(type, context("Null stands where a \(type) is expected."))
    case .mismatch:
      return .typeMismatch(type, context("What is there is no \(type)."))
    case .outOfRange:
      return .dataCorrupted(context("The number that is there cannot be a \(type)."))
    case .invalid(let why):
      return .dataCorrupted(context(why))
    case .unreadable:
      return .dataCorrupted(context("The bytes are not there any more, or were changed."))
    }
  }
}
