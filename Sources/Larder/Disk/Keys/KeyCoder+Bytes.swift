// SPDX-License-Identifier: MIT

public import Foundation
import LarderCore

extension KeyCoder where Key == String {
  /// Text as UTF-8 in its composed form (NFC), which is what Swift compares: keeps prefixes,
  /// and the order of Unicode's numbers.
  ///
  /// Keys begin with a prefix if their composed forms do: "e" does not begin "é".
  ///
  /// - Complexity: O(bytes), without an allocation for ASCII and for most text that is
  ///   composed; what has to be composed takes some microseconds.
  public static var string: KeyCoder<String> {
    KeyCoder(
      .text, keepsOrder: true, keepsPrefixes: true,
      borrow: { key, body in
        var text = key
        let isDone = try text.withUTF8 { text in
          let bytes = UnsafeRawBufferPointer(text)
          if !bytes.isASCII { return false }
          try body(StoreKey(bytes))
          return true
        }
        if isDone { return }
        let others = CanonicalText.hasOneForm(text) ? .none : StoreKeyForms.text(text)
        var composed = CanonicalText.composed(text)
        try composed.withUTF8 { try body(StoreKey(UnsafeRawBufferPointer($0), others: others)) }
      },
      decode: { bytes in
        guard let text = String(validating: bytes, as: UTF8.self) else { throw unfit(bytes) }
        return text
      })
  }
}

extension KeyCoder where Key == Data {
  /// Bytes as they are: keeps order and prefixes. Opens a folder with keys of any type, as what
  /// their bytes are.
  ///
  /// - Complexity: O(1) to encode, O(bytes) to decode.
  public static var data: KeyCoder<Data> {
    KeyCoder(
      .unknown, keepsOrder: true, keepsPrefixes: true,
      borrow: { key, body in try key.withUnsafeBytes { try body(StoreKey($0)) } },
      decode: { Data(copied: $0) })
  }
}

extension KeyCoder where Key == Data {
  /// As ``data``; but where keys are text, the forms of one text are one key.
  ///
  /// - Parameter isText: Whether the folder's keys are.
  package static func data(isText: @escaping @Sendable () -> Bool) -> KeyCoder<Data> {
    let (plain, string) = (KeyCoder<Data>.data, KeyCoder<String>.string)
    return KeyCoder(
      .unknown, keepsOrder: true, keepsPrefixes: true,
      borrow: { key, body in
        guard isText(), let text = String(validating: key, as: UTF8.self) else {
          return try plain.borrow(key, body)
        }
        try string.borrow(text, body)
      },
      decode: { Data(copied: $0) })
  }
}

extension KeyCoder where Key == [UInt8] {
  /// Bytes as they are: keeps order and prefixes. Opens a folder with keys of any type, as what
  /// their bytes are.
  ///
  /// - Complexity: O(1) to encode, O(bytes) to decode.
  public static var bytes: KeyCoder<[UInt8]> {
    KeyCoder(
      .unknown, keepsOrder: true, keepsPrefixes: true,
      borrow: { key, body in try key.withUnsafeBytes { try body(StoreKey($0)) } },
      decode: { [UInt8]($0) })
  }
}

extension KeyCoder where Key == UUID {
  /// The 16 bytes of a UUID: keeps its order.
  ///
  /// - Complexity: O(1), without an allocation.
  public static var uuid: KeyCoder<UUID> {
    KeyCoder(
      .uuid, keepsOrder: true, keepsPrefixes: false,
      borrow: { key, body in try withUnsafeBytes(of: key.uuid) { try body(StoreKey($0)) } },
      decode: { bytes in
        guard bytes.count == MemoryLayout<uuid_t>.size else { throw unfit(bytes) }
        return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
      })
  }
}
