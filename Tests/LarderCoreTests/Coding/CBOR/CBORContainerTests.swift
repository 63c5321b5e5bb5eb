// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import Testing

/// Containers that are used out of the order in which their bytes lie.
@Suite struct CBORContainerTests {
  /// An `Encodable` by a closure.
  struct Written: Encodable {
    let body: (any Encoder) throws -> Void
    init(_ body: @escaping (any Encoder) throws -> Void) { self.body = body }
    func encode(to encoder: any Encoder) throws { try body(encoder) }
  }

  private func text(_ body: @escaping (any Encoder) throws -> Void) throws -> String {
    try CBORValue(cbor(Written(body), deterministic: true)).description
  }

  @Test func twoNestedContainersAreWrittenAlternately() throws {
    let written = try text { encoder in
      var parent = encoder.container(keyedBy: Name.self)
      var first = parent.nestedContainer(keyedBy: Name.self, forKey: "a")
      var second = parent.nestedUnkeyedContainer(forKey: "b")
      for number in 0..<30 {
        try first.encode(number, forKey: Name(stringValue: "\(number % 10)"))
        try second.encode(number)
      }
      try parent.encode("end", forKey: "c")
      try first.encode("late", forKey: "x")
      try second.encode("late")
    }
    let numbers = (0..<30).map(String.init).joined(separator: ", ")
    let pairs = (0..<10).map { "\"\($0)\": \($0 + 20)" }.joined(separator: ", ")
    #expect(
      written == #"{"a": {\#(pairs), "x": "late"}, "b": [\#(numbers), "late"], "c": "end"}"#)
  }

  @Test func nestedContainersOfAnArrayAreWrittenLate() throws {
    let written = try text { encoder in
      var list = encoder.unkeyedContainer()
      var first = list.nestedUnkeyedContainer()
      try list.encode(1)
      var second = list.nestedContainer(keyedBy: Name.self)
      try list.encode(2)
      var inner = first.nestedUnkeyedContainer()
      try second.encode(3, forKey: "k")
      try inner.encode(4)
      try first.encode(String(repeating: "x", count: 3))
      try inner.encode(5)
      try list.encodeNil()
      #expect(list.count == 5 && first.count == 2 && inner.count == 2)
    }
    #expect(written == #"[[[4, 5], "xxx"], 1, {"k": 3}, 2, null]"#)
  }

  @Test func aSuperEncoderIsWrittenLateOrNever() throws {
    let written = try text { encoder in
      var parent = encoder.container(keyedBy: Name.self)
      let late = parent.superEncoder()
      let never = parent.superEncoder(forKey: "never")
      let third = parent.superEncoder(forKey: "third")
      try parent.encode(1, forKey: "a")
      try [2, 3].encode(to: third)
      try parent.encode(4, forKey: "b")
      try Optional<Int>.none.encode(to: late)
      withExtendedLifetime(never) {}
    }
    #expect(written == #"{"a": 1, "b": 4, "never": {}, "super": null, "third": [2, 3]}"#)
    let list = try text { encoder in
      var list = encoder.unkeyedContainer()
      let late = list.superEncoder()
      let never = list.superEncoder()
      try list.encode(1)
      try "late".encode(to: late)
      withExtendedLifetime(never) {}
    }
    #expect(list == #"["late", {}, 1]"#)
  }

  @Test func ofAKeyThatIsWrittenTwiceTheLastCounts() throws {
    let written = try text { encoder in
      var container = encoder.container(keyedBy: Name.self)
      try container.encode(1, forKey: "a")
      try container.encode([1, 2], forKey: "b")
      try container.encode("two", forKey: "a")
      var nested = container.nestedContainer(keyedBy: Name.self, forKey: "b")
      try nested.encode(1, forKey: "n")
      try container.encode(3, forKey: "c")
      try container.encode(true, forKey: "a")
    }
    #expect(written == #"{"a": true, "b": {"n": 1}, "c": 3}"#)
    let integers = try text { encoder in
      var container = encoder.container(keyedBy: Name.self)
      for number in 0..<100 { try container.encode(number, forKey: Name(intValue: number % 3)) }
    }
    #expect(integers == "{0: 99, 1: 97, 2: 98}")
  }

  @Test func twoContainersOfOneKindOnOneEncoderAreOne() throws {
    let maps = try text { encoder in
      var first = encoder.container(keyedBy: Name.self)
      var second = encoder.container(keyedBy: Name.self)
      try first.encode(1, forKey: "a")
      try second.encode(2, forKey: "b")
      try first.encode(3, forKey: "c")
    }
    #expect(maps == #"{"a": 1, "b": 2, "c": 3}"#)
    let lists = try text { encoder in
      var first = encoder.unkeyedContainer()
      var second = encoder.unkeyedContainer()
      try first.encode(1)
      try second.encode(2)
      try first.encode(3)
      #expect(first.count == 3 && second.count == 3)
    }
    #expect(lists == "[1, 2, 3]")
  }

  @Test func twoContainersThatAreWrittenToInTurnHaveAllTheyWereGiven() throws {
    let value = Written { encoder in
      var container = encoder.container(keyedBy: Name.self)
      var xs = container.nestedUnkeyedContainer(forKey: "x")
      var ys = container.nestedUnkeyedContainer(forKey: "y")
      try container.encode("between", forKey: "z")
      for number in 0..<50_000 {
        try xs.encode(number)
        try ys.encode(-number)
      }
    }
    struct Points: Decodable {
      var x: [Int]
      var y: [Int]
      var z: String
    }
    let points = try CBORDecoder().decode(Points.self, from: cbor(value))
    #expect(points.x == Array(0..<50_000))
    #expect(points.y == (0..<50_000).map { -$0 })
    #expect(points.z == "between")
  }

  @Test func twoNestedContainersForOneKeyAreOneAsInJSON() throws {
    let value = Written { encoder in
      var parent = encoder.container(keyedBy: Name.self)
      var first = parent.nestedContainer(keyedBy: Name.self, forKey: "n")
      try first.encode(1, forKey: "a")
      var second = parent.nestedContainer(keyedBy: Name.self, forKey: "n")
      try second.encode(2, forKey: "b")
    }
    let expected = ["n": ["a": 1, "b": 2]]
    let json = try JSONDecoder().decode(
      [String: [String: Int]].self, from: JSONEncoder().encode(value))
    #expect(json == expected)
    #expect(try CBORDecoder().decode([String: [String: Int]].self, from: cbor(value)) == expected)
  }

  @Test func aNestedContainerBehindAValueOfItsKeyIsANewOne() throws {
    let written = try text { encoder in
      var container = encoder.container(keyedBy: Name.self)
      var first = container.nestedContainer(keyedBy: Name.self, forKey: "n")
      try first.encode(1, forKey: "a")
      try container.encode(7, forKey: "n")
      var second = container.nestedContainer(keyedBy: Name.self, forKey: "n")
      try second.encode(2, forKey: "b")
    }
    #expect(written == #"{"n": {"b": 2}}"#)
  }

  @Test func aContainerAddsToTheWholeValueBeforeItAsInJSON() throws {
    let map = Written { encoder in
      var whole = encoder.singleValueContainer()
      try whole.encode(["a": 1, "b": 2])
      var more = encoder.container(keyedBy: Name.self)
      try more.encode(3, forKey: "b")
      try more.encode(4, forKey: "c")
    }
    let list = Written { encoder in
      var whole = encoder.singleValueContainer()
      try whole.encode([1, 2])
      var more = encoder.unkeyedContainer()
      #expect(more.count == 2)
      try more.encode(3)
    }
    let value = Written { encoder in
      var container = encoder.container(keyedBy: Name.self)
      try container.encode(map, forKey: "map")
      try container.encode(["a": [list]], forKey: "both")
      var nested = container.nestedContainer(keyedBy: Name.self, forKey: "both")
      var inner = nested.nestedUnkeyedContainer(forKey: "a")
      try inner.encode(map)
      try map.encode(to: container.superEncoder())
    }
    let one = #"{"a": 1, "b": 3, "c": 4}"#
    #expect(
      try text(value.body)
        == #"{"map": \#(one), "both": {"a": [[1, 2, 3], \#(one)]}, "super": \#(one)}"#)
    let json = try JSONDecoder().decode(CBORValue.self, from: JSONEncoder().encode(value))
    #expect(try cbor(json, deterministic: true) == cbor(value, deterministic: true))
  }

  @Test func whatIsAddedBehindASetKeepsItsPlace() throws {
    let written = try text { encoder in
      var whole = encoder.singleValueContainer()
      try whole.encode(Set(4...9))
      var more = encoder.unkeyedContainer()
      try more.encode(1)
    }
    #expect(written == "[4, 5, 6, 7, 8, 9, 1]")
  }

  @Test func anEntryThatFailsIsTakenBack() throws {
    struct Thrown: Error {}
    let bomb = Written { encoder in
      var container = encoder.container(keyedBy: Name.self)
      try container.encode(1, forKey: "written")
      var nested = container.nestedUnkeyedContainer(forKey: "list")
      try nested.encode(2)
      throw Thrown()
    }
    let written = try text { encoder in
      var container = encoder.container(keyedBy: Name.self)
      try container.encode(1, forKey: "a")
      #expect(throws: Thrown.self) { try container.encode(bomb, forKey: "b") }
      var list = container.nestedUnkeyedContainer(forKey: "c")
      #expect(throws: Thrown.self) { try list.encode(bomb) }
      try list.encode(3)
      #expect(throws: Thrown.self) { try list.encode([bomb]) }
      try container.encode(4, forKey: "d")
      #expect(throws: Thrown.self) { try list.encode(bomb) }
      try list.encode(5)
    }
    #expect(written == #"{"a": 1, "c": [3, 5], "d": 4}"#)
  }

  @Test func aValueMayUseCodersOfItsOwn() throws {
    let inner = Written { encoder in
      var container = encoder.singleValueContainer()
      let bytes = try CBOREncoder().encode(["inner": 1])
      let back = try CBORDecoder().decode([String: Int].self, from: bytes)
      try container.encode([bytes, CBOREncoder().encode(back)])
    }
    let written = try text { encoder in
      var container = encoder.container(keyedBy: Name.self)
      try container.encode(1, forKey: "a")
      try container.encode(inner, forKey: "b")
      try container.encode(2, forKey: "c")
    }
    let hex = "a165696e6e657201"
    #expect(written == #"{"a": 1, "b": [h'\#(hex)', h'\#(hex)'], "c": 2}"#)
  }

  @Test func bigValuesInSmallOnesMoveTheirHeads() throws {
    let written = try text { encoder in
      var list = encoder.unkeyedContainer()
      var lists = (0..<3).map { _ in list.nestedUnkeyedContainer() }
      for number in 0..<900 { try lists[number % 3].encode(number % 3) }
      for number in 0..<300 { try list.encode(number) }
    }
    let lists = (0..<3).map { list in
      "[" + (0..<300).map { _ in "\(list)" }.joined(separator: ", ") + "]"
    }
    #expect(written == "[" + (lists + (0..<300).map(String.init)).joined(separator: ", ") + "]")
  }
}
