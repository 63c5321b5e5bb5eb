// SPDX-License-Identifier: MIT

public import Foundation

/// Turns values into bytes and bytes into values.
///
/// Ready-made are ``json(dates:data:floats:keys:sortedKeys:)`` for everything
/// `Codable`, ``data`` for bytes as they are and ``string`` for text. Any other
/// one is two closures:
///
/// ```swift
/// let celsius = Coder<Double>(
///   format: "f64",
///   encode: { withUnsafeBytes(of: $0.bitPattern.littleEndian) { Data($0) } },
///   decode: { bytes in
///     guard bytes.count == 8 else { throw CocoaError(.coderReadCorrupt) }
///     let pattern = bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
///     return Double(bitPattern: pattern)
///   })
/// ```
///
/// **Concurrency.** A value; safe to pass between threads. Its closures are
/// called on whatever thread reads or writes, several at a time.
public struct Coder<Value>: Sendable {
  /// Hands the encoded bytes of a value to a closure, without a copy where the
  /// value has them at hand.
  typealias Borrow =
    @Sendable (Value, (UnsafeRawBufferPointer) throws(LarderError) -> UInt64) throws -> UInt64

  /// What the encoded bytes are: up to 8 visible ASCII characters.
  ///
  /// A log keeps it in its file and refuses a coder of another format, rather
  /// than hand it bytes it cannot understand. An empty one matches every file.
  public let format: String

  /// Whether encoded bytes and value are the same thing: only for ``data``.
  @usableFromInline let isIdentity: Bool

  let borrow: Borrow
  let encodeValue: @Sendable (Value) throws -> Data
  @usableFromInline let decodeBytes: @Sendable (UnsafeRawBufferPointer) throws -> Value

  /// Makes a coder of two closures.
  ///
  /// - Parameters:
  ///   - format: The name of the encoding, up to 8 visible ASCII characters,
  ///     compared when a file is opened. Empty by default, and then nothing is
  ///     compared. A longer name is refused when the coder is used to open a file.
  ///   - encode: Makes bytes of a value. What it throws comes out as the `cause`
  ///     of an `.encoding` error.
  ///   - decode: Makes a value of those bytes. What it throws comes out as the
  ///     `cause` of a `.decoding` error.
  /// - Complexity: O(1).
  public init(
    format: String = "", encode: @escaping @Sendable (Value) throws -> Data,
    decode: @escaping @Sendable (Data) throws -> Value
  ) {
    self.init(
      format: format, encode: encode,
      borrow: { value, body in
        let bytes = try encode(value)
        return try bytes.withUnsafeBytes { try body($0) }
      },
      decode: { bytes in try decode(Data(copying: bytes)) })
  }

  /// Makes a coder that borrows: `borrow` and `decode` need no `Data` between.
  init(
    format: String, isIdentity: Bool = false, encode: @escaping @Sendable (Value) throws -> Data,
    borrow: @escaping Borrow,
    decode: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Value
  ) {
    self.format = format
    self.isIdentity = isIdentity
    self.encodeValue = encode
    self.borrow = borrow
    self.decodeBytes = decode
  }

  /// Encodes a value.
  ///
  /// - Parameter value: What to encode.
  /// - Returns: Its bytes; possibly none.
  /// - Throws: `.encoding`, with the coder's own error as its `cause`.
  /// - Complexity: The coder's own.
  public func encode(_ value: Value) throws -> Data {
    do { return try encodeValue(value) } catch { throw Self.encodingFailure(error) }
  }

  /// Decodes a value.
  ///
  /// - Parameter bytes: What ``encode(_:)`` made.
  /// - Returns: The value.
  /// - Throws: `.decoding`, with the coder's own error as its `cause`.
  /// - Complexity: The coder's own.
  public func decode(_ bytes: Data) throws -> Value {
    do {
      return try bytes.withUnsafeBytes { try decodeBytes($0) }
    } catch {
      throw LarderError(.decoding, "Could not decode \(bytes.count) bytes.", cause: error)
    }
  }

  /// What `.encoding` looks like; an error of ours passes as it is.
  static func encodingFailure(_ error: any Error) -> any Error {
    if error is LarderError { return error }
    return LarderError(
      .encoding, "Could not encode a value of type \(Value.self).", cause: error)
  }
}
