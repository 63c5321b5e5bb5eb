// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport

// As in the file about integers, each method calls the overload for its own type.

extension Bool: Leaf {
  static let shape = LeafShape.bool
  static func make(_ generator: inout SeededGenerator, plain: Bool) -> Bool {
    Bool.random(using: &generator)
  }
  func write(_ container: inout KeyedEncodingContainer<Name>, _ key: Name) throws {
    try container.encode(self, forKey: key)
  }
  func write(_ container: inout any UnkeyedEncodingContainer) throws { try container.encode(self) }
  func write(_ container: inout any SingleValueEncodingContainer) throws {
    try container.encode(self)
  }
  static func read(_ container: KeyedDecodingContainer<Name>, _ key: Name) throws -> Bool {
    try container.decode(Bool.self, forKey: key)
  }
  static func read(_ container: inout any UnkeyedDecodingContainer) throws -> Bool {
    try container.decode(Bool.self)
  }
  static func read(_ container: any SingleValueDecodingContainer) throws -> Bool {
    try container.decode(Bool.self)
  }
}

extension String: Leaf {
  static let shape = LeafShape.text
  static func make(_ generator: inout SeededGenerator, plain: Bool) -> String {
    let count = Int.random(in: 0..<30, using: &generator)
    let alphabet: [Character] = ["a", "Z", "0", " ", "\"", "\\", "/", "\0", "\n", "ü", "水", "👩‍👩‍👧"]
    return String((0..<count).map { _ in alphabet.randomElement(using: &generator) ?? "a" })
  }
  func write(_ container: inout KeyedEncodingContainer<Name>, _ key: Name) throws {
    try container.encode(self, forKey: key)
  }
  func write(_ container: inout any UnkeyedEncodingContainer) throws { try container.encode(self) }
  func write(_ container: inout any SingleValueEncodingContainer) throws {
    try container.encode(self)
  }
  static func read(_ container: KeyedDecodingContainer<Name>, _ key: Name) throws -> String {
    try container.decode(String.self, forKey: key)
  }
  static func read(_ container: inout any UnkeyedDecodingContainer) throws -> String {
    try container.decode(String.self)
  }
  static func read(_ container: any SingleValueDecodingContainer) throws -> String {
    try container.decode(String.self)
  }
}

extension Float: Leaf {
  static let shape = LeafShape.float
  static func make(_ generator: inout SeededGenerator, plain: Bool) -> Float {
    if plain || Bool.random(using: &generator) {
      return Float(Int.random(in: -4_096...4_096, using: &generator)) / 16
    }
    let any = Float(bitPattern: .random(in: .min ... .max, using: &generator))
    return any.isFinite ? any : .greatestFiniteMagnitude
  }
  func write(_ container: inout KeyedEncodingContainer<Name>, _ key: Name) throws {
    try container.encode(self, forKey: key)
  }
  func write(_ container: inout any UnkeyedEncodingContainer) throws { try container.encode(self) }
  func write(_ container: inout any SingleValueEncodingContainer) throws {
    try container.encode(self)
  }
  static func read(_ container: KeyedDecodingContainer<Name>, _ key: Name) throws -> Float {
    try container.decode(Float.self, forKey: key)
  }
  static func read(_ container: inout any UnkeyedDecodingContainer) throws -> Float {
    try container.decode(Float.self)
  }
  static func read(_ container: any SingleValueDecodingContainer) throws -> Float {
    try container.decode(Float.self)
  }
}

extension Double: Leaf {
  static let shape = LeafShape.float
  static func make(_ generator: inout SeededGenerator, plain: Bool) -> Double {
    if plain || Bool.random(using: &generator) {
      return Double(Int.random(in: -4_096...4_096, using: &generator)) / 16
    }
    let any = Double(bitPattern: .random(in: .min ... .max, using: &generator))
    return any.isFinite ? any : .greatestFiniteMagnitude
  }
  func write(_ container: inout KeyedEncodingContainer<Name>, _ key: Name) throws {
    try container.encode(self, forKey: key)
  }
  func write(_ container: inout any UnkeyedEncodingContainer) throws { try container.encode(self) }
  func write(_ container: inout any SingleValueEncodingContainer) throws {
    try container.encode(self)
  }
  static func read(_ container: KeyedDecodingContainer<Name>, _ key: Name) throws -> Double {
    try container.decode(Double.self, forKey: key)
  }
  static func read(_ container: inout any UnkeyedDecodingContainer) throws -> Double {
    try container.decode(Double.self)
  }
  static func read(_ container: any SingleValueDecodingContainer) throws -> Double {
    try container.decode(Double.self)
  }
}
