// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport

/// A value of a generated type.
///
/// When it is decoded, the schema to follow is that on top of the ``SchemaStack`` in `userInfo`.
struct GeneratedValue: Codable, Equatable, Sendable {
  let schema: Schema
  let tree: Tree

  init(_ schema: Schema, _ tree: Tree) {
    self.schema = schema
    self.tree = tree
  }

  static func == (left: GeneratedValue, right: GeneratedValue) -> Bool { left.tree == right.tree }

  func encode(to encoder: any Encoder) throws {
    switch (schema, tree) {
    case (.leaf, .leaf(let leaf)):
      var container = encoder.singleValueContainer()
      try leaf.write(&container)
    case (.wrapped(let inner), let tree):
      var container = encoder.singleValueContainer()
      try container.encode(GeneratedValue(inner, tree))
    case (.object(let fields), .fields(let trees)):
      var container = encoder.container(keyedBy: Name.self)
      try Self.write(fields, trees, to: &container)
    case (.sequence(let fields), .fields(let trees)):
      var container = encoder.unkeyedContainer()
      try Self.write(fields, trees, to: &container)
    default: try Self.standard(schema, tree).encode(to: encoder)
    }
  }

  /// The optional, array or dictionary of the standard library that a tree stands for.
  static func standard(_ schema: Schema, _ tree: Tree) -> any Encodable {
    switch (schema, tree) {
    case (.optional, .none): GeneratedValue?.none
    case (.optional(let inner), .some(let tree)): GeneratedValue?.some(.init(inner, tree))
    case (.list(let inner), .list(let trees)): trees.map { GeneratedValue(inner, $0) }
    case (.named(let inner), .named(let trees)): trees.mapValues { GeneratedValue(inner, $0) }
    case (.numbered(let inner), .numbered(let trees)): trees.mapValues { GeneratedValue(inner, $0) }
    default: GeneratedValue(schema, tree)
    }
  }

  init(from decoder: any Decoder) throws {
    let stack = try SchemaStack.of(decoder)
    schema = stack.top
    switch schema {
    case .leaf(let type):
      let container = try decoder.singleValueContainer()
      stack.note(container.codingPath)
      tree = .leaf(try type.read(container))
    case .optional(let inner):
      tree = try stack.with(inner) { try Self.tree(GeneratedValue?(from: decoder)) }
    case .list(let inner):
      tree = try stack.with(inner) { try Self.tree([GeneratedValue](from: decoder)) }
    case .named(let inner):
      tree = try stack.with(inner) { try Self.tree([String: GeneratedValue](from: decoder)) }
    case .numbered(let inner):
      tree = try stack.with(inner) { try Self.tree([Int: GeneratedValue](from: decoder)) }
    case .wrapped(let inner):
      let container = try decoder.singleValueContainer()
      tree = try stack.with(inner) { try container.decode(GeneratedValue.self).tree }
    case .object(let fields):
      let container = try decoder.container(keyedBy: Name.self)
      tree = .fields(try Self.read(fields, from: container, stack))
    case .sequence(let fields):
      var container = try decoder.unkeyedContainer()
      tree = .fields(try Self.read(fields, from: &container, stack))
    }
  }

  static func tree(_ value: GeneratedValue?) -> Tree { value.map { .some($0.tree) } ?? .none }
  static func tree(_ values: [GeneratedValue]) -> Tree { .list(values.map(\.tree)) }
  static func tree(_ values: [String: GeneratedValue]) -> Tree { .named(values.mapValues(\.tree)) }
  static func tree(_ values: [Int: GeneratedValue]) -> Tree { .numbered(values.mapValues(\.tree)) }
}

/// The schemas that the decoding of a value is in the middle of.
final class SchemaStack: Sendable {
  static let key = CodingUserInfoKey(rawValue: "schema").unsafelyUnwrapped

  private let schemas: Locked<[Schema]>
  private let path = Locked<[String]>([])

  init(_ schema: Schema) { schemas = Locked([schema]) }

  static func of(_ decoder: any Decoder) throws -> SchemaStack {
    guard let stack = decoder.userInfo[key] as? SchemaStack else { throw NoSchema() }
    return stack
  }

  struct NoSchema: Error {}

  /// What the next ``GeneratedValue`` is.
  var top: Schema { schemas.withLock { $0[$0.count - 1] } }

  /// Where the last leaf was looked for.
  var lastLeaf: [String] { path.withLock { $0 } }

  func note(_ path: [any CodingKey]) { self.path.withLock { $0 = CodingFailure.path(path) } }

  func with<R>(_ schema: Schema, _ body: () throws -> R) rethrows -> R {
    schemas.withLock { $0.append(schema) }
    defer { schemas.withLock { _ = $0.removeLast() } }
    return try body()
  }
}
