// SPDX-License-Identifier: MIT

public import Foundation

/// Turns values into bytes and bytes into values.
///
/// Ready-made are ``cbor``, ``json(dates:data:floats:keys:sortedKeys:)`` and
/// ``binaryPlist`` for everything `Codable`, ``data`` for bytes as they are and
/// ``string`` for text. Any other one is two closures:
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
/// The modules `LarderCompression` and `LarderEncryption` make coders of coders:
/// `.cbor.compressed()`, `.cbor.encrypted(with: key)`.
///
/// **Concurrency.** A value; safe to pass between threads. Its closures are
/// called on whatever thread reads or writes, several at a time.
public struct Coder<Value>: Sendable {
  /// Hands the encoded bytes of a value to a closure, once, without a copy where
  /// the value has them at hand.
  @usableFromInline package typealias Borrow =
    @Sendable (Value, (UnsafeRawBufferPointer) throws(LarderError) -> UInt64) throws -> UInt64

  /// What the encoded bytes are: up to 8 visible ASCII characters.
  ///
  /// A log keeps it in its file and refuses a coder of another format, rather
  /// than hand it bytes it cannot understand. An empty one matches every file.
  public let format: String

  /// Whether encoded bytes and value are the same thing: only for ``data``.
  @usableFromInline package let isIdentity: Bool

  @usableFromInline package let borrow: Borrow
  package let encodeValue: @Sendable (Value) throws -> Data
  @usableFromInline package let decodeBytes: @Sendable (UnsafeRawBufferPointer) throws -> Value

  /// Makes a coder of two closures.
  ///
  /// - Parameters:
  ///   - format: The name of the encoding, up to 8 visible ASCII characters,
  ///     compared when a file is opened. Empty by default, and then nothing is
  ///     compared. A longer name is refused when the coder is used to open a file.
  ///   - encode: Makes bytes of a value. What it throws comes out as the `cause`
  ///     of an `.encoding` error; a ``LarderError`` comes out as it is.
  ///   - decode: Makes a value of those bytes, which are a `Data` of its own. What
  ///     it throws comes out as the `cause` of a `.decoding` error; a
  ///     ``LarderError`` comes out as it is.
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
  package init(
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
}

// MARK: - Encoding

extension Coder {
  /// Encodes a value.
  ///
  /// - Parameter value: What to encode.
  /// - Returns: Its bytes; possibly none.
  /// - Throws: `.encoding`, with the coder's own error as its `cause`.
  /// - Complexity: The coder's own.
  public func encode(_ value: Value) throws -> Data {
    do { return try encodeValue(value) } catch { throw Self.encodingFailure(error) }
  }

  /// Encodes a value into memory of yours.
  ///
  /// ```swift
  /// let count = try Coder.string.encode("größe", into: buffer)
  /// ```
  ///
  /// - Parameters:
  ///   - value: What to encode.
  ///   - buffer: Where its bytes go, from the start; what lies behind them stays
  ///     as it is. It may be empty, which is enough for a value without bytes.
  /// - Returns: How many bytes were written.
  /// - Throws: `.tooLarge` if the buffer is too small, and then it is unchanged;
  ///   `.encoding`, with the coder's own error as its `cause`.
  /// - Complexity: The coder's own, and O(bytes).
  public func encode(_ value: Value, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    var count = 0
    do {
      _ = try borrow(value) { bytes throws(LarderError) in
        guard bytes.count <= buffer.count else {
          throw LarderError(
            .tooLarge,
            "A value of \(bytes.count) bytes does not fit into a buffer of \(buffer.count).")
        }
        buffer.copyMemory(from: bytes)
        count = bytes.count
        return 0
      }
    } catch {
      throw Self.encodingFailure(error)
    }
    return count
  }

  /// Lends the encoded bytes of a value to a closure.
  ///
  /// ``data`` and ``string`` lend the value's own bytes; ``cbor`` lends those that
  /// it made.
  ///
  /// - Parameters:
  ///   - value: What to encode.
  ///   - body: Called once with the bytes, which are valid until it returns;
  ///     possibly none.
  /// - Returns: What `body` returns.
  /// - Throws: `.encoding`, with the coder's own error as its `cause`; and whatever
  ///   `body` throws, as it is.
  /// - Complexity: The coder's own.
  public func withEncodedBytes<Result>(
    of value: Value, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    var result: Swift.Result<Result, any Error>?
    do {
      _ = try borrow(value) { bytes throws(LarderError) in
        result = Swift.Result { try body(bytes) }
        return 0
      }
    } catch {
      throw Self.encodingFailure(error)
    }
    guard let result else {
      throw LarderError(.encoding, "The coder of \"\(format)\" handed over no bytes.")
    }
    return try result.get()
  }

  /// What `.encoding` looks like; an error of ours passes as it is.
  package static func encodingFailure(_ error: any Error) -> any Error {
    if error is LarderError { return error }
    return LarderError(
      .encoding, "Could not encode a value of type \(Value.self).", cause: error)
  }
}

// MARK: - Decoding

extension Coder {
  /// Decodes a value.
  ///
  /// - Parameter bytes: What ``encode(_:)`` made.
  /// - Returns: The value.
  /// - Throws: `.decoding`, with the coder's own error as its `cause`.
  /// - Complexity: The coder's own.
  public func decode(_ bytes: Data) throws -> Value {
    do { return try bytes.withContiguousBytes(decodeBytes) } catch {
      throw Self.decodingFailure(error, bytes.count)
    }
  }

  /// Decodes a value from memory of yours.
  ///
  /// - Parameter bytes: What ``encode(_:)`` made. They are only used until the call
  ///   returns, whatever the value is.
  /// - Returns: The value.
  /// - Throws: `.decoding`, with the coder's own error as its `cause`.
  /// - Complexity: The coder's own.
  public func decode(_ bytes: UnsafeRawBufferPointer) throws -> Value {
    do { return try decodeBytes(bytes) } catch {
      throw Self.decodingFailure(error, bytes.count)
    }
  }

  /// Decodes a value from a span.
  ///
  /// - Parameter bytes: What ``encode(_:)`` made.
  /// - Returns: The value.
  /// - Throws: `.decoding`, with the coder's own error as its `cause`.
  /// - Complexity: The coder's own.
  public func decode(_ bytes: RawSpan) throws -> Value {
    try bytes.withUnsafeBytes { try decode($0) }
  }

  /// What `.decoding` looks like; an error of ours passes as it is.
  package static func decodingFailure(_ error: any Error, _ count: Int) -> any Error {
    if error is LarderError { return error }
    return LarderError(.decoding, "Could not decode \(count) bytes.", cause: error)
  }
}
