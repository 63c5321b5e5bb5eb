// SPDX-License-Identifier: MIT

public import Foundation
import LarderCore

extension KeyCoder where Key: FixedWidthInteger & SendableMetatype {
  /// A whole number, its most significant byte first and its sign turned round, so that
  /// the bytes are in the order of the numbers: keeps order.
  ///
  /// `Int` and `UInt` have 8 bytes on every system.
  ///
  /// - Complexity: O(1), without an allocation.
  public static var integer: KeyCoder<Key> {
    // A cache's files may come from a system with words of another size.
    if Key.self == Int.self { return via(Int64.self) }
    if Key.self == UInt.self { return via(UInt64.self) }
    return via(Key.self)
  }

  private static func via<Stored: FixedWidthInteger & SendableMetatype>(
    _ type: Stored.Type
  ) -> KeyCoder<Key> {
    KeyCoder(
      .integer(type), keepsOrder: true, keepsPrefixes: false,
      borrow: { key, body in
        let stored = Stored(truncatingIfNeeded: key) ^ (Stored.isSigned ? Stored.min : 0)
        try withUnsafeBytes(of: stored.bigEndian) { try body(StoreKey($0)) }
      },
      decode: { bytes in
        guard bytes.count == MemoryLayout<Stored>.size else { throw unfit(bytes) }
        var stored = Stored.zero
        withUnsafeMutableBytes(of: &stored) { $0.copyMemory(from: bytes) }
        stored = Stored(bigEndian: stored) ^ (Stored.isSigned ? Stored.min : 0)
        guard let key = Key(exactly: stored) else { throw unfit(bytes) }
        return key
      })
  }
}

extension KeyCoder where Key == Double {
  /// The 8 bytes of a number of IEEE 754, its sign turned round, those of negative numbers whole,
  /// so that they are in the order of the numbers: keeps order. −0.0 is 0.0; not-a-number is no
  /// key: `.encoding`.
  ///
  /// - Complexity: O(1), without an allocation.
  public static var double: KeyCoder<Double> {
    sortable({ $0.sortablePattern }, Double.init(sortablePattern:))
  }
}

extension KeyCoder where Key == Float {
  /// The 4 bytes of a number of IEEE 754, its sign turned round, those of negative numbers whole,
  /// so that they are in the order of the numbers: keeps order. −0.0 is 0.0; not-a-number is no
  /// key: `.encoding`.
  ///
  /// - Complexity: O(1), without an allocation.
  public static var float: KeyCoder<Float> {
    sortable({ $0.sortablePattern }, Float.init(sortablePattern:))
  }
}

extension KeyCoder where Key: FloatingPoint & SendableMetatype {
  fileprivate static func sortable<Pattern: FixedWidthInteger & SendableMetatype>(
    _ pattern: @escaping @Sendable (Key) -> Pattern, _ key: @escaping @Sendable (Pattern) -> Key
  ) -> KeyCoder<Key> {
    let stored = KeyCoder<Pattern>.integer
    return KeyCoder(
      .floatingPoint(Pattern.self), keepsOrder: true, keepsPrefixes: false,
      borrow: { number, body in
        if number.isNaN { throw LarderError.noKey(Key.self) }
        try stored.borrow(pattern(number), body)
      },
      decode: { bytes in
        let found = try stored.decode(bytes)
        let number = key(found)
        // Of what is no number, and of -0.0, nobody wrote the bytes.
        guard !number.isNaN, pattern(number) == found else { throw unfit(bytes) }
        return number
      })
  }
}

extension KeyCoder where Key == URL {
  /// A URL's absolute string as text: keeps prefixes, and the order of that text.
  ///
  /// - Complexity: O(bytes).
  public static var url: KeyCoder<URL> {
    let text = KeyCoder<String>.string
    return KeyCoder(
      .url, keepsOrder: true, keepsPrefixes: true,
      borrow: { url, body in try text.borrow(url.absoluteString, body) },
      decode: { bytes in
        guard let url = URL(string: try text.decode(bytes)) else { throw unfit(bytes) }
        return url
      })
  }
}

extension KeyCoder where Key: RawRepresentable & SendableMetatype {
  /// The raw value, by its own coder, whose order and prefixes are kept.
  ///
  /// ```swift
  /// enum Planet: String { case earth, mars }
  /// let planets = KeyCoder<Planet>.rawValue(.string)
  /// ```
  ///
  /// - Parameter coder: Encodes raw values.
  /// - Returns: A key coder.
  /// - Complexity: O(1).
  public static func rawValue(_ coder: KeyCoder<Key.RawValue>) -> KeyCoder<Key> {
    KeyCoder(
      coder.form, keepsOrder: coder.keepsOrder, keepsPrefixes: coder.keepsPrefixes,
      borrow: { key, body in try coder.borrow(key.rawValue, body) },
      decode: { bytes in
        guard let key = Key(rawValue: try coder.decode(bytes)) else { throw unfit(bytes) }
        return key
      })
  }
}

extension KeyCoder where Key: Codable & SendableMetatype {
  /// Any `Codable` key as deterministic CBOR: equal keys have equal bytes, with sets and
  /// dictionaries anywhere in them. Keeps neither order nor prefixes.
  ///
  /// What cannot be seen from outside is left to the key: a type with an `==` of its own that
  /// takes keys for equal that encode differently, as `Measurement` takes 1 km for 1,000 m, and
  /// a collection other than `Set` and `Dictionary` that encodes itself in an order that means
  /// nothing. Give those a coder of two closures.
  ///
  /// - Complexity: O(bytes).
  public static var codable: KeyCoder<Key> {
    var encoder = CBOREncoder()
    encoder.marksUnordered = true
    let marking = encoder
    let decoder = CBORDecoder()
    return KeyCoder(
      .cbor, keepsOrder: false, keepsPrefixes: false,
      borrow: { key, body in
        // What the body throws has to pass as it is.
        var result = Result<Void, any Error>.success(())
        do {
          try marking.withEncodedBytes(of: key) { bytes in
            let item = bytes.assumingMemoryBound(to: UInt8.self)
            var sorter = CBORSorter(item, texts: .composed, zeros: .positive)
            sorter.sort()
            if sorter.hasNotANumber { throw LarderError.noKey(Key.self) }
            let hasOthers = sorter.hasFormsOfText || sorter.hasZeros
            let others = hasOthers ? StoreKeyForms.item([UInt8](bytes)) : .none
            result = Result {
              try sorter.sorted.withUnsafeBytes { try body(StoreKey($0, others: others)) }
            }
          }
        } catch {
          throw encodingFailure(error)
        }
        try result.get()
      },
      decode: { try decoder.decode(Key.self, from: $0) })
  }

  /// What caches use unless told otherwise: ``string``, ``data``, ``bytes``, ``uuid``, ``url``,
  /// ``double``, ``float`` or ``integer`` for keys of those types, and ``codable`` for all others.
  ///
  /// - Complexity: O(1).
  public static var standard: KeyCoder<Key> {
    let ready: (any Sendable)? =
      switch Key.self {
      case is String.Type: KeyCoder<String>.string
      case is Data.Type: KeyCoder<Data>.data
      case is [UInt8].Type: KeyCoder<[UInt8]>.bytes
      case is UUID.Type: KeyCoder<UUID>.uuid
      case is URL.Type: KeyCoder<URL>.url
      case is Double.Type: KeyCoder<Double>.double
      case is Float.Type: KeyCoder<Float>.float
      case is Int.Type: KeyCoder<Int>.integer
      case is Int8.Type: KeyCoder<Int8>.integer
      case is Int16.Type: KeyCoder<Int16>.integer
      case is Int32.Type: KeyCoder<Int32>.integer
      case is Int64.Type: KeyCoder<Int64>.integer
      case is UInt.Type: KeyCoder<UInt>.integer
      case is UInt8.Type: KeyCoder<UInt8>.integer
      case is UInt16.Type: KeyCoder<UInt16>.integer
      case is UInt32.Type: KeyCoder<UInt32>.integer
      case is UInt64.Type: KeyCoder<UInt64>.integer
      default: nil
      }
    return ready as? KeyCoder<Key> ?? .codable
  }
}
