// SPDX-License-Identifier: MIT

import Foundation

extension CBORValue: CustomStringConvertible {
  /// The item in diagnostic notation (RFC 8949, section 8): `{"a": h'01', 1: 2.0}`.
  public var description: String {
    switch self {
    case .unsigned(let number): "\(number)"
    case .negative(let number): "\(-1 - Int128(number))"
    case .bytes(let bytes): "h'" + bytes.hexadecimal + "'"
    case .text(let text): Self.quoted(text)
    case .array(let elements): "[" + elements.map(\.description).joined(separator: ", ") + "]"
    case .map(let pairs):
      "{" + pairs.map { "\($0.key): \($0.value)" }.joined(separator: ", ") + "}"
    case .tagged(let tag, let content): Self.bignum(tag, content) ?? "\(tag)(\(content))"
    case .simple(let number): "simple(\(number))"
    case .bool(let bool): "\(bool)"
    case .null: "null"
    case .undefined: "undefined"
    case .float(let number):
      number.isNaN
        ? "NaN" : number.isInfinite ? (number < 0 ? "-Infinity" : "Infinity") : "\(number)"
    }
  }

  /// A bignum is written as the number it is, while 128 bits suffice.
  private static func bignum(_ tag: UInt64, _ content: CBORValue) -> String? {
    guard tag == CBORTag.bignum || tag == CBORTag.bignum + 1, case .bytes(let bytes) = content,
      bytes.count <= 15
    else { return nil }
    let argument = bytes.reduce(Int128(0)) { $0 << 8 | Int128($1) }
    return "\(tag == CBORTag.bignum ? argument : ~argument)"
  }

  /// Quoted as in JSON.
  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\\\""
      case "\\": quoted += "\\\\"
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\t": quoted += "\\t"
      case "\0"..<" ": quoted += "\\u00" + [UInt8(scalar.value)].hexadecimal
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
