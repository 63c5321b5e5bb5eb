// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Equal values have equal bytes, if that is asked for.
@Suite struct CBORDeterministicTests {
  private struct Keys: Encodable {
    let keys: [Name]
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Name.self)
      for key in keys { try container.encode([key.stringValue: [2: 1, 1: 2]], forKey: key) }
    }
  }

  @Test func theOrderOfInsertionDoesNotMatter() throws {
    var generator = SeededGenerator(seed: 4)
    let numbers = [0, 10, 23, 24, 100, 255, 256, 70_000, -1, -10, -25, .max, .min]
    let texts = ["", "a", "b", "aa", "z", "é", "ключ", String(repeating: "a", count: 24)]
    var keys = numbers.map { Name(intValue: $0) } + texts.map { Name(stringValue: $0) }
    let expected = try cbor(Keys(keys: keys), deterministic: true)
    for _ in 0..<200 {
      keys.shuffle(using: &generator)
      #expect(
        try cbor(Keys(keys: keys), deterministic: true) == expected, "Seed \(generator.seed)")
    }
    guard case .map(let pairs) = try CBORValue(expected) else {
      Issue.record("A keyed container is a map.")
      return
    }
    let encoded = try pairs.map { try $0.key.encoded }
    #expect(encoded.count == keys.count)
    for (first, second) in zip(encoded, encoded.dropFirst()) {
      #expect(first.lexicographicallyPrecedes(second), "\(first.hex), \(second.hex)")
    }
    #expect(encoded.prefix(3).map(\.hex) == ["00", "0a", "17"])
  }

  @Test func dictionariesOfEqualContentHaveEqualBytes() throws {
    var generator = SeededGenerator(seed: 5)
    for _ in 0..<200 {
      let pairs = (0..<Int.random(in: 0..<60, using: &generator)).map { ("key\($0 * 37)", $0) }
      let expected = try cbor(
        Dictionary(uniqueKeysWithValues: pairs), deterministic: true)
      var other: [String: Int] = [:]
      // Of another capacity, so in another order.
      other.reserveCapacity(Int.random(in: 0..<500, using: &generator))
      for (key, value) in pairs.shuffled(using: &generator) { other[key] = value }
      #expect(try cbor(other, deterministic: true) == expected)
      let texts = other.mapValues { "\($0)" }
      #expect(
        try cbor([texts, texts], deterministic: true)
          == cbor(
            [texts, texts].map { Dictionary($0.shuffled(using: &generator)) { a, _ in a } },
            deterministic: true))
    }
  }

  @Test func mapsWithinKeysAndTagsAreSortedToo() throws {
    let inner = CBORValue.map([
      CBORValue.Pair(.text("b"), .unsigned(1)), CBORValue.Pair(.unsigned(2), .null),
    ])
    let value = CBORValue.map([
      CBORValue.Pair(.array([inner]), .tagged(5, inner)), CBORValue.Pair(.bool(false), inner),
      CBORValue.Pair(.unsigned(7), .array([inner, inner])),
    ])
    let sorted = "a202f6616201"
    #expect(
      try cbor(value, deterministic: true).hex
        == "a3" + "0782\(sorted)\(sorted)" + "81\(sorted)c5\(sorted)" + "f4\(sorted)")
    let again = try CBORDecoder().decode(
      CBORValue.self, from: cbor(value, deterministic: true))
    #expect(try cbor(again, deterministic: true) == cbor(value, deterministic: true))
  }

  @Test func aSetIsAsItIs() throws {
    // Its order is that of an array, which is not ours to change.
    let set = Set(["a", "b", "c"])
    #expect(try CBORDecoder().decode(Set<String>.self, from: cbor(set, deterministic: true)) == set)
  }
}
