// SPDX-License-Identifier: MIT

public import Foundation

/// Any CBOR item, for what no type of yours describes.
///
/// It is `Codable`: as a property it holds whatever is there, tags included.
///
/// ```swift
/// let item = try CBORValue(bytes)
/// print(item)  // {"id": 7, "tags": ["a", "b"]}
/// ```
///
/// Two items are equal if they mean the same: how long a head was, and whether a
/// length was indefinite, is not part of it. A map keeps the order of its pairs,
/// which counts in a comparison.
///
/// **Concurrency.** A value; safe to pass between threads.
public enum CBORValue: Sendable, Hashable {
  /// 0 and up.
  case unsigned(UInt64)
  /// -1 - n: 0 stands for -1.
  case negative(UInt64)
  /// Bytes.
  case bytes(Data)
  /// Text.
  case text(String)
  /// Items in order.
  case array([CBORValue])
  /// Pairs in order. A type that adds a key twice makes bytes that no strict
  /// decoder reads.
  case map([Pair])
  /// An item with a tag, a number from the registry of tags that says what is
  /// meant by it.
  indirect case tagged(UInt64, CBORValue)
  /// A simple value without a meaning of its own: 0 to 19 and 32 to 255.
  case simple(UInt8)
  /// `true` or `false`.
  case bool(Bool)
  /// `null`.
  case null
  /// `undefined`.
  case undefined
  /// A float of any precision.
  case float(Double)

  /// A key of a map, with its value.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public struct Pair: Sendable, Hashable {
    /// Mostly text.
    public var key: CBORValue
    /// What it stands for.
    public var value: CBORValue

    /// Makes a pair.
    ///
    /// - Parameters:
    ///   - key: Any item.
    ///   - value: Any item.
    /// - Complexity: O(1).
    public init(_ key: CBORValue, _ value: CBORValue) {
      self.key = key
      self.value = value
    }
  }

  /// Reads an item.
  ///
  /// - Parameter bytes: One CBOR item.
  /// - Throws: As ``CBORDecoder/decode(_:from:)-(_,Data)``.
  /// - Complexity: O(bytes).
  public init(_ bytes: Data) throws {
    self = try CBORDecoder().decode(CBORValue.self, from: bytes)
  }

  /// Reads an item from memory of the caller's.
  ///
  /// - Parameter bytes: One CBOR item.
  /// - Throws: As ``CBORDecoder/decode(_:from:)-(_,Data)``.
  /// - Complexity: O(bytes).
  public init(_ bytes: UnsafeRawBufferPointer) throws {
    self = try CBORDecoder().decode(CBORValue.self, from: bytes)
  }

  /// The item's bytes, in the shortest form, with the pairs of maps in their order.
  ///
  /// - Throws: `EncodingError.invalidValue` for an item nested more than 512 deep.
  /// - Complexity: O(bytes).
  public var encoded: Data {
    get throws { try CBOREncoder().encode(self) }
  }
}

extension CBORValue: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral,
  ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// An integer.
  public init(integerLiteral value: Int64) {
    self = value < 0 ? .negative(UInt64(~value)) : .unsigned(UInt64(value))
  }

  /// A text.
  public init(stringLiteral value: String) { self = .text(value) }

  /// A float.
  public init(floatLiteral value: Double) { self = .float(value) }

  /// `true` or `false`.
  public init(booleanLiteral value: Bool) { self = .bool(value) }

  /// `null`.
  public init(nilLiteral: ()) { self = .null }

  /// An array.
  public init(arrayLiteral elements: CBORValue...) { self = .array(elements) }

  /// A map, in the order of the literal.
  public init(dictionaryLiteral elements: (CBORValue, CBORValue)...) {
    self = .map(elements.map { Pair($0, $1) })
  }
}
