// SPDX-License-Identifier: MIT

public import Foundation

extension KeyCoder where Key == String {
  /// Text as UTF-8: keeps prefixes, and the order of Unicode's numbers.
  ///
  /// Strings that Swift calls equal although they have other characters, an é in one
  /// piece or in two, are two keys on disk.
  ///
  /// - Complexity: O(bytes), without an allocation.
  public static var string: KeyCoder<String> {
    KeyCoder(
      keepsOrder: true, keepsPrefixes: true,
      borrow: { key, body in
        var text = key
        try text.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
      },
      decode: { bytes in
        guard let text = String(validating: bytes, as: UTF8.self) else { throw unfit(bytes) }
        return text
      })
  }
}

extension KeyCoder where Key == Data {
  /// Bytes as they are: keeps order and prefixes.
  ///
  /// - Complexity: O(1) to encode, O(bytes) to decode.
  public static var data: KeyCoder<Data> {
    KeyCoder(
      keepsOrder: true, keepsPrefixes: true,
      borrow: { key, body in try key.withUnsafeBytes { try body($0) } },
      decode: { Data(copied: $0) })
  }
}

extension KeyCoder where Key == [UInt8] {
  /// Bytes as they are: keeps order and prefixes.
  ///
  /// - Complexity: O(1) to encode, O(bytes) to decode.
  public static var bytes: KeyCoder<[UInt8]> {
    KeyCoder(
      keepsOrder: true, keepsPrefixes: true,
      borrow: { key, body in try key.withUnsafeBytes { try body($0) } },
      decode: { [UInt8]($0) })
  }
}

extension KeyCoder where Key == UUID {
  /// The 16 bytes of a UUID: keeps its order.
  ///
  /// - Complexity: O(1), without an allocation.
  public static var uuid: KeyCoder<UUID> {
    KeyCoder(
      keepsOrder: true, keepsPrefixes: false,
      borrow: { key, body in try withUnsafeBytes(of: key.uuid) { try body($0) } },
      decode: { bytes in
        guard bytes.count == MemoryLayout<uuid_t>.size else { throw unfit(bytes) }
        return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
      })
  }
}
