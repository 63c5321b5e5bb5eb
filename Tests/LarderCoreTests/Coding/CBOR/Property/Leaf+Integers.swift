// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport

// Each method calls the overload for its own type: which one is called is settled where the call is
// compiled, so it cannot be written once for all of them.

/// An integer leaf.
protocol IntegerLeaf: Leaf, FixedWidthInteger {}

extension IntegerLeaf {
  static var shape: LeafShape { bitWidth > 64 ? .wideInteger : .integer }

  /// Every magnitude is as likely as any other, the extremes more so.
  static func make(_ generator: inout SeededGenerator, plain: Bool) -> Self {
    switch UInt8.random(in: 0..<8, using: &generator) {
    case 0: .min
    case 1: .max
    default:
      Self.random(in: .min ... .max, using: &generator)
        >> Self(truncatingIfNeeded: Int.random(in: 0..<bitWidth, using: &generator))
    }
  }
}

extension Int: IntegerLeaf {
  func write(_ container: inout KeyedEncodingContainer<Name>, _ key: Name) throws {
    try container.encode(self, forKey: key)
  }
  func write(_ container: inout any UnkeyedEncodingContainer) throws { try container.encode(self) }
  func write(_ container: inout any SingleValueEncodingContainer) throws {
    try container.encode(self)
  }
  static func read(_ container: KeyedDecodingContainer<Name>, _ key: Name) throws -> Int {
    try container.decode(Int.self, forKey: key)
  }
  static func read(_ container: inout any UnkeyedDecodingContainer) throws -> Int {
    try container.decode(Int.self)
  }
  static func read(_ container: any SingleValueDecodingContainer) throws -> Int {
    try container.decode(Int.self)
  }
}

extension Int8: IntegerLeaf {
  func write(_ container: inout KeyedEncodingContainer<Name>, _ key: Name) throws {
    try container.encode(self, forKey: key)
  }
  func write(_ container: inout any UnkeyedEncodingContainer) throws { try container.encode(self) }
  func write(_ container: inout any SingleValueEncodingContainer) throws {
    try container.encode(self)
  }
  static func read(_ container: KeyedDecodingContainer<Name>, _ key: Name) throws -> Int8 {
    try container.decode(Int8.self, forKey: key)
  }
  static func read(_ container: inout any UnkeyedDecodingContainer) throws -> Int8 {
    try container.decode(Int8.self)
  }
  static func read(_ container: any SingleValueDecodingContainer) throws -> Int8 {
    try container.decode(Int8.self)
  }
}

extension Int16: IntegerLeaf {
  func write(_ container: inout KeyedEncodingContainer<Name>, _ key: Name) throws {
    try container.encode(self, forKey: key)
  }
  func write(_ container: inout any UnkeyedEncodingContainer) throws { try container.encode(self) }
  func write(_ container: inout any SingleValueEncodingContainer) throws {
    try container.encode(self)
  }
  static func read(_ container: KeyedDecodingContainer<Name>, _ key: Name) throws -> Int16 {
    try container.decode(Int16.self, forKey: key)
  }
  static func read(_ container: inout any UnkeyedDecodingContainer) throws -> Int16 {
    try container.decode(Int16.self)
  }
  static func read(_ container: any SingleValueDecodingContainer) throws -> Int16 {
    try container.decode(Int16.self)
  }
}

extension Int32: IntegerLeaf {
  func write(_ container: inout KeyedEncodingContainer<Name>, _ key: Name) throws {
    try container.encode(self, forKey: key)
  }
  func write(_ container: inout any UnkeyedEncodingContainer) throws { try container.encode(self) }
  func write(_ container: inout any SingleValueEncodingContainer) throws {
    try container.encode(self)
  }
  static func read(_ container: KeyedDecodingContainer<Name>, _ key: Name) throws -> Int32 {
    try container.decode(Int32.self, forKey: key)
  }
  static func read(_ container: inout any UnkeyedDecodingContainer) throws -> Int32 {
    try container.decode(Int32.self)
  }
  static func read(_ container: any SingleValueDecodingContainer) throws -> Int32 {
    try container.decode(Int32.self)
  }
}

extension Int64: IntegerLeaf {
  func write(_ container: inout KeyedEncodingContainer<Name>, _ key: Name) throws {
    try container.encode(self, forKey: key)
  }
  func write(_ container: inout any UnkeyedEncodingContainer) throws { try container.encode(self) }
  func write(_ container: inout any SingleValueEncodingContainer) throws {
    try container.encode(self)
  }
  static func read(_ container: KeyedDecodingContainer<Name>, _ key: Name) throws -> Int64 {
    try container.decode(Int64.self, forKey: key)
  }
  static func read(_ container: inout any UnkeyedDecodingContainer) throws -> Int64 {
    try container.decode(Int64.self)
  }
  static func read(_ container: any SingleValueDecodingContainer) throws -> Int64 {
    try container.decode(Int64.self)
  }
}

extension Int128: IntegerLeaf {
  func write(_ container: inout KeyedEncodingContainer<Name>, _ key: Name) throws {
    try container.encode(self, forKey: key)
  }
  func write(_ container: inout any UnkeyedEncodingContainer) throws { try container.encode(self) }
  func write(_ container: inout any SingleValueEncodingContainer) throws {
    try container.encode(self)
  }
  static func read(_ container: KeyedDecodingContainer<Name>, _ key: Name) throws -> Int128 {
    try container.decode(Int128.self, forKey: key)
  }
  static func read(_ container: inout any UnkeyedDecodingContainer) throws -> Int128 {
    try container.decode(Int128.self)
  }
  static func read(_ container: any SingleValueDecodingContainer) throws -> Int128 {
    try container.decode(Int128.self)
  }
}

extension UInt: IntegerLeaf {
  func write(_ container: inout KeyedEncodingContainer<Name>, _ key: Name) throws {
    try container.encode(self, forKey: key)
  }
  func write(_ container: inout any UnkeyedEncodingContainer) throws { try container.encode(self) }
  func write(_ container: inout any SingleValueEncodingContainer) throws {
    try container.encode(self)
  }
  static func read(_ container: KeyedDecodingContainer<Name>, _ key: Name) throws -> UInt {
    try container.decode(UInt.self, forKey: key)
  }
  static func read(_ container: inout any UnkeyedDecodingContainer) throws -> UInt {
    try container.decode(UInt.self)
  }
  static func read(_ container: any SingleValueDecodingContainer) throws -> UInt {
    try container.decode(UInt.self)
  }
}

extension UInt8: IntegerLeaf {
  func write(_ container: inout KeyedEncodingContainer<Name>, _ key: Name) throws {
    try container.encode(self, forKey: key)
  }
  func write(_ container: inout any UnkeyedEncodingContainer) throws { try container.encode(self) }
  func write(_ container: inout any SingleValueEncodingContainer) throws {
    try container.encode(self)
  }
  static func read(_ container: KeyedDecodingContainer<Name>, _ key: Name) throws -> UInt8 {
    try container.decode(UInt8.self, forKey: key)
  }
  static func read(_ container: inout any UnkeyedDecodingContainer) throws -> UInt8 {
    try container.decode(UInt8.self)
  }
  static func read(_ container: any SingleValueDecodingContainer) throws -> UInt8 {
    try container.decode(UInt8.self)
  }
}

extension UInt16: IntegerLeaf {
  func write(_ container: inout KeyedEncodingContainer<Name>, _ key: Name) throws {
    try container.encode(self, forKey: key)
  }
  func write(_ container: inout any UnkeyedEncodingContainer) throws { try container.encode(self) }
  func write(_ container: inout any SingleValueEncodingContainer) throws {
    try container.encode(self)
  }
  static func read(_ container: KeyedDecodingContainer<Name>, _ key: Name) throws -> UInt16 {
    try container.decode(UInt16.self, forKey: key)
  }
  static func read(_ container: inout any UnkeyedDecodingContainer) throws -> UInt16 {
    try container.decode(UInt16.self)
  }
  static func read(_ container: any SingleValueDecodingContainer) throws -> UInt16 {
    try container.decode(UInt16.self)
  }
}

extension UInt32: IntegerLeaf {
  func write(_ container: inout KeyedEncodingContainer<Name>, _ key: Name) throws {
    try container.encode(self, forKey: key)
  }
  func write(_ container: inout any UnkeyedEncodingContainer) throws { try container.encode(self) }
  func write(_ container: inout any SingleValueEncodingContainer) throws {
    try container.encode(self)
  }
  static func read(_ container: KeyedDecodingContainer<Name>, _ key: Name) throws -> UInt32 {
    try container.decode(UInt32.self, forKey: key)
  }
  static func read(_ container: inout any UnkeyedDecodingContainer) throws -> UInt32 {
    try container.decode(UInt32.self)
  }
  static func read(_ container: any SingleValueDecodingContainer) throws -> UInt32 {
    try container.decode(UInt32.self)
  }
}

extension UInt64: IntegerLeaf {
  func write(_ container: inout KeyedEncodingContainer<Name>, _ key: Name) throws {
    try container.encode(self, forKey: key)
  }
  func write(_ container: inout any UnkeyedEncodingContainer) throws { try container.encode(self) }
  func write(_ container: inout any SingleValueEncodingContainer) throws {
    try container.encode(self)
  }
  static func read(_ container: KeyedDecodingContainer<Name>, _ key: Name) throws -> UInt64 {
    try container.decode(UInt64.self, forKey: key)
  }
  static func read(_ container: inout any UnkeyedDecodingContainer) throws -> UInt64 {
    try container.decode(UInt64.self)
  }
  static func read(_ container: any SingleValueDecodingContainer) throws -> UInt64 {
    try container.decode(UInt64.self)
  }
}

extension UInt128: IntegerLeaf {
  func write(_ container: inout KeyedEncodingContainer<Name>, _ key: Name) throws {
    try container.encode(self, forKey: key)
  }
  func write(_ container: inout any UnkeyedEncodingContainer) throws { try container.encode(self) }
  func write(_ container: inout any SingleValueEncodingContainer) throws {
    try container.encode(self)
  }
  static func read(_ container: KeyedDecodingContainer<Name>, _ key: Name) throws -> UInt128 {
    try container.decode(UInt128.self, forKey: key)
  }
  static func read(_ container: inout any UnkeyedDecodingContainer) throws -> UInt128 {
    try container.decode(UInt128.self)
  }
  static func read(_ container: any SingleValueDecodingContainer) throws -> UInt128 {
    try container.decode(UInt128.self)
  }
}
