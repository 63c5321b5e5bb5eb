// SPDX-License-Identifier: MIT
import Foundation

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

  /// The width of the terminal that a descriptor leads to; nil if it leads elsewhere.
  static func columns(of descriptor: CInt) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }

  /// As much of a line as fits into so many columns, with `…` for what does not.
  static func prefix(_ line: String, columns: Int) -> String {
    guard line.reduce(0, { $0 + width($1) }) > columns else { return line }
    var rest = columns - 1
    let start = line.prefix {
      rest -= width($0)
      return rest >= 0
    }
    return start + (columns > 0 ? "…" : "")
  }

  /// How many columns a character takes: two if it is wide, as those of East Asia and emoji are.
  private static func width(_ character: Character) -> Int {
    character.unicodeScalars.map { scalar in
      if [.nonspacingMark, .enclosingMark, .format].contains(scalar.properties.generalCategory) {
        // This one asks for the picture of what would be text.
        return scalar.value == 0xFE0F ? 2 : 0
      }
      switch scalar.value {
      case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3,
        0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F000...0x1FAFF,
        0x20000...0x3FFFD:
        return 2
      default: return 1
      }
    }.max() ?? 0
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
