// SPDX-License-Identifier: MIT

extension [UInt8] {
  /// Appends UTF-8 as a JSON string with its quotation marks.
  ///
  /// RFC 8259, section 7: quotation mark, backslash and the control characters are escaped.
  mutating func appendJSON(string utf8: UnsafeRawBufferPointer) {
    reserveCapacity(count + utf8.count + 2)
    append(UInt8(ascii: "\""))
    var plain = 0
    for (index, byte) in utf8.enumerated()
    where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
      append(contentsOf: utf8[plain..<index])
      plain = index + 1
      switch byte {
      case UInt8(ascii: "\n"): append(contentsOf: "\\n".utf8)
      case UInt8(ascii: "\r"): append(contentsOf: "\\r".utf8)
      case UInt8(ascii: "\t"): append(contentsOf: "\\t".utf8)
      case 0..<0x20:
        let hexadecimal = Array("0123456789abcdef".utf8)
        append(contentsOf: "\\u00".utf8)
        append(hexadecimal[Int(byte >> 4)])
        append(hexadecimal[Int(byte & 15)])
      default:
        append(UInt8(ascii: "\\"))
        append(byte)
      }
    }
    append(contentsOf: utf8[plain...])
    append(UInt8(ascii: "\""))
  }

  mutating func appendJSON(string: String) {
    var string = string
    string.withUTF8 { appendJSON(string: UnsafeRawBufferPointer($0)) }
  }
}
