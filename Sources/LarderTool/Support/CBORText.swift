// SPDX-License-Identifier: MIT
import Foundation
package import LarderCore

/// Turns CBOR into one line of JSON, for people and for programs such as `jq`.
///
/// RFC 8949, section 6.1, says how; where JSON can say more than that section asks for, it does:
///
///     integer, bignum (tags 2, 3)   number; a bignum of more than 128 bits as its bytes, after "~"
///                                   if it is negative
///     float                         number, 3.0 if it is integral; null if it is not finite
///     decimal fraction (tag 4)      number
///     text                          string
///     bytes                         string, base64url without padding, or as tags 21 to 23 say
///     date (tags 0, 1)              string, as in RFC 3339, in UTC if it was a number
///     UUID (tag 37)                 string
///     array, map                    array, object; its keys in order, those that are no text as
///                                   decimal digits or in CBOR's diagnostic notation
///     other tags                    what they enclose
///     null, undefined, simple       null
package struct CBORText {
  /// What the last conversion gave.
  package private(set) var json: [UInt8] = []
  private var byteText = ByteText.base64url

  package init() {}

  /// Converts one CBOR item. `json` is its text afterwards, without a newline.
  /// - Throws: `DecodingError` if the bytes are not exactly one valid item; `json` is empty then.
  package mutating func convert(_ bytes: UnsafeRawBufferPointer) throws {
    json.removeAll(keepingCapacity: true)
    add(try CBORValue(bytes))
  }

  /// Converts an item that was read already.
  package mutating func convert(_ value: CBORValue) {
    json.removeAll(keepingCapacity: true)
    add(value)
  }

  private mutating func add(_ value: CBORValue) {
    switch value {
    case .unsigned(let number): add(raw: String(number))
    case .negative(let number): add(raw: "-\(UInt128(number) + 1)")
    case .float(let number): add(raw: number.isFinite ? number.description : "null")
    case .text(let text): json.appendJSON(string: text)
    case .bytes(let bytes): json.appendJSON(string: byteText.text(bytes))
    case .bool(let value): add(raw: value ? "true" : "false")
    case .null, .undefined, .simple: add(raw: "null")
    case .tagged(let tag, let content): add(content, tag: tag)
    case .array(let items):
      json.append(UInt8(ascii: "["))
      for (index, item) in items.enumerated() {
        if index > 0 { json.append(UInt8(ascii: ",")) }
        add(item)
      }
      json.append(UInt8(ascii: "]"))
    case .map(let pairs):
      json.append(UInt8(ascii: "{"))
      for (index, pair) in pairs.enumerated() {
        if index > 0 { json.append(UInt8(ascii: ",")) }
        add(key: pair.key)
        json.append(UInt8(ascii: ":"))
        add(pair.value)
      }
      json.append(UInt8(ascii: "}"))
    }
  }

  private mutating func add(key: CBORValue) {
    switch key {
    case .text(let text): json.appendJSON(string: text)
    case .unsigned(let number): json.appendJSON(string: String(number))
    case .negative(let number): json.appendJSON(string: "-\(UInt128(number) + 1)")
    default: json.appendJSON(string: key.description)
    }
  }

  private mutating func add(_ content: CBORValue, tag: UInt64) {
    switch (tag, content) {
    case (1, _):
      if let date = CBORNumberText.date(content) { return json.appendJSON(string: date) }
    case (2...3, .bytes(let bytes)):
      if let digits = CBORNumberText.integer(.tagged(tag, content)) { return add(raw: digits) }
      return json.appendJSON(string: (tag == 3 ? "~" : "") + ByteText.base64url.text(bytes))
    case (4, .array(let parts)):
      if let number = CBORNumberText.decimal(parts) { return add(raw: number) }
    case (21...23, _):
      let outer = byteText
      byteText = tag == 21 ? .base64url : tag == 22 ? .base64 : .base16
      add(content)
      byteText = outer
      return
    case (37, .bytes(let bytes)) where bytes.count == 16:
      let uuid = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
      return json.appendJSON(string: uuid.uuidString)
    default: break
    }
    add(content)
  }

  private mutating func add(raw text: String) { json.append(contentsOf: text.utf8) }

  /// How byte strings are written: base64url, unless tags 21 to 23 ask for something else.
  private enum ByteText {
    case base64url, base64, base16

    func text(_ bytes: Data) -> String {
      switch self {
      case .base64: return bytes.base64EncodedString()
      case .base16: return bytes.hexadecimal
      case .base64url:
        return String(
          bytes.base64EncodedString().compactMap { character in
            switch character {
            case "+": "-"
            case "/": "_"
            case "=": nil
            default: character
            }
          })
      }
    }
  }
}
