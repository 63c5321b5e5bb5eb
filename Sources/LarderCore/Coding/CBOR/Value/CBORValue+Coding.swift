// SPDX-License-Identifier: MIT

import CLarder
import Foundation

extension CBORWriter {
  /// Writes an item.
  func write(_ value: CBORValue, at path: () -> CBORPath?) throws {
    switch value {
    case .unsigned(let number): writeHead(LARDER_CBOR_UNSIGNED, number)
    case .negative(let number): writeHead(LARDER_CBOR_NEGATIVE, number)
    case .bytes(let bytes): write(bytes)
    case .text(let text): write(text)
    case .array(let elements):
      writeHead(LARDER_CBOR_ARRAY, UInt64(elements.count))
      try nest(value, path) { for element in elements { try write(element, at: path) } }
    case .map(let pairs):
      writeHead(LARDER_CBOR_MAP, UInt64(pairs.count))
      try nest(value, path) {
        for pair in pairs {
          try write(pair.key, at: path)
          try write(pair.value, at: path)
        }
      }
    case .tagged(let tag, let content):
      writeHead(LARDER_CBOR_TAG, tag)
      try nest(value, path) { try write(content, at: path) }
    case .simple(let number):
      guard !(20..<32).contains(number) else {
        throw EncodingError.invalidValue(
          value,
          EncodingError.Context(
            codingPath: path().keys, debugDescription: "No simple value has the number \(number)."))
      }
      writeHead(LARDER_CBOR_SIMPLE, UInt64(number))
    case .bool(let bool): write(bool)
    case .null: writeNil()
    case .undefined: write(byte: LARDER_CBOR_UNDEFINED)
    case .float(let number): write(number)
    }
  }

  /// Goes a level deeper, if there is one left.
  private func nest(
    _ value: CBORValue, _ path: () -> CBORPath?, _ body: () throws -> Void
  ) throws {
    guard depth < depthLimit else { throw tooDeep(value, path()) }
    depth += 1
    defer { depth -= 1 }
    deepest = max(deepest, depth + (top < 0 ? 0 : Int(items[Int(top)].depth)))
    try body()
  }
}

extension CBORSource {
  /// The item at `offset`; the check of the input has bounded how deep it goes.
  func value(at offset: Int) throws(CBORFault) -> CBORValue {
    var offset = offset
    return try value(from: &offset)
  }

  private func value(from offset: inout Int) throws(CBORFault) -> CBORValue {
    let start = offset
    let head = try rawHead(at: offset)
    offset += Int(head.length)
    switch Int(head.major) {
    case LARDER_CBOR_UNSIGNED: return .unsigned(head.argument)
    case LARDER_CBOR_NEGATIVE: return .negative(head.argument)
    case LARDER_CBOR_BYTES:
      offset = try end(of: start)
      return .bytes(try data(at: start))
    case LARDER_CBOR_TEXT:
      offset = try end(of: start)
      return .text(try string(at: start))
    case LARDER_CBOR_ARRAY:
      var elements: [CBORValue] = []
      try forEach(head, &offset) { offset throws(CBORFault) in
        elements.append(try value(from: &offset))
      }
      return .array(elements)
    case LARDER_CBOR_MAP:
      var pairs: [CBORValue.Pair] = []
      try forEach(head, &offset) { offset throws(CBORFault) in
        pairs.append(CBORValue.Pair(try value(from: &offset), try value(from: &offset)))
      }
      return .map(pairs)
    case LARDER_CBOR_TAG: return .tagged(head.argument, try value(from: &offset))
    default: return try simple(head)
    }
  }

  /// Calls `body` for each entry of a container, of a length that is known or not.
  private func forEach(
    _ head: larder_cbor_head, _ offset: inout Int,
    _ body: (inout Int) throws(CBORFault) -> Void
  ) throws(CBORFault) {
    if Int(head.info) == LARDER_CBOR_INFO_INDEFINITE {
      while let bytes, offset < count, Int(bytes[offset]) != LARDER_CBOR_BREAK {
        try body(&offset)
      }
      offset += 1
    } else {
      var left = head.argument
      while left > 0 {
        try body(&offset)
        left -= 1
      }
    }
  }

  private func simple(_ head: larder_cbor_head) throws(CBORFault) -> CBORValue {
    switch Int(head.info) {
    case LARDER_CBOR_FALSE & 31: return .bool(false)
    case LARDER_CBOR_TRUE & 31: return .bool(true)
    case LARDER_CBOR_NULL & 31: return .null
    case LARDER_CBOR_UNDEFINED & 31: return .undefined
    case LARDER_CBOR_INFO_HALF, LARDER_CBOR_INFO_SINGLE, LARDER_CBOR_INFO_DOUBLE:
      return .float(try float(head))
    case 0...24: return .simple(UInt8(truncatingIfNeeded: head.argument))
    default: throw .unreadable
    }
  }
}

extension CBORValue: Codable {
  /// Writes the item by a coder that is not of CBOR, as near as that can come: bytes
  /// as `Data`, without tags, `undefined` and simple values as null. ``CBOREncoder``
  /// writes it as it is.
  ///
  /// - Throws: What the encoder throws.
  /// - Complexity: The encoder's own.
  public func encode(to encoder: any Encoder) throws {
    if let encoding = encoder as? CBOREncoding {
      // Somebody passed our encoder on by hand; as a value it is written as it is.
      return try encoding.encode(self)
    }
    switch self {
    case .array(let elements):
      var container = encoder.unkeyedContainer()
      for element in elements { try container.encode(element) }
    case .map(let pairs):
      var container = encoder.container(keyedBy: CBORKey.self)
      for pair in pairs { try container.encode(pair.value, forKey: pair.key.codingKey) }
    case .tagged(_, let content): try content.encode(to: encoder)
    default:
      var container = encoder.singleValueContainer()
      switch self {
      case .unsigned(let number): try container.encode(number)
      case .negative(let number):
        if let number = Int64(exactly: number) {
          try container.encode(~number)
        } else {
          try container.encode(~Int128(number))
        }
      case .bytes(let bytes): try container.encode(bytes)
      case .text(let text): try container.encode(text)
      case .bool(let bool): try container.encode(bool)
      case .float(let number): try container.encode(number)
      default: try container.encodeNil()
      }
    }
  }

  /// Reads an item by a coder that is not of CBOR, as what is there can be read as.
  ///
  /// - Throws: What the decoder throws.
  /// - Complexity: The decoder's own.
  public init(from decoder: any Decoder) throws {
    if let decoding = decoder as? CBORDecoding {
      self = try decoding.decode(CBORValue.self)
    } else if let container = try? decoder.container(keyedBy: CBORKey.self) {
      self = .map(
        try container.allKeys.map { key in
          Pair(.text(key.stringValue), try container.decode(CBORValue.self, forKey: key))
        })
    } else if var container = try? decoder.unkeyedContainer() {
      var elements: [CBORValue] = []
      while !container.isAtEnd { elements.append(try container.decode(CBORValue.self)) }
      self = .array(elements)
    } else {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .null
      } else if let bool = try? container.decode(Bool.self) {
        self = .bool(bool)
      } else if let number = try? container.decode(UInt64.self) {
        self = .unsigned(number)
      } else if let number = try? container.decode(Int64.self) {
        self = .negative(UInt64(bitPattern: ~number))
      } else if let number = try? container.decode(Double.self) {
        self = .float(number)
      } else if let text = try? container.decode(String.self) {
        self = .text(text)
      } else {
        self = .bytes(try container.decode(Data.self))
      }
    }
  }

  /// A key for coders that know only text and numbers.
  private var codingKey: CBORKey {
    switch self {
    case .text(let text): CBORKey(stringValue: text)
    default: CBORKey(stringValue: description)
    }
  }
}
