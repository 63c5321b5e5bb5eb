// SPDX-License-Identifier: MIT

/// What a terminal would obey, as text: messages, keys, values and paths come from anywhere.
enum TerminalText {
  /// Spells control characters, characters that turn the direction of text, and bytes that are not
  /// UTF-8 as `\x1B` or `\u{202E}`.
  ///
  /// - Parameter isLine: Spells tabs and newlines, too.
  static func escaped(_ bytes: UnsafeRawBufferPointer, isLine: Bool = false) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count)
    var parser = Unicode.UTF8.ForwardParser()
    var iterator = bytes.makeIterator()
    var offset = 0
    while true {
      switch parser.parseScalar(from: &iterator) {
      case .emptyInput: return text
      case .error(let length):
        for byte in bytes[offset..<offset + length] { append(UInt32(byte), "x", to: &text) }
        offset += length
      case .valid(let encoded):
        offset += encoded.count
        let scalar = Unicode.UTF8.decode(encoded)
        let isKept = !isLine && (scalar == "\n" || scalar == "\t")
        if isKept || !scalar.isControlling {
          text.append(contentsOf: encoded)
        } else {
          append(scalar.value, scalar.isASCII ? "x" : "u", to: &text)
        }
      }
    }
  }

  static func escaped(_ text: String, isLine: Bool = false) -> String {
    var text = text
    let escaped = text.withUTF8 { Self.escaped(UnsafeRawBufferPointer($0), isLine: isLine) }
    return String(decoding: escaped, as: UTF8.self)
  }

  private static func append(_ value: UInt32, _ kind: String, to text: inout [UInt8]) {
    let digits = String(value, radix: 16, uppercase: true)
    let padded = digits.count < 2 ? "0" + digits : digits
    text.append(contentsOf: (kind == "x" ? "\\x\(padded)" : "\\u{\(padded)}").utf8)
  }
}

extension UnicodeScalar {
  /// Whether a terminal acts on it instead of showing it: C0, DEL and C1, what turns the direction
  /// of text, and what ends a line in Unicode.
  var isControlling: Bool {
    switch value {
    case 0..<0x20, 0x7F..<0xA0, 0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}
