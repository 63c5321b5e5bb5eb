// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport

/// A type, as the calls that its `encode(to:)` and `init(from:)` make.
indirect enum Schema: Sendable {
  case leaf(any Leaf.Type)
  case optional(Schema)
  /// `[T]`, `[String: T]` and `[Int: T]` of the standard library.
  case list(Schema)
  case named(Schema)
  case numbered(Schema)
  /// One value in a single-value container.
  case wrapped(Schema)
  /// A keyed container; an unkeyed container.
  case object([Field])
  case sequence([Field])

  /// One value of a keyed or unkeyed container; in the latter its name plays no part.
  struct Field: Sendable {
    var name: Name
    var way: Way
    var schema: Schema
  }

  /// Which calls of the container write and read a field.
  enum Way: CaseIterable, Sendable {
    /// The overload of a leaf's own type, or that of an array, a dictionary or an optional.
    case direct
    /// The generic overload, with a type that makes its own calls.
    case boxed
    /// `encodeIfPresent` and `decodeIfPresent`, where it is optional.
    case ifPresent
    /// `encodeNil` and `decodeNil`, where it is optional.
    case explicitNil
    /// A nested container, where it is an object or a sequence.
    case nested
    /// `superEncoder(forKey:)`; of an unkeyed container the only one there is.
    case superKey
    /// `superEncoder()`, which has a name of its own.
    case superPlain
  }
}

/// What a value of a schema consists of.
indirect enum Tree: Equatable, Sendable {
  case leaf(any Leaf)
  case none
  case some(Tree)
  case list([Tree])
  case named([String: Tree])
  case numbered([Int: Tree])
  case fields([Tree])

  static func == (left: Tree, right: Tree) -> Bool {
    switch (left, right) {
    case (.leaf(let left), .leaf(let right)): left.isEqual(to: right)
    case (.none, .none): true
    case (.some(let left), .some(let right)): left == right
    case (.list(let left), .list(let right)): left == right
    case (.named(let left), .named(let right)): left == right
    case (.numbered(let left), .numbered(let right)): left == right
    case (.fields(let left), .fields(let right)): left == right
    default: false
    }
  }
}

extension Schema {
  /// A schema of up to `depth` levels.
  static func make(_ generator: inout SeededGenerator, depth: Int) -> Schema {
    let kind = UInt8.random(in: depth > 0 ? 0..<20 : 0..<4, using: &generator)
    switch kind {
    case 0..<4: return .leaf(Leaves.all.randomElement(using: &generator) ?? Bool.self)
    case 4: return .list(make(&generator, depth: depth - 1))
    case 5: return .named(make(&generator, depth: depth - 1))
    case 6: return .numbered(make(&generator, depth: depth - 1))
    case 7: return .wrapped(make(&generator, depth: depth - 1))
    case 8, 9:
      // Of an optional within an optional only one level of nil comes back, from JSON too.
      let inner = make(&generator, depth: depth - 1)
      return inner.isTransparent ? inner : .optional(inner)
    case 10..<16: return .object(fields(&generator, depth: depth - 1))
    default: return .sequence(fields(&generator, depth: depth - 1))
    }
  }

  private static func fields(_ generator: inout SeededGenerator, depth: Int) -> [Field] {
    let numbers = UInt8.random(in: 0..<6, using: &generator) == 0
    var hasSuper = false
    return (0..<Int.random(in: 0..<5, using: &generator)).map { index in
      var way = Way.allCases.randomElement(using: &generator) ?? .direct
      // It can be taken once only.
      if way == .superPlain, hasSuper { way = .superKey }
      hasSuper = hasSuper || way == .superPlain
      let name = numbers ? Name(intValue: index * 7 - 3) : Name(stringValue: "key\(index)")
      return Field(name: name, way: way, schema: make(&generator, depth: depth))
    }
  }

  /// Whether a nil within would be its own.
  var isTransparent: Bool {
    switch self {
    case .optional: true
    case .wrapped(let inner): inner.isTransparent
    default: false
    }
  }

  /// A value.
  ///
  /// - Parameters:
  ///   - plain: As for a ``Leaf``.
  ///   - isFull: Whether something is in every array, dictionary and optional.
  func tree(
    _ generator: inout SeededGenerator, plain: Bool, isFull: Bool = false
  ) -> Tree {
    func make(_ schema: Schema) -> Tree {
      schema.tree(&generator, plain: plain, isFull: isFull)
    }
    let least = isFull ? 1 : 0
    switch self {
    case .leaf(let type): return .leaf(type.make(&generator, plain: plain))
    case .optional(let inner):
      if !isFull, Bool.random(using: &generator) { return .none }
      return .some(make(inner))
    case .list(let inner):
      let count = Int.random(in: least...3, using: &generator)
      return .list((0..<count).map { _ in make(inner) })
    case .named(let inner):
      let count = Int.random(in: least...(plain ? 1 : 3), using: &generator)
      let pairs = ["", "a", "5", "ключ"].prefix(count).map { ($0, make(inner)) }
      return .named(Dictionary(uniqueKeysWithValues: pairs))
    case .numbered(let inner):
      let count = Int.random(in: least...(plain ? 1 : 3), using: &generator)
      let pairs = [0, -1, 70_000].prefix(count).map { ($0, make(inner)) }
      return .numbered(Dictionary(uniqueKeysWithValues: pairs))
    case .wrapped(let inner): return make(inner)
    case .object(let fields), .sequence(let fields):
      return .fields(fields.map { make($0.schema) })
    }
  }
}
