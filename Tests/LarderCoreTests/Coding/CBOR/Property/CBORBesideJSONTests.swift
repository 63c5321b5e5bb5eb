// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Calls that `JSONEncoder` takes, in any order that it takes, with the same outcome.
///
/// `LARDER_SEED` repeats one seed.
struct CBORBesideJSONTests {
  /// What stands in a place, which decides what may be asked for there: `JSONEncoder` traps
  /// otherwise.
  private enum Shape {
    case leaf, list
    case map([String: Shape])

    var keys: [String: Shape] { if case .map(let keys) = self { keys } else { [:] } }
  }

  /// A value that makes the same calls whenever it is encoded.
  private final class Caller: Encodable {
    private let seed: UInt64
    private let depth: Int
    private var dice: Dice
    private(set) var shape = Shape.leaf

    init(seed: UInt64, depth: Int) {
      (self.seed, self.depth) = (seed, depth)
      dice = Dice(seed: seed)
    }

    func encode(to encoder: any Encoder) throws {
      dice = Dice(seed: seed)
      shape = try fill(encoder)
    }

    /// Asks an encoder for one thing, and then for more of what that was.
    private func fill(_ encoder: any Encoder) throws -> Shape {
      var shape = Shape.map([:])
      switch dice.below(5) {
      case 0:
        _ = encoder.unkeyedContainer()
        shape = .list
      case 1, 2:
        var whole = encoder.singleValueContainer()
        shape = try value { try whole.encode($0) }
      case 3: return shape  // Nothing, which is an empty object.
      default: break
      }
      for _ in 0..<dice.below(4) {
        switch shape {
        case .leaf: break
        case .list:
          var list = encoder.unkeyedContainer()
          try add(to: &list)
        case .map(var keys):
          var map = encoder.container(keyedBy: Name.self)
          try add(to: &map, &keys)
          shape = .map(keys)
        }
      }
      return shape
    }

    /// Encodes some value, and says what it became.
    private func value(_ encode: (any Encodable) throws -> Void) throws -> Shape {
      switch dice.below(depth > 0 ? 9 : 6) {
      case 0:
        try encode(dice.below(1000))
        return .leaf
      case 1:
        try encode("text")
        return .leaf
      case 2:
        try encode([1, 2])
        return .list
      case 3:
        try encode([[true]])
        return .list
      case 4:
        try encode(["a": "b", "1": "c"])
        return .map(["a": .leaf, "1": .leaf])
      case 5:
        let pairs = (0..<40).map { ("\($0)", ["x": $0]) }
        try encode(Dictionary(uniqueKeysWithValues: pairs))
        return .map(Dictionary(uniqueKeysWithValues: pairs.map { ($0.0, .map(["x": .leaf])) }))
      default:
        let other = Caller(seed: dice.next(), depth: depth - 1)
        try encode(other)
        return other.shape
      }
    }

    private func add(to list: inout any UnkeyedEncodingContainer) throws {
      switch dice.below(6) {
      case 0:
        var nested = list.nestedContainer(keyedBy: Name.self)
        var keys: [String: Shape] = [:]
        try add(to: &nested, &keys)
      case 1:
        var nested = list.nestedUnkeyedContainer()
        if !dice.oneIn(3) { try add(to: &nested) }
      case 2: _ = try fill(list.superEncoder())
      default: _ = try value { try list.encode($0) }
      }
    }

    private func add(
      to map: inout KeyedEncodingContainer<Name>, _ keys: inout [String: Shape]
    ) throws {
      for _ in 0..<dice.below(4) {
        let text = dice.pick(["a", "x", "1", "39"])
        let key = Name(stringValue: text)
        switch (dice.below(6), keys[text]) {
        case (0, nil), (0, .map), (1, .map):
          var nested = map.nestedContainer(keyedBy: Name.self, forKey: key)
          var inner = keys[text]?.keys ?? [:]
          try add(to: &nested, &inner)
          keys[text] = .map(inner)
        case (1, nil), (1, .list), (0, .list):
          var nested = map.nestedUnkeyedContainer(forKey: key)
          try add(to: &nested)
          keys[text] = .list
        case (2, _): keys[text] = try fill(map.superEncoder(forKey: key))
        case (3, _): keys["super"] = try fill(map.superEncoder())
        default: keys[text] = try value { try map.encode($0, forKey: key) }
        }
      }
    }
  }

  private func sorted(_ value: CBORValue) throws -> Data { try cbor(value, deterministic: true) }

  @Test func whateverJSONEncoderTakesHasTheSameContents() throws {
    let generator = SeededGenerator(seed: 1)
    var dice = Dice(seed: generator.seed)
    for round in 0..<effort(1500, long: 20_000) {
      // In an array: a whole value that encodes nothing is an error for both.
      let value = [Caller(seed: dice.next(), depth: 2)]
      let json = try JSONDecoder().decode(CBORValue.self, from: JSONEncoder().encode(value))
      for deterministic in [false, true] {
        let bytes = try? cbor(value, deterministic: deterministic)
        let same = try bytes.map { try sorted(CBORValue($0)) == sorted(json) } ?? false
        #expect(same, "Seed \(generator.seed), round \(round): \(json)")
        if !same { return }
      }
    }
  }
}
