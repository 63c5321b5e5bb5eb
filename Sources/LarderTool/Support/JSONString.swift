// SPDX-License-Identifier: MIT

extension [UInt8] {
  /// Appends UTF-8 as a JSON string with its quotation marks.
  ///
  /// RFC 8259, section 7: quotation mark, backslash and the control characters are escaped; and so
  /// is what else a terminal would obey, and what ends a line in JavaScript.
  mutating func appendJSON(string utf8: UnsafeRawBufferPointer) {
    reserveCapacity(count + utf8.count + 2)
    append(UInt8(ascii: "\""))
    var plain = 0
    for (index, byte) in utf8.enumerated() {
      guard let scalar = Self.escapedInJSON(byte, utf8, index) else { continue }
      append(contentsOf: utf8[plain..<index])
      plain = index + UTF8.width(scalar)
      switch scalar {
      case "\n": append(contentsOf: "\\n".utf8)
      case "\r": append(contentsOf: "\\r".utf8)
      case "\t": append(contentsOf: "\\t".utf8)
      case "\"", "\\":
        append(UInt8(ascii: "\\"))
        append(byte)
      default:
        let digits = String(scalar.value, radix: 16)
        append(contentsOf: ("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8)
      }
    }
    append(contentsOf: utf8[plain...])
    append(UInt8(ascii: "\""))
  }

  /// The character that begins at `index` if it cannot stand in a string; it has at most 3 bytes.
  @inline(__always)
  private static func escapedInJSON(
    _ byte: UInt8, _ utf8: UnsafeRawBufferPointer, _ index: Int
  ) -> UnicodeScalar? {
    func next(_ distance: Int) -> UInt32 {
      index + distance < utf8.count ? UInt32(utf8[index + distance] & 0x3F) : 0
    }
    var value = UInt32(byte)
    switch byte {
    case 0..<0x20, 0x7F, UInt8(ascii: "\""), UInt8(ascii: "\\"):
      return UnicodeScalar(byte)
    case 0xC2, 0xD8: value = (value & 0x1F) << 6 | next(1)
    case 0xE2: value = (value & 0xF) << 12 | next(1) << 6 | next(2)
    default: return nil
    }
    return UnicodeScalar(value).flatMap { $0.isControlling ? $0 : nil }
  }

  mutating func appendJSON(string: String) {
    var string = string
    string.withUTF8 { appendJSON(string: UnsafeRawBufferPointer($0)) }
  }
}
