// SPDX-License-Identifier: MIT

import CLarder
public import Foundation

/// Decodes `Codable` values from CBOR, the binary relative of JSON (RFC 8949).
///
/// ```swift
/// let answer = try CBORDecoder().decode([String: Int].self, from: bytes)
/// ```
///
/// It reads what ``CBOREncoder`` writes, and what other libraries write: every
/// length of number, indefinite-length items, tags it does not know (their content
/// counts). Bytes of unknown origin are safe to decode: they have to be one
/// well-formed item with nothing behind it, lengths within the input, text that is
/// UTF-8, no key of a map twice, and not too deep; else the result is an error.
/// Memory is taken for what is there, never for what a length claims.
///
/// Types change: unknown keys are ignored, keys may come in any order, and optional
/// properties may be missing.
///
/// **Concurrency.** A value; safe to pass between threads and to use by several at
/// a time.
public struct CBORDecoder: Sendable {
  /// How dates are read.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public enum DateDecodingStrategy: Sendable {
    /// By their tag: 1 is seconds since 1970, 0 text as in RFC 3339. Such text is
    /// read without a tag, too. A number without a tag does not say what it counts,
    /// and is refused.
    case tagged
    /// Seconds since 1970, with a tag or without.
    case secondsSince1970
    /// Milliseconds since 1970.
    case millisecondsSince1970
    /// As `Date` reads itself: seconds since 2001.
    case deferredToDate
    /// By a closure.
    case custom(@Sendable (any Decoder) throws -> Date)
  }

  /// How the keys of properties are read. Those of dictionaries are data, and read
  /// as they are.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public enum KeyDecodingStrategy: Sendable {
    /// As they are.
    case useDefaultKeys
    /// `one_two_three` as `oneTwoThree`.
    case convertFromSnakeCase
    /// By a closure, which is given the path to the key with the key itself at its
    /// end. The `stringValue` of what it returns is what a type asks for.
    case custom(@Sendable ([any CodingKey]) -> any CodingKey)
  }

  /// How dates are read; by their tag by default.
  public var dateDecodingStrategy: DateDecodingStrategy {
    get { options.values.dates }
    set { options = options.with { $0.dates = newValue } }
  }

  /// How keys are read; as they are by default.
  public var keyDecodingStrategy: KeyDecodingStrategy {
    get { options.values.keys }
    set { options = options.with { $0.keys = newValue } }
  }

  /// How many arrays, maps and tags may enclose each other: 512 by default, 1,024
  /// at most.
  public var maximumDepth: Int {
    get { options.values.maximumDepth }
    set { options = options.with { $0.maximumDepth = newValue } }
  }

  /// What types find in `decoder.userInfo`.
  public var userInfo: [CodingUserInfoKey: any Sendable] {
    get { options.values.userInfo }
    set { options = options.with { $0.userInfo = newValue } }
  }

  var options = Options.defaults

  /// Makes a decoder with the defaults above.
  ///
  /// - Complexity: O(1).
  public init() {}

  /// Decodes a value.
  ///
  /// - Parameters:
  ///   - type: What to decode.
  ///   - bytes: One CBOR item.
  /// - Returns: The value.
  /// - Throws: `DecodingError.dataCorrupted` with an empty path for bytes that are
  ///   not one good item, with where and why; the cases that `Codable` defines for
  ///   bytes that are not of the type; and whatever the type throws.
  /// - Complexity: O(bytes), and O(keys log keys) for a map of many; for a type
  ///   that asks for keys out of order, also the number of keys it asks for times
  ///   that of a small map.
  public func decode<T: Decodable>(_ type: T.Type, from bytes: Data) throws -> T {
    try bytes.withContiguousBytes { try decode(type, from: $0) }
  }

  /// Decodes a value from memory of the caller's, which is not referred to when the
  /// call returns.
  ///
  /// - Parameters:
  ///   - type: What to decode.
  ///   - bytes: One CBOR item, not to be changed meanwhile.
  /// - Returns: The value.
  /// - Throws: As ``decode(_:from:)-(_,Data)``.
  /// - Complexity: As ``decode(_:from:)-(_,Data)``.
  public func decode<T: Decodable>(
    _ type: T.Type, from bytes: UnsafeRawBufferPointer
  ) throws -> T {
    let input = CBORInput.take(options)
    do {
      try begin(input, bytes)
      let value = try input.decode(type, at: 0) { CBORPosition(input) }
      CBORInput.giveBack(input)
      return value
    } catch {
      CBORInput.giveBack(input)
      throw error
    }
  }

  /// Decodes a value from a span.
  ///
  /// - Parameters:
  ///   - type: What to decode.
  ///   - bytes: One CBOR item.
  /// - Returns: The value.
  /// - Throws: As ``decode(_:from:)-(_,Data)``.
  /// - Complexity: As ``decode(_:from:)-(_,Data)``.
  public func decode<T: Decodable>(_ type: T.Type, from bytes: RawSpan) throws -> T {
    try bytes.withUnsafeBytes { try decode(type, from: $0) }
  }

  /// Refuses bytes that are not one good item.
  private func begin(_ input: CBORInput, _ bytes: UnsafeRawBufferPointer) throws {
    let limit = UInt32(clamping: min(options.values.maximumDepth, Int(LARDER_CBOR_MAX_DEPTH)))
    var detail = larder_cbor_detail()
    let status = input.begin(bytes, depthLimit: limit, &detail)
    if status != LARDER_OK { throw corrupted(status, detail) }
  }

  @inline(never)
  private func corrupted(_ status: Int32, _ detail: larder_cbor_detail) -> DecodingError {
    let why =
      detail.fault == LARDER_CBOR_GOOD
      ? String(cString: larder_strerror(status))
      : String(cString: larder_cbor_fault_text(detail.fault)) + " at offset \(detail.offset)"
    return .dataCorrupted(
      DecodingError.Context(codingPath: [], debugDescription: "Not well-formed CBOR: \(why)."))
  }
}

#if canImport(Combine)
  public import Combine
  extension CBORDecoder: TopLevelDecoder {
    /// What Combine decodes from. There are several to choose between.
    public typealias Input = Data
  }
#endif

extension CBORDecoder {
  struct Options {
    static let defaults = CBOROptions(Options(), areDefaults: true)

    var dates = DateDecodingStrategy.tagged
    var keys = KeyDecodingStrategy.useDefaultKeys
    var maximumDepth = 512
    var userInfo: [CodingUserInfoKey: any Sendable] = [:]
  }
}

extension CBORDecoder.Options {
  var hasPlainKeys: Bool { if case .useDefaultKeys = keys { true } else { false } }

  /// What a key of the bytes is to the type that is decoded.
  func converted(_ key: String, _ path: CBORPath?) -> String {
    switch keys {
    case .useDefaultKeys: key
    case .convertFromSnakeCase: KeyCase.camel(key)
    case .custom(let convert):
      convert(CBORPath?.some(CBORPath(path, CBORKey(stringValue: key))).keys).stringValue
    }
  }
}
