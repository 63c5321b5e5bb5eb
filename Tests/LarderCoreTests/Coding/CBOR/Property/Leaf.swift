// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport

/// What the bytes of a type are, as far as it matters to whom may read them as what.
indirect enum LeafShape: Equatable, Sendable {
  case bool, integer, wideInteger, float, text, name, date, data, url, uuid, decimal
  case list(LeafShape)
  case named(LeafShape)
  case numbered(LeafShape)
  case choice
}

/// A type that the generated values have at their leaves.
///
/// The six calls go to the overload for just that type where there is one, and to the generic
/// overload otherwise.
protocol Leaf: Codable, Equatable, Sendable {
  static var shape: LeafShape { get }

  /// - Parameter plain: Whether only values are wanted that JSON and CBOR keep alike even if they
  ///   are read as another type: text such as 0.1 is one `Float` and another `Double`, and a map of
  ///   many pairs is read in another order each time.
  static func make(_ generator: inout SeededGenerator, plain: Bool) -> Self

  func write(_ container: inout KeyedEncodingContainer<Name>, _ key: Name) throws
  func write(_ container: inout any UnkeyedEncodingContainer) throws
  func write(_ container: inout any SingleValueEncodingContainer) throws
  static func read(_ container: KeyedDecodingContainer<Name>, _ key: Name) throws -> Self
  static func read(_ container: inout any UnkeyedDecodingContainer) throws -> Self
  static func read(_ container: any SingleValueDecodingContainer) throws -> Self
}

extension Leaf {
  func write(_ container: inout KeyedEncodingContainer<Name>, _ key: Name) throws {
    try container.encode(self, forKey: key)
  }
  func write(_ container: inout any UnkeyedEncodingContainer) throws { try container.encode(self) }
  func write(_ container: inout any SingleValueEncodingContainer) throws {
    try container.encode(self)
  }
  static func read(_ container: KeyedDecodingContainer<Name>, _ key: Name) throws -> Self {
    try container.decode(Self.self, forKey: key)
  }
  static func read(_ container: inout any UnkeyedDecodingContainer) throws -> Self {
    try container.decode(Self.self)
  }
  static func read(_ container: any SingleValueDecodingContainer) throws -> Self {
    try container.decode(Self.self)
  }

  func isEqual(to other: any Leaf) -> Bool { (other as? Self) == self }
}

/// The types of leaves.
enum Leaves {
  static let scalars: [any Leaf.Type] = [
    Bool.self, Int.self, Int8.self, Int16.self, Int32.self, Int64.self, Int128.self, UInt.self,
    UInt8.self, UInt16.self, UInt32.self, UInt64.self, UInt128.self, Float.self, Double.self,
    String.self, Date.self, Data.self, URL.self, UUID.self, Decimal.self, Colour.self, Level.self,
  ]

  static let composites: [any Leaf.Type] = [
    [Int].self, [UInt8].self, [Double].self, [Float].self, [Bool].self, [String].self, [Date].self,
    [UUID].self, [[Int16]].self, [String: Int].self, [String: String].self, [Int: String].self,
    [Int: Double].self, [[String: Date]].self, [String: [Data]].self, Choice.self,
  ]

  static let all = scalars + composites

  /// Whether JSON and CBOR have to agree on what happens if the one is written and the other read.
  ///
  /// They cannot where JSON has no type of its own: bytes, addresses, UUIDs and the keys of every
  /// dictionary are all strings there, decimals and dates numbers, so any of them can be read as
  /// any other, while CBOR knows them apart. And a tag that does not matter to a type is passed
  /// over in CBOR, so that a decimal can also be read as two integers, or a bignum as bytes.
  static func areComparable(_ written: LeafShape, _ read: LeafShape, tagsDates: Bool) -> Bool {
    switch (written, read) {
    case (.list(let written), .list(let read)), (.named(let written), .named(let read)),
      (.numbered(let written), .numbered(let read)):
      areComparable(written, read, tagsDates: tagsDates)
    case (.named, .numbered), (.numbered, .named), (.decimal, .list): false
    case (.list, _), (_, .list), (.named, _), (_, .named), (.numbered, _), (_, .numbered): true
    case (.choice, _), (_, .choice), (.bool, _), (_, .bool): true
    case (_, _) where written == read: true
    case (.decimal, _): read == .text || read == .name || read == .url
    case (.date, .integer), (.date, .float), (.integer, .date), (.float, .date): !tagsDates
    case (.date, _): false
    case (.url, .date): !tagsDates
    case (_, .date): [.data, .uuid].contains(written)
    case (.wideInteger, .data), (.wideInteger, .uuid), (.wideInteger, .decimal): false
    case (.integer, _), (.wideInteger, _), (.float, _): true
    case (_, .integer), (_, .wideInteger), (_, .float), (_, .decimal): true
    case (.name, .text), (.text, .name), (.text, .uuid), (.name, .uuid): true
    default: false
    }
  }
}

/// An enum without payloads, written as a string; ``Level`` as an integer.
enum Colour: String, CaseIterable, Leaf {
  case red, green, blue, none = ""

  static let shape = LeafShape.name

  static func make(_ generator: inout SeededGenerator, plain: Bool) -> Colour {
    allCases.randomElement(using: &generator) ?? .red
  }
}

enum Level: Int16, CaseIterable, Leaf {
  case low = -1, medium, high, extreme = 30_000

  static let shape = LeafShape.integer

  static func make(_ generator: inout SeededGenerator, plain: Bool) -> Level {
    allCases.randomElement(using: &generator) ?? .low
  }
}

/// An enum with payloads, as the compiler makes it `Codable`; it refers to itself.
indirect enum Choice: Leaf {
  case nothing
  case one(Int)
  case two(left: String, right: Double?)
  case more([Choice])

  static let shape = LeafShape.choice

  static func make(_ generator: inout SeededGenerator, plain: Bool) -> Choice {
    switch UInt8.random(in: 0..<7, using: &generator) {
    case 0: .nothing
    case 1, 2: .one(.make(&generator, plain: plain))
    case 3: .two(left: .make(&generator, plain: plain), right: nil)
    case 4, 5: .two(left: .make(&generator, plain: plain), right: .make(&generator, plain: plain))
    default: .more((0..<2).map { _ in make(&generator, plain: plain) })
    }
  }
}
