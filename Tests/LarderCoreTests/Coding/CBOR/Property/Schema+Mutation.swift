// SPDX-License-Identifier: MIT

import LarderTestSupport

extension Schema {
  /// How many places there are where a schema can be changed.
  var placeCount: Int {
    switch self {
    case .leaf: 1
    case .optional(let inner), .list(let inner), .named(let inner), .numbered(let inner),
      .wrapped(let inner):
      1 + inner.placeCount
    case .object(let fields), .sequence(let fields):
      fields.reduce(1) { $0 + $1.schema.placeCount }
    }
  }

  /// The schema with a change at the `place`-th of its places.
  func replacing(_ place: Int, with change: (Schema) -> Schema) -> Schema {
    if place == 0 { return change(self) }
    switch self {
    case .leaf: return self
    case .optional(let inner): return .optional(inner.replacing(place - 1, with: change))
    case .list(let inner): return .list(inner.replacing(place - 1, with: change))
    case .named(let inner): return .named(inner.replacing(place - 1, with: change))
    case .numbered(let inner): return .numbered(inner.replacing(place - 1, with: change))
    case .wrapped(let inner): return .wrapped(inner.replacing(place - 1, with: change))
    case .object(let fields): return .object(Self.replacing(fields, place - 1, with: change))
    case .sequence(let fields): return .sequence(Self.replacing(fields, place - 1, with: change))
    }
  }

  private static func replacing(
    _ fields: [Field], _ place: Int, with change: (Schema) -> Schema
  ) -> [Field] {
    var fields = fields
    var rest = place
    for index in fields.indices {
      let count = fields[index].schema.placeCount
      if rest < count {
        fields[index].schema = fields[index].schema.replacing(rest, with: change)
        break
      }
      rest -= count
    }
    return fields
  }

  /// The coding path of the first value that there is at a place, in a value with something in each
  /// array and dictionary.
  func path(to place: Int) -> [String] {
    if place == 0 { return [] }
    switch self {
    case .leaf: return []
    case .optional(let inner), .wrapped(let inner): return inner.path(to: place - 1)
    case .list(let inner): return ["Index 0#0"] + inner.path(to: place - 1)
    case .named(let inner): return [""] + inner.path(to: place - 1)
    case .numbered(let inner): return ["0#0"] + inner.path(to: place - 1)
    case .object(let fields), .sequence(let fields):
      var rest = place - 1
      for (index, field) in fields.enumerated() {
        let count = field.schema.placeCount
        if rest >= count {
          rest -= count
          continue
        }
        var key = CodingFailure.path([field.name])
        if case .sequence = self {
          key = ["Index \(index)#\(index)"]
        } else if field.way == .superPlain {
          key = ["super"]
        }
        return key + field.schema.path(to: rest)
      }
      return []
    }
  }

  /// What another version of a program might take the type for.
  func mutated(_ generator: inout SeededGenerator, tagsDates: Bool) -> Schema {
    let place = Int.random(in: 0..<placeCount, using: &generator)
    return replacing(place) { $0.changed(&generator, tagsDates: tagsDates) }
  }

  private func changed(_ generator: inout SeededGenerator, tagsDates: Bool) -> Schema {
    switch self {
    case .leaf(let type): return Self.changed(type, &generator, tagsDates: tagsDates)
    // A null where a value is due, or none where one may be.
    case .optional(let inner): return inner
    case .wrapped(let inner): return .optional(inner)
    case .list(let inner):
      return [
        .anyScalar(&generator), .named(inner), .object([]), .optional(self),
        .sequence((0..<3).map { Field(name: Name(intValue: $0), way: .direct, schema: inner) }),
      ].randomElement(using: &generator) ?? self
    case .named(let inner):
      return [
        .anyScalar(&generator), .list(inner), .optional(self),
        .object([Field(name: "a", way: .boxed, schema: inner)]),
      ].randomElement(using: &generator) ?? self
    case .numbered(let inner):
      return [
        .anyScalar(&generator), .list(inner), .optional(self),
        .object([Field(name: Name(intValue: 0), way: .direct, schema: inner)]),
      ].randomElement(using: &generator) ?? self
    case .object(let fields):
      switch UInt8.random(in: 0..<8, using: &generator) {
      case 0: return .anyScalar(&generator)
      case 1: return .list(.leaf(Bool.self))
      case 2: return .sequence(fields)
      default: return .object(Self.changed(fields, &generator))
      }
    case .sequence(let fields):
      switch UInt8.random(in: 0..<8, using: &generator) {
      case 0: return .anyScalar(&generator)
      case 1: return .object([])
      case 2: return .object(fields)
      case 3: return .sequence(Array(fields.dropLast()))
      case 4: return .sequence(fields + [Self.added(&generator)])
      default: return .sequence(Self.changedWay(fields, &generator))
      }
    }
  }

  private static func changed(
    _ type: any Leaf.Type, _ generator: inout SeededGenerator, tagsDates: Bool
  ) -> Schema {
    switch UInt8.random(in: 0..<12, using: &generator) {
    case 0: return .optional(.leaf(type))
    case 1: return .object([])
    case 2: return .object([Field(name: "key0", way: .direct, schema: .leaf(Bool.self))])
    case 3 where type.shape != .decimal: return .list(.leaf(Bool.self))
    case 4 where type.shape != .decimal:
      return .sequence([Field(name: "key0", way: .direct, schema: .leaf(Bool.self))])
    default:
      let others = Leaves.all.filter {
        $0 != type && Leaves.areComparable(type.shape, $0.shape, tagsDates: tagsDates)
      }
      return .leaf(others.randomElement(using: &generator) ?? type)
    }
  }

  /// Fields removed, added, renamed, reordered, or read by other calls.
  private static func changed(_ fields: [Field], _ generator: inout SeededGenerator) -> [Field] {
    var fields = fields
    guard let index = fields.indices.randomElement(using: &generator) else {
      return [added(&generator)]
    }
    switch UInt8.random(in: 0..<6, using: &generator) {
    case 0: fields.remove(at: index)
    case 1: fields.append(added(&generator))
    case 2: fields[index].name = "renamed"
    case 3: fields.swapAt(0, index)
    default: return changedWay(fields, &generator)
    }
    return fields
  }

  private static func changedWay(_ fields: [Field], _ generator: inout SeededGenerator) -> [Field] {
    guard let index = fields.indices.randomElement(using: &generator) else { return fields }
    var fields = fields
    fields[index].way = Way.allCases.randomElement(using: &generator) ?? .direct
    return fields
  }

  private static func added(_ generator: inout SeededGenerator) -> Field {
    let schemas: [Schema] = [
      .leaf(Int.self), .leaf(String.self), .optional(.leaf(Bool.self)), .object([]), .sequence([]),
    ]
    return Field(
      name: "added", way: Way.allCases.randomElement(using: &generator) ?? .direct,
      schema: schemas.randomElement(using: &generator) ?? .object([]))
  }

  private static func anyScalar(_ generator: inout SeededGenerator) -> Schema {
    .leaf(Leaves.scalars.randomElement(using: &generator) ?? Bool.self)
  }
}
