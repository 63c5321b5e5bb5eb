// SPDX-License-Identifier: MIT
import Foundation

/// One JSON object, written as one line with its keys in the order they are added.
///
/// Written by hand because messages go through it by the million, and because `JSONEncoder` cannot
/// keep an order of its own.
struct JSONObject {
  /// The object so far, without its closing brace.
  private var text: [UInt8] = [UInt8(ascii: "{")]

  mutating func add(_ key: String, _ value: some BinaryInteger) {
    add(key, raw: String(value))
  }

  mutating func add(_ key: String, _ value: UInt64?) {
    add(key, raw: value.map { String($0) } ?? "null")
  }

  mutating func add(_ key: String, _ value: Bool) {
    add(key, raw: value ? "true" : "false")
  }

  /// Microseconds are kept; `value` is finite.
  mutating func add(_ key: String, _ value: Double) {
    add(key, raw: Quantity.decimals(value, 6))
  }

  mutating func add(_ key: String, _ value: String?) {
    guard var value else { return add(key, raw: "null") }
    addKey(key)
    value.withUTF8 { addString(UnsafeRawBufferPointer($0)) }
  }

  mutating func add(_ key: String, _ values: [JSONObject]) {
    add(key, raw: "[" + values.map(\.line).joined(separator: ",") + "]")
  }

  /// Adds bytes of any kind: under `message` as a string if they are UTF-8, else under `base64`.
  mutating func add(message payload: UnsafeRawBufferPointer) {
    if String(validating: payload, as: UTF8.self) != nil {
      addKey("message")
      addString(payload)
    } else {
      add("base64", Data(payload).base64EncodedString())
    }
  }

  mutating func removeAll() {
    text.removeAll(keepingCapacity: true)
    text.append(UInt8(ascii: "{"))
  }

  /// Writes the object and a newline.
  func write(to output: inout StandardOutput) throws {
    try text.withUnsafeBytes { try output.write($0) }
    try output.write("}\n")
  }

  /// The object without a newline.
  var line: String { String(decoding: text, as: UTF8.self) + "}" }

  private mutating func add(_ key: String, raw value: String) {
    addKey(key)
    text.append(contentsOf: value.utf8)
  }

  private mutating func addKey(_ key: String) {
    if text.count > 1 { text.append(UInt8(ascii: ",")) }
    text.append(UInt8(ascii: "\""))
    text.append(contentsOf: key.utf8)
    text.append(contentsOf: "\":".utf8)
  }

  /// RFC 8259, section 7: quotation mark, backslash and the control characters are escaped.
  private mutating func addString(_ utf8: UnsafeRawBufferPointer) {
    text.reserveCapacity(text.count + utf8.count + 2)
    text.append(UInt8(ascii: "\""))
    var plain = 0
    for (index, byte) in utf8.enumerated()
    where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
      text.append(contentsOf: utf8[plain..<index])
      plain = index + 1
      switch byte {
      case UInt8(ascii: "\n"): text.append(contentsOf: "\\n".utf8)
      case UInt8(ascii: "\r"): text.append(contentsOf: "\\r".utf8)
      case UInt8(ascii: "\t"): text.append(contentsOf: "\\t".utf8)
      case 0..<0x20:
        let hexadecimal = Array("0123456789abcdef".utf8)
        text.append(contentsOf: "\\u00".utf8)
        text.append(hexadecimal[Int(byte >> 4)])
        text.append(hexadecimal[Int(byte & 15)])
      default:
        text.append(UInt8(ascii: "\\"))
        text.append(byte)
      }
    }
    text.append(contentsOf: utf8[plain...])
    text.append(UInt8(ascii: "\""))
  }
}
