// SPDX-License-Identifier: MIT

import Foundation
import LarderCore

extension Data {
  /// Bytes from pairs of hexadecimal digits; spaces are skipped, anything else ends them.
  init(hex: String) {
    self.init()
    var high: UInt8?
    for character in hex where character != " " {
      guard let digit = character.hexDigitValue.map(UInt8.init) else { return }
      if let first = high {
        append(first << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
  }

  /// Pairs of hexadecimal digits.
  var hex: String {
    var text = ""
    text.reserveCapacity(count * 2)
    for byte in self {
      if byte < 16 { text += "0" }
      text += String(byte, radix: 16)
    }
    return text
  }
}

/// A coding key of any name.
struct Name: CodingKey, Hashable, Sendable, ExpressibleByStringLiteral {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) {
    self.stringValue = stringValue
    self.intValue = nil
  }

  init(intValue: Int) {
    self.stringValue = String(intValue)
    self.intValue = intValue
  }

  init(stringLiteral value: String) { self.init(stringValue: value) }
}

/// What an encoder or decoder threw, so that two of them can be compared.
///
/// Texts and types are left out: they are for people.
enum CodingFailure: Equatable, CustomStringConvertible {
  case missingKey(String, [String])
  case missingValue([String])
  case otherType([String])
  case corrupted([String])
  case invalidValue([String])
  case other(String)

  init(_ error: any Error) {
    switch error {
    case DecodingError.keyNotFound(let key, let context):
      self = .missingKey(Self.text(key), Self.path(context.codingPath))
    case DecodingError.valueNotFound(_, let context):
      self = .missingValue(Self.path(context.codingPath))
    case DecodingError.typeMismatch(_, let context):
      self = .otherType(Self.path(context.codingPath))
    case DecodingError.dataCorrupted(let context):
      self = .corrupted(Self.path(context.codingPath))
    case EncodingError.invalidValue(_, let context):
      self = .invalidValue(Self.path(context.codingPath))
    default: self = .other("\(error)")
    }
  }

  /// Each key's name and number.
  static func path(_ keys: [any CodingKey]) -> [String] { keys.map(text) }

  private static func text(_ key: any CodingKey) -> String {
    key.intValue.map { "\(key.stringValue)#\($0)" } ?? key.stringValue
  }

  var description: String {
    switch self {
    case .missingKey(let key, let path): "keyNotFound \(key) at \(path)"
    case .missingValue(let path): "valueNotFound at \(path)"
    case .otherType(let path): "typeMismatch at \(path)"
    case .corrupted(let path): "dataCorrupted at \(path)"
    case .invalidValue(let path): "invalidValue at \(path)"
    case .other(let text): text
    }
  }
}

/// What `body` throws; nil if it throws nothing.
func failure<R>(of body: () throws -> R) -> CodingFailure? {
  do {
    _ = try body()
    return nil
  } catch {
    return CodingFailure(error)
  }
}

/// The bytes of a value.
func cbor(_ value: some Encodable, deterministic: Bool = false) throws -> Data {
  var encoder = CBOREncoder()
  encoder.isDeterministic = deterministic
  return try encoder.encode(value)
}

/// The value of some bytes, given in hexadecimal digits.
func value<T: Decodable>(_ type: T.Type, hex: String) throws -> T {
  try CBORDecoder().decode(type, from: Data(hex: hex))
}

/// What comes back of a value that is encoded and decoded.
func roundTrip<T: Codable>(_ value: T) throws -> T {
  try CBORDecoder().decode(T.self, from: CBOREncoder().encode(value))
}
