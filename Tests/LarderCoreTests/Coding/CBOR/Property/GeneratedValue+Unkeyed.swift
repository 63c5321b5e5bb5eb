// SPDX-License-Identifier: MIT

import Foundation

extension GeneratedValue {
  static func write(
    _ fields: [Schema.Field], _ trees: [Tree], to container: inout any UnkeyedEncodingContainer
  ) throws {
    for (field, tree) in zip(fields, trees) {
      switch (field.way, field.schema, tree) {
      case (.direct, .leaf, .leaf(let leaf)): try leaf.write(&container)
      case (.direct, let schema, let tree): try container.encode(standard(schema, tree))
      case (.explicitNil, .optional, .none), (.ifPresent, .optional, .none):
        try container.encodeNil()
      case (.explicitNil, .optional(let inner), .some(let tree)),
        (.ifPresent, .optional(let inner), .some(let tree)):
        try container.encode(GeneratedValue(inner, tree))
      case (.nested, .object(let fields), .fields(let trees)):
        var nested = container.nestedContainer(keyedBy: Name.self)
        try write(fields, trees, to: &nested)
      case (.nested, .sequence(let fields), .fields(let trees)):
        var nested = container.nestedUnkeyedContainer()
        try write(fields, trees, to: &nested)
      case (.superKey, let schema, let tree), (.superPlain, let schema, let tree):
        try GeneratedValue(schema, tree).encode(to: container.superEncoder())
      default: try container.encode(GeneratedValue(field.schema, tree))
      }
    }
  }

  static func read(
    _ fields: [Schema.Field], from container: inout any UnkeyedDecodingContainer,
    _ stack: SchemaStack
  ) throws -> [Tree] {
    var trees: [Tree] = []
    for field in fields { trees.append(try read(field, from: &container, stack)) }
    return trees
  }

  private static func read(
    _ field: Schema.Field, from container: inout any UnkeyedDecodingContainer, _ stack: SchemaStack
  ) throws -> Tree {
    switch (field.way, field.schema) {
    case (.direct, .leaf(let type)):
      stack.note(container.codingPath + [ElementKey(container.currentIndex)])
      return .leaf(try type.read(&container))
    case (.direct, .optional(let inner)):
      return try stack.with(inner) { tree(try container.decode(GeneratedValue?.self)) }
    case (.direct, .list(let inner)):
      return try stack.with(inner) { tree(try container.decode([GeneratedValue].self)) }
    case (.direct, .named(let inner)):
      return try stack.with(inner) { tree(try container.decode([String: GeneratedValue].self)) }
    case (.direct, .numbered(let inner)):
      return try stack.with(inner) { tree(try container.decode([Int: GeneratedValue].self)) }
    case (.ifPresent, .optional(let inner)):
      return try stack.with(inner) { tree(try container.decodeIfPresent(GeneratedValue.self)) }
    case (.explicitNil, .optional(let inner)):
      if try container.decodeNil() { return .none }
      return try stack.with(inner) { .some(try container.decode(GeneratedValue.self).tree) }
    case (.nested, .object(let fields)):
      let nested = try container.nestedContainer(keyedBy: Name.self)
      return .fields(try read(fields, from: nested, stack))
    case (.nested, .sequence(let fields)):
      var nested = try container.nestedUnkeyedContainer()
      return .fields(try read(fields, from: &nested, stack))
    case (.superKey, let schema), (.superPlain, let schema):
      let parent = try container.superDecoder()
      return try stack.with(schema) { try GeneratedValue(from: parent).tree }
    case (_, let schema):
      return try stack.with(schema) { try container.decode(GeneratedValue.self).tree }
    }
  }

  /// The key of an array's element, as decoders call it.
  private struct ElementKey: CodingKey {
    let intValue: Int?
    var stringValue: String { "Index \(intValue ?? 0)" }
    init(_ index: Int) { intValue = index }
    init?(intValue: Int) { self.intValue = intValue }
    init?(stringValue: String) { nil }
  }
}
