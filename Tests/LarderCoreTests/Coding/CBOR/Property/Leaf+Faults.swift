// SPDX-License-Identifier: MIT

import LarderTestSupport

/// Throws an `EncodingError` with the path of its encoder.
struct PathBomb: Leaf {
  static let shape = LeafShape.bool
  static func make(_ generator: inout SeededGenerator, plain: Bool) -> PathBomb { PathBomb() }

  init() {}
  init(from decoder: any Decoder) throws {}
  func encode(to encoder: any Encoder) throws {
    throw EncodingError.invalidValue(
      self, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "A bomb."))
  }
}

/// The same with the path of a container, when it has written something to others.
struct LateBomb: Leaf {
  static let shape = LeafShape.bool
  static func make(_ generator: inout SeededGenerator, plain: Bool) -> LateBomb { LateBomb() }

  init() {}
  init(from decoder: any Decoder) throws {}
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Name.self)
    try container.encode(1, forKey: "written")
    var list = container.nestedUnkeyedContainer(forKey: "list")
    var element = list.superEncoder().singleValueContainer()
    try element.encodeNil()
    throw EncodingError.invalidValue(
      self, EncodingError.Context(codingPath: container.codingPath, debugDescription: "A bomb."))
  }
}

/// Throws an error of its own.
struct OtherBomb: Leaf {
  static let shape = LeafShape.bool
  static func make(_ generator: inout SeededGenerator, plain: Bool) -> OtherBomb { OtherBomb() }

  init() {}
  init(from decoder: any Decoder) throws {}
  func encode(to encoder: any Encoder) throws { throw Thrown() }

  struct Thrown: Error {}
}

/// Encodes nothing at all.
struct Nothing: Leaf {
  static let shape = LeafShape.bool
  static func make(_ generator: inout SeededGenerator, plain: Bool) -> Nothing { Nothing() }

  init() {}
  init(from decoder: any Decoder) throws {}
  func encode(to encoder: any Encoder) throws {}
}
