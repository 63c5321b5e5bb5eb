// SPDX-License-Identifier: MIT

extension Coder where Value: Codable & SendableMetatype {
  /// CBOR, in a standard form that every language reads; format `cbor`. What logs
  /// and caches of `Codable` values use unless told otherwise.
  ///
  /// - Complexity: O(1).
  public static var cbor: Coder<Value> { cbor() }

  /// CBOR by an encoder and a decoder of yours; format `cbor`.
  ///
  /// ```swift
  /// var encoder = CBOREncoder()
  /// encoder.dateEncodingStrategy = .epoch
  /// let coder = Coder<Event>.cbor(encoder)
  /// ```
  ///
  /// - Parameters:
  ///   - encoder: Writes values; with its defaults, if none is given.
  ///   - decoder: Reads what that encoder writes; with its defaults, if none is
  ///     given.
  /// - Returns: A coder.
  /// - Complexity: O(1).
  public static func cbor(
    _ encoder: CBOREncoder = CBOREncoder(), _ decoder: CBORDecoder = CBORDecoder()
  ) -> Coder<Value> {
    Coder(
      format: "cbor", encode: { try encoder.encode($0) },
      borrow: { value, body in try encoder.withEncodedBytes(of: value) { try body($0) } },
      decode: { bytes in try decoder.decode(Value.self, from: bytes) })
  }
}
