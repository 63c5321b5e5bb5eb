// SPDX-License-Identifier: MIT

import Foundation

extension GeneratedValue {
  static func write(
    _ fields: [Schema.Field], _ trees: [Tree],
    to container: inout KeyedEncodingContainer<Name>
  ) throws {
    for (field, tree) in zip(fields, trees) {
      let key = field.name
      switch (field.way, field.schema, tree) {
      case (.direct, .leaf, .leaf(let leaf)): try leaf.write(&container, key)
      case (.direct, let schema, let tree):
        try container.encode(standard(schema, tree), forKey: key)
      case (.ifPresent, .optional(let inner), .some(let tree)):
        try container.encodeIfPresent(GeneratedValue(inner, tree), forKey: key)
      case (.ifPresent, .optional, _):
        try container.encodeIfPresent(GeneratedValue?.none, forKey: key)
      case (.explicitNil, .optional, .none): try container.encodeNil(forKey: key)
      case (.explicitNil, .optional(let inner), .some(let tree)):
        try container.encode(GeneratedValue(inner, tree), forKey: key)
      case (.nested, .object(let fields), .fields(let trees)):
        var nested = container.nestedContainer(keyedBy: Name.self, forKey: key)
        try write(fields, trees, to: &nested)
      case (.nested, .sequence(let fields), .fields(let trees)):
        var nested = container.nestedUnkeyedContainer(forKey: key)
        try write(fields, trees, to: &nested)
      case (.superKey, let schema, let tree):
        try GeneratedValue(schema, tree).encode(to: container.superEncoder(forKey: key))
      case (.superPlain, let schema, let tree):
        try GeneratedValue(schema, tree).encode(to: container.superEncoder())
      default: try container.encode(GeneratedValue(field.schema, tree), forKey: key)
      }
    }
  }

  static func read(
    _ fields: [Schema.Field], from container: KeyedDecodingContainer<Name>, _ stack: SchemaStack
  ) throws -> [Tree] {
    try fields.map { field in
      let key = field.name
      switch (field.way, field.schema) {
      case (.direct, .leaf(let type)):
        stack.note(container.codingPath + [key])
        return .leaf(try type.read(container, key))
      case (.direct, .optional(let inner)):
        return try stack.with(inner) {
          tree(try container.decode(GeneratedValue?.self, forKey: key))
        }
      case (.direct, .list(let inner)):
        return try stack.with(inner) {
          tree(try container.decode([GeneratedValue].self, forKey: key))
        }
      case (.direct, .named(let inner)):
        return try stack.with(inner) {
          tree(try container.decode([String: GeneratedValue].self, forKey: key))
        }
      case (.direct, .numbered(let inner)):
        return try stack.with(inner) {
          tree(try container.decode([Int: GeneratedValue].self, forKey: key))
        }
      case (.ifPresent, .optional(let inner)):
        return try stack.with(inner) {
          tree(try container.decodeIfPresent(GeneratedValue.self, forKey: key))
        }
      case (.explicitNil, .optional(let inner)):
        if try container.decodeNil(forKey: key) { return .none }
        return try stack.with(inner) {
          .some(try container.decode(GeneratedValue.self, forKey: key).tree)
        }
      case (.nested, .object(let fields)):
        let nested = try container.nestedContainer(keyedBy: Name.self, forKey: key)
        return .fields(try read(fields, from: nested, stack))
      case (.nested, .sequence(let fields)):
        var nested = try container.nestedUnkeyedContainer(forKey: key)
        return .fields(try read(fields, from: &nested, stack))
      case (.superKey, let schema):
        let parent = try container.superDecoder(forKey: key)
        return try stack.with(schema) { try GeneratedValue(from: parent).tree }
      case (.superPlain, let schema):
        let parent = try container.superDecoder()
        return try stack.with(schema) { try GeneratedValue(from: parent).tree }
      case (_, let schema):
        return try stack.with(schema) {
          try container.decode(GeneratedValue.self, forKey: key).tree
        }
      }
    }
  }
}
