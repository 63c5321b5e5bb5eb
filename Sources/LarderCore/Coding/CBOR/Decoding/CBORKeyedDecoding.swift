// SPDX-License-Identifier: MIT

/// The values of a map by their keys.
struct CBORKeyedDecoding<Key: CodingKey>: CBORKeyedDecodingContainer {
  let map: CBORPosition

  var codingPath: [any CodingKey] { CBORPosition?.some(map).keys }

  var allKeys: [Key] {
    map.keys.compactMap { $0.codingKey(as: Key.self) }
  }

  func contains(_ key: Key) -> Bool {
    // The whole input was checked: a map is only unreadable for whoever kept it too long.
    ((try? map.value(for: key)) ?? nil) != nil
  }

  /// Where the value of a key begins.
  ///
  /// Not inlined, as `failure` is not: a caller would count references around its parts.
  @inline(never)
  private func offset(of key: Key) throws -> Int {
    do {
      if let offset = try map.value(for: key) { return offset }
    } catch {
      throw map.input.error(error, Key.self, map)
    }
    throw missing(key)
  }

  /// The error that a fault in the value of a key is.
  @inline(never)
  private func failure(_ fault: CBORFault, _ type: Any.Type, _ key: Key) -> DecodingError {
    map.input.error(fault, type, CBORPath(map, key))
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
    _ key: Key, _ body: (CBORSource, Int) throws(CBORFault) -> T
  ) throws -> T {
    let offset = try offset(of: key)
    do {
      return try body(map.source, offset)
    } catch {
      throw failure(error, T.self, key)
    }
  }

  /// As `read`, with nil for a key that is missing or null.
  @inline(__always)
  private func readIfPresent<T>(
    _ key: Key, _ body: (CBORSource, Int) throws(CBORFault) -> T
  ) throws -> T? {
    do {
      guard let offset = try map.value(for: key), !map.source.isNil(at: offset) else { return nil }
      return try body(map.source, offset)
    } catch {
      throw failure(error, T.self, key)
    }
  }

  func decodeNil(forKey key: Key) throws -> Bool { map.source.isNil(at: try offset(of: key)) }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try map.input.decode(type, at: try offset(of: key)) { CBORPosition(map.input, map, key) }
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    let offset: Int?
    do { offset = try map.value(for: key) } catch { throw map.input.error(error, type, map) }
    guard let offset, !map.source.isNil(at: offset) else { return nil }
    return try map.input.decode(type, at: offset) { CBORPosition(map.input, map, key) }
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
    CBORDecoding(position: CBORPosition(map.input, map, key), offset: try offset(of: key))
  }

  func superDecoder() throws -> any Decoder { superDecoder(CBORKey.super) }

  func superDecoder(forKey key: Key) throws -> any Decoder { superDecoder(key) }

  /// A superclass that encoded nothing is null, and decides itself what to make of that.
  private func superDecoder(_ key: some CodingKey) -> any Decoder {
    let offset = (try? map.value(for: key)) ?? nil
    return CBORDecoding(position: CBORPosition(map.input, map, key), offset: offset ?? -1)
  }
}

// The scalars, of which generic code would have to be told apart at run time.
extension CBORKeyedDecoding {
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    try read(key) { source, at throws(CBORFault) in try source.bool(at: at) }
  }
  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try readIfPresent(key) { source, at throws(CBORFault) in try source.bool(at: at) }
  }
  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try read(key) { source, at throws(CBORFault) in try source.string(at: at) }
  }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try readIfPresent(key) { source, at throws(CBORFault) in try source.string(at: at) }
  }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try read(key) { source, at throws(CBORFault) in try source.double(at: at) }
  }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    try readIfPresent(key) { source, at throws(CBORFault) in try source.double(at: at) }
  }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
    try read(key) { source, at throws(CBORFault) in try source.float(at: at) }
  }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
    try readIfPresent(key) { source, at throws(CBORFault) in try source.float(at: at) }
  }

  @inline(__always)
  private func integer<T: FixedWidthInteger>(_ type: T.Type, _ key: Key) throws -> T {
    try read(key) { source, at throws(CBORFault) in try source.integer(at: at, as: type) }
  }
  @inline(__always)
  private func integerIfPresent<T: FixedWidthInteger>(_ type: T.Type, _ key: Key) throws -> T? {
    try readIfPresent(key) { source, at throws(CBORFault) in try source.integer(at: at, as: type) }
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
