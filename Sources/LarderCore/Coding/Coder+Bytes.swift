// SPDX-License-Identifier: MIT

public import Foundation

extension Coder where Value == Data {
  /// Bytes as they are; format `data`.
  ///
  /// Nothing is copied on the way into a log, and once on the way out.
  ///
  /// ```swift
  /// let log = try MessageLog(
  ///   at: .url(url), capacity: 1.megabytes, whenFull: .overwriteOldest, coder: .data)
  /// try log.append(Data("hello".utf8))
  /// ```
  ///
  /// - Complexity: O(1) to encode, O(bytes) to decode.
  public static var data: Coder<Data> {
    Coder(
      format: "data", isIdentity: true, encode: { $0 },
      borrow: { value, body in try value.withUnsafeBytes { try body($0) } },
      decode: { bytes in Data(copying: bytes) })
  }
}

extension Coder where Value == String {
  /// Text as UTF-8; format `utf8`.
  ///
  /// Decoding bytes that are not UTF-8 fails with `.decoding`, so that what comes
  /// out is what went in.
  ///
  /// - Complexity: O(bytes).
  public static var string: Coder<String> {
    Coder(
      format: "utf8", encode: { Data($0.utf8) },
      borrow: { value, body in
        var text = value
        return try text.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
      },
      decode: { bytes in
        guard let text = String(validating: bytes, as: UTF8.self) else {
          throw CocoaError(.fileReadInapplicableStringEncoding)
        }
        return text
      })
  }
}

extension Data {
  /// A copy of `bytes`, by the initialiser that does not go through `Sequence`.
  @inlinable
  init(copying bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else {
      self.init()
      return
    }
    self.init(bytes: start, count: bytes.count)
  }
}
