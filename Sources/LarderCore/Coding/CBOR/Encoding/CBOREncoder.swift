// SPDX-License-Identifier: MIT

import CLarder
public import Foundation

/// Encodes `Codable` values as CBOR, the binary relative of JSON (RFC 8949).
///
/// ```swift
/// let bytes = try CBOREncoder().encode(["answer": 42])
/// ```
///
/// Numbers take the shortest form that keeps them; text, bytes and dates are what
/// CBOR knows as such, so that other languages read them as what they are. Keys
/// that have an `intValue`, and those of `[Int: Value]`, are integers; all others
/// are text. A key that a type encodes twice has the later value.
///
/// | Swift | CBOR |
/// |---|---|
/// | integers up to 64 bits; beyond | integer; bignum (tags 2 and 3) |
/// | `Float`, `Double` | half, single or double precision, whichever suffices |
/// | `Bool`, `nil`, `String`, `Data` | the same |
/// | `Date` | as ``dateEncodingStrategy`` says |
/// | `URL` | tag 32 and text |
/// | `UUID` | tag 37 and 16 bytes |
/// | `Decimal` | decimal fraction (tag 4) |
/// | structures and classes, dictionaries with text or integer keys | map |
/// | other collections | array |
///
/// **Concurrency.** A value; safe to pass between threads and to use by several at
/// a time.
public struct CBOREncoder: Sendable {
  /// How dates are written.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public enum DateEncodingStrategy: Sendable {
    /// Tag 1, seconds since 1970, where that keeps the date exactly, else tag 0,
    /// text as in RFC 3339 with as many digits as the date needs. Both are dates to
    /// every library, and what is decoded equals what was encoded.
    case tagged
    /// Tag 1, seconds since 1970: an integer, or a double that is off by up to 0.12
    /// microseconds in this century.
    case epoch
    /// Tag 0, text as in RFC 3339. Dates outside of the years 0000 to 9999 are
    /// refused.
    case iso8601
    /// Seconds since 1970 as a plain number.
    case secondsSince1970
    /// Milliseconds since 1970 as a plain number.
    case millisecondsSince1970
    /// As `Date` writes itself: seconds since 2001 as a plain double.
    case deferredToDate
    /// By a closure.
    case custom(@Sendable (Date, any Encoder) throws -> Void)
  }

  /// How the keys of properties are written. Those of dictionaries are data, and
  /// written as they are.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public enum KeyEncodingStrategy: Sendable {
    /// As they are.
    case useDefaultKeys
    /// `oneTwoThree` as `one_two_three`.
    case convertToSnakeCase
    /// By a closure, which is given the path to the key with the key itself at its
    /// end. The `stringValue` of what it returns is written.
    case custom(@Sendable ([any CodingKey]) -> any CodingKey)
  }

  /// How dates are written; tagged by default.
  public var dateEncodingStrategy: DateEncodingStrategy {
    get { options.values.dates }
    set { options = options.with { $0.dates = newValue } }
  }

  /// How keys are written; as they are by default.
  public var keyEncodingStrategy: KeyEncodingStrategy {
    get { options.values.keys }
    set { options = options.with { $0.keys = newValue } }
  }

  /// Whether equal values always get equal bytes, as a signature or a comparison
  /// needs it: the keys of every map in bytewise order (RFC 8949, section 4.2.1), and
  /// so the elements of a `Set`, and the pairs of a `Dictionary` that is an array.
  /// No by default; it costs another pass.
  ///
  /// Whatever else writes itself in an order that means nothing, or has an `==` of its
  /// own that takes different content for equal, has to see to it itself.
  public var isDeterministic: Bool {
    get { options.values.isDeterministic }
    set { options = options.with { $0.isDeterministic = newValue } }
  }

  /// Whether what is written is for a ``CBORSorter``, which knows unordered arrays by it.
  package var marksUnordered: Bool {
    get { options.values.marksUnordered }
    set { options = options.with { $0.marksUnordered = newValue } }
  }

  /// How many arrays, maps and tags may enclose each other: 512 by default, 1,024
  /// at most. A value that goes deeper, perhaps in a circle, is an error.
  public var maximumDepth: Int {
    get { options.values.maximumDepth }
    set { options = options.with { $0.maximumDepth = newValue } }
  }

  /// What types find in `encoder.userInfo`.
  public var userInfo: [CodingUserInfoKey: any Sendable] {
    get { options.values.userInfo }
    set { options = options.with { $0.userInfo = newValue } }
  }

  var options = Options.defaults

  /// Makes an encoder with the defaults above.
  ///
  /// - Complexity: O(1).
  public init() {}

  /// Encodes a value.
  ///
  /// - Parameter value: Anything `Encodable`.
  /// - Returns: One CBOR item.
  /// - Throws: `EncodingError.invalidValue` for a value that encodes nothing, or
  ///   that is nested too deep; and whatever the value throws.
  /// - Complexity: O(bytes); amortised, for a type that writes to two containers in
  ///   turn.
  public func encode(_ value: some Encodable) throws -> Data {
    try withEncodedBytes(of: value) { Data(copying: $0) }
  }

  /// Encodes a value into memory of the caller's.
  ///
  /// - Parameters:
  ///   - value: Anything `Encodable`.
  ///   - buffer: Where the bytes go; what is behind them is left as it was.
  /// - Returns: How many bytes were written.
  /// - Throws: As ``encode(_:)``; `.tooLarge` if the buffer is too small, and then
  ///   it is left as it was.
  /// - Complexity: As ``encode(_:)``.
  public func encode(
    _ value: some Encodable, into buffer: UnsafeMutableRawBufferPointer
  ) throws -> Int {
    try withEncodedBytes(of: value) { bytes in
      guard bytes.count <= buffer.count else {
        throw LarderError(
          .tooLarge, "The encoded value has \(bytes.count) bytes, and the buffer \(buffer.count).")
      }
      buffer.copyMemory(from: bytes)
      return bytes.count
    }
  }

  /// Encodes a value and lends its bytes, without making `Data` of them.
  ///
  /// - Parameters:
  ///   - value: Anything `Encodable`.
  ///   - body: Is called once; the bytes are valid until it returns.
  /// - Returns: What `body` returns.
  /// - Throws: As ``encode(_:)``, and what `body` throws.
  /// - Complexity: As ``encode(_:)``.
  @inline(__always)
  public func withEncodedBytes<Result>(
    of value: some Encodable, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    let writer = CBORWriter.take(options)
    try writer.encode(value)
    if options.values.isDeterministic { writer.sort() }
    let result = try body(UnsafeRawBufferPointer(start: writer.bytes, count: writer.count))
    CBORWriter.giveBack(writer)
    return result
  }
}

#if canImport(Combine)
  public import Combine
  extension CBOREncoder: TopLevelEncoder {
    /// What Combine encodes to.
    public typealias Output = Data
  }
#endif

extension CBORWriter {
  /// Writes the outermost value.
  func encode<T: Encodable>(_ value: T) throws {
    items[0].kind = .single
    try write(value, at: { nil })
    // Whoever kept a container finds nothing to write to.
    itemCount = 0
    top = -1
    if let failure { throw failure }
    if !isWithinDepth() { throw tooDeep(value, nil) }
    if items[0].kind == .pending {
      throw EncodingError.invalidValue(
        value,
        EncodingError.Context(
          codingPath: [], debugDescription: "A value of type \(T.self) encoded nothing."))
    }
  }
}

extension CBOREncoder {
  struct Options {
    static let defaults = CBOROptions(Options(), areDefaults: true)

    var dates = DateEncodingStrategy.tagged
    var keys = KeyEncodingStrategy.useDefaultKeys
    var isDeterministic = false
    /// Arrays whose order means nothing are marked, for a `CBORSorter`.
    var marksUnordered = false
    var maximumDepth = 512
    var userInfo: [CodingUserInfoKey: any Sendable] = [:]
  }
}

extension CBOREncoder.Options {
  /// The depth that is allowed, and that the core can follow.
  var depthLimit: Int { max(0, min(maximumDepth, Int(LARDER_CBOR_MAX_DEPTH))) }

  var hasPlainKeys: Bool { if case .useDefaultKeys = keys { true } else { false } }

  /// The text of a key by the strategy that is not the default.
  func converted(_ key: some CodingKey, _ path: CBORPath?) -> String {
    switch keys {
    case .useDefaultKeys: key.stringValue
    case .convertToSnakeCase: KeyCase.snake(key.stringValue)
    case .custom(let convert): convert(CBORPath?.some(CBORPath(path, key)).keys).stringValue
    }
  }
}
