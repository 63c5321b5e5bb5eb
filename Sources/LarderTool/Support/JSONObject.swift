// SPDX-License-Identifier: MIT
import Foundation

/// One JSON object, written as one line with its keys in the order they are added.
///
/// Written by hand because messages go through it by the million, and because `JSONEncoder` cannot
/// keep an order of its own.
package struct JSONObject {
  /// The object so far, without its closing brace.
  private var text: [UInt8] = [UInt8(ascii: "{")]

  package init() {}

  package mutating func add(_ key: String, _ value: some BinaryInteger) {
    add(key, raw: String(value))
  }

  package mutating func add(_ key: String, _ value: (some BinaryInteger)?) {
    add(key, raw: value.map { String($0) } ?? "null")
  }

  package mutating func add(_ key: String, _ value: Bool) {
    add(key, raw: value ? "true" : "false")
  }

  /// Microseconds are kept; `value` is finite.
  package mutating func add(_ key: String, _ value: Double) {
    add(key, raw: Quantity.decimals(value, 6))
  }

  package mutating func add(_ key: String, _ value: Double?) {
    if let value { add(key, value) } else { add(key, raw: "null") }
  }

  package mutating func add(_ key: String, _ value: String?) {
    guard let value else { return add(key, raw: "null") }
    addKey(key)
    text.appendJSON(string: value)
  }

  package mutating func add(_ key: String, _ values: [JSONObject]) {
    add(key, raw: "[" + values.map(\.line).joined(separator: ",") + "]")
  }

  /// Adds bytes of any kind: under `message` as a string if they are UTF-8, else under `base64`.
  mutating func add(message payload: UnsafeRawBufferPointer) {
    if String(validating: payload, as: UTF8.self) != nil {
      addKey("message")
      text.appendJSON(string: payload)
    } else {
      add("base64", Data(payload).base64EncodedString())
    }
  }

  /// Adds what is JSON already.
  package mutating func add(_ key: String, json: [UInt8]) {
    addKey(key)
    text.append(contentsOf: json)
  }

  mutating func removeAll() {
    text.removeAll(keepingCapacity: true)
    text.append(UInt8(ascii: "{"))
  }

  /// Writes the object and a newline.
  package func write(to output: inout StandardOutput) throws {
    try text.withUnsafeBytes { try output.write($0) }
    try output.write("}\n")
  }

  /// The object without a newline.
  package var line: String { String(decoding: text, as: UTF8.self) + "}" }

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
}
