// SPDX-License-Identifier: MIT

/// The values of a map by their keys.
struct CBORKeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let map: CBORMap

  var codingPath: [any CodingKey] { map.path.keys }

  var allKeys: [Key] {
    map.keys.compactMap { $0.codingKey(as: Key.self) }
  }

  func contains(_ key: Key) -> Bool {
    // The whole input was checked: a map is only unreadable for whoever kept it too long.
    ((try? map.value(for: key)) ?? nil) != nil
  }

  /// Where the value of a key begins.
  @inline(__always)
  private func offset(of key: Key) throws -> Int {
    do {
      if let offset = try map.value(for: key) { return offset }
    } catch {
      throw map.input.error(error, Key.self, map.path)
    }
    throw missing(key)
  }

  @inline(never)
  private func missing(_ key: Key) -> DecodingError {
    .keyNotFound(
      key,
      DecodingError.Context(
        codingPath: codingPath, debugDescription: "There is no value for the key \(key)."))
  }

  /// Reads the value of a key, and says where it was if that fails.
  @inline(__always)
  private func read<T>(
    _ key: Key, _ body: (CBORInput, Int) throws(CBORFault) -> T
  ) throws -> T {
    let offset = try offset(of: key)
    do {
      return try body(map.input, offset)
    } catch {
      throw map.input.error(error, T.self, CBORPath(map.path, key))
    }
  }

  /// As `read`, with nil for a key that is missing or null.
  @inline(__always)
  private func readIfPresent<T>(
    _ key: Key, _ body: (CBORInput, Int) throws(CBORFault) -> T
  ) throws -> T? {
    do {
      guard let offset = try map.value(for: key), !map.input.isNil(at: offset) else { return nil }
      return try body(map.input, offset)
    } catch {
      throw map.input.error(error, T.self, CBORPath(map.path, key))
    }
  }

  func decodeNil(forKey key: Key) throws -> Bool { map.input.isNil(at: try offset(of: key)) }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try map.input.decode(type, at: try offset(of: key)) { CBORPath(map.path, key) }
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    let offset: Int?
    do { offset = try map.value(for: key) } catch { throw map.input.error(error, type, map.path) }
    guard let offset, !map.input.isNil(at: offset) else { return nil }
    return try map.input.decode(type, at: offset) { CBORPath(map.path, key) }
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try decoder(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(key).unkeyedContainer()
  }

  private func decoder(_ key: Key) throws -> CBORDecoding {
    CBORDecoding(input: map.input, offset: try offset(of: key), path: CBORPath(map.path, key))
  }

  func superDecoder() throws -> any Decoder { superDecoder(CBORKey.super) }

  func superDecoder(forKey key: Key) throws -> any Decoder { superDecoder(key) }

  /// A superclass that encoded nothing is null, and decides itself what to make of that.
  private func superDecoder(_ key: some CodingKey) -> any Decoder {
    let offset = (try? map.value(for: key)) ?? nil
    return CBORDecoding(input: map.input, offset: offset ?? -1, path: CBORPath(map.path, key))
  }
}

// The scalars, of which generic code would have to be told apart at run time.
extension CBORKeyedDecoding {
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    try read(key) { input, at throws(CBORFault) in try input.bool(at: at) }
  }
  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try readIfPresent(key) { input, at throws(CBORFault) in try input.bool(at: at) }
  }
  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try read(key) { input, at throws(CBORFault) in try input.string(at: at) }
  }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try readIfPresent(key) { input, at throws(CBORFault) in try input.string(at: at) }
  }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try read(key) { input, at throws(CBORFault) in try input.double(at: at) }
  }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    try readIfPresent(key) { input, at throws(CBORFault) in try input.double(at: at) }
  }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
    try read(key) { input, at throws(CBORFault) in try input.float(at: at) }
  }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
    try readIfPresent(key) { input, at throws(CBORFault) in try input.float(at: at) }
  }

  @inline(__always)
  private func integer<T: FixedWidthInteger>(_ type: T.Type, _ key: Key) throws -> T {
    try read(key) { input, at throws(CBORFault) in try input.integer(at: at, as: type) }
  }
  @inline(__always)
  private func integerIfPresent<T: FixedWidthInteger>(_ type: T.Type, _ key: Key) throws -> T? {
    try readIfPresent(key) { input, at throws(CBORFault) in try input.integer(at: at, as: type) }
  }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(type, key) }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    try integerIfPresent(type, key)
  }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(type, key) }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
    try integerIfPresent(type, key)
  }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(type, key) }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
    try integerIfPresent(type, key)
  }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(type, key) }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
    try integerIfPresent(type, key)
  }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try integer(type, key) }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    try integerIfPresent(type, key)
  }
  func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try integer(type, key) }
  func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? {
    try integerIfPresent(type, key)
  }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(type, key) }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
    try integerIfPresent(type, key)
  }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(type, key) }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
    try integerIfPresent(type, key)
  }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(type, key) }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
    try integerIfPresent(type, key)
  }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(type, key) }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
    try integerIfPresent(type, key)
  }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(type, key) }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
    try integerIfPresent(type, key)
  }
  func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try integer(type, key) }
  func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? {
    try integerIfPresent(type, key)
  }
}
