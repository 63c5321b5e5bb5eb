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

  @Test func whatIsInASetOrInPairsIsInOrder() throws {
    let set: Set = [10, 1, 300, -1]
    #expect(try cbor(set, deterministic: true).hex == "84" + "01" + "0a" + "19012c" + "20")
    let table: [[Int]: Bool] = [[2]: true, [1]: false]
    #expect(try cbor(table, deterministic: true).hex == "84" + "8101f4" + "8102f5")
    // What has another form than an array has it still.
    #expect(try cbor([3: 1, 2: 1], deterministic: true).hex == "a2" + "0201" + "0301")
    #expect(try cbor(Set<Int>(), deterministic: true).hex == "80")
  }

  /// Writes a set to a container while another one of the same value is being written to.
  private struct InTurn: Encodable {
    let sets: [Set<Int>]
    func encode(to encoder: any Encoder) throws {
      var outer = encoder.container(keyedBy: Name.self)
      var list = outer.nestedUnkeyedContainer(forKey: Name(stringValue: "list"))
      for (number, set) in sets.enumerated() {
        try list.encode(set)
        try outer.encode(set, forKey: Name(stringValue: "\(number)"))
        try list.encode([set, set])
      }
    }
  }

  /// A set in a value of its own, which fails for some.
  private struct Picky: Encodable {
    struct Refusal: Error {}
    let sets: [Set<Int>]
    func encode(to encoder: any Encoder) throws {
      var list = encoder.unkeyedContainer()
      for set in sets {
        try? list.encode(Wrapped(set: set))
        try list.encode(set)
      }
    }

    private struct Wrapped: Encodable {
      let set: Set<Int>
      func encode(to encoder: any Encoder) throws {
        var single = encoder.singleValueContainer()
        try single.encode([set, set])
        if set.count % 2 == 1 { throw Refusal() }
      }
    }
  }

  @Test func setsAreInOrderWhereverTheyAreWritten() throws {
    var generator = SeededGenerator(seed: 45)
    for _ in 0..<100 {
      let sets = (0..<Int.random(in: 1...4, using: &generator)).map { _ in
        let count = Int.random(in: 0...40, using: &generator)
        return Set((0..<count).map { _ in Int.random(in: -300...300, using: &generator) })
      }
      let others = sets.map { set in
        // In another order, in a table of another size.
        var other = Set<Int>(minimumCapacity: 5000)
        for number in set.sorted() { other.insert(number) }
        return other
      }
      #expect(
        try cbor(InTurn(sets: sets), deterministic: true)
          == cbor(InTurn(sets: others), deterministic: true))
      #expect(
        try cbor(Picky(sets: sets), deterministic: true)
          == cbor(Picky(sets: others), deterministic: true))
      let again = try CBORDecoder().decode(
        [Set<Int>].self, from: cbor(sets, deterministic: true))
      #expect(again == sets)
    }
  }
}
