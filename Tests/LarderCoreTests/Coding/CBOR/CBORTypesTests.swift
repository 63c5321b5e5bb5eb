// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import Testing

/// Types as people write them: classes, enums, optionals, and what the compiler makes of them.
@Suite struct CBORTypesTests {
  private class Animal: Codable {
    var name: String
    init(name: String) { self.name = name }
  }

  /// Writes its superclass into a value of its own, as the compiler's guidance has it.
  private final class Dog: Animal {
    var age: Int
    init(name: String, age: Int) {
      self.age = age
      super.init(name: name)
    }
    private enum Key: CodingKey { case age }
    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Key.self)
      age = try container.decode(Int.self, forKey: .age)
      try super.init(from: container.superDecoder())
    }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(age, forKey: .age)
      try super.encode(to: container.superEncoder())
    }
  }

  /// Writes its superclass into the same container.
  private final class Cat: Animal {
    var lives: Int
    init(name: String, lives: Int) {
      self.lives = lives
      super.init(name: name)
    }
    private enum Key: CodingKey { case lives, after }
    required init(from decoder: any Decoder) throws {
      lives = try decoder.container(keyedBy: Key.self).decode(Int.self, forKey: .lives)
      try super.init(from: decoder)
    }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(lives, forKey: .lives)
      try super.encode(to: encoder)
      try container.encode(true, forKey: .after)
    }
  }

  @Test func aSuperclassHasAValueOfItsOwn() throws {
    let dog = Dog(name: "Rex", age: 3)
    #expect(try CBORValue(cbor(dog)).description == #"{"age": 3, "super": {"name": "Rex"}}"#)
    let back = try roundTrip(dog)
    #expect(back.name == "Rex" && back.age == 3)
  }

  @Test func aSuperclassSharesTheContainer() throws {
    let cat = Cat(name: "Tom", lives: 9)
    #expect(
      try CBORValue(cbor(cat)).description == #"{"lives": 9, "name": "Tom", "after": true}"#)
    let cats = try roundTrip(["a": [cat, cat]])
    #expect(cats["a"]?.map(\.lives) == [9, 9] && cats["a"]?.map(\.name) == ["Tom", "Tom"])
  }

  @Test func anObjectThatIsReferredToTwiceIsWrittenTwice() throws {
    let animal = Animal(name: "Twin")
    let back = try roundTrip([animal, animal])
    #expect(back.map(\.name) == ["Twin", "Twin"])
  }

  private indirect enum Expression: Codable, Equatable {
    case number(Double)
    case name(String)
    case sum([Expression])
    case call(name: String, Expression, options: [String: Int]?)
    case nothing
  }

  @Test func enumsWithPayloadsComeBackAndLookAsInJSON() throws {
    let expression = Expression.sum([
      .number(1.5), .name("x"), .nothing, .sum([]),
      .call(name: "f", .call(name: "g", .nothing, options: nil), options: ["o": 1]),
    ])
    #expect(try roundTrip(expression) == expression)
    #expect(try CBORValue(cbor(Expression.nothing)).description == #"{"nothing": {}}"#)
    #expect(try CBORValue(cbor(Expression.number(2))).description == #"{"number": {"_0": 2.0}}"#)
    let unknown = CBORValue.map([CBORValue.Pair(.text("other"), .map([]))])
    #expect(
      failure { try CBORDecoder().decode(Expression.self, from: unknown.encoded) }
        == .otherType([]))
  }

  private enum Word: String, Codable { case yes, no }
  private enum Code: UInt8, Codable { case one = 1, last = 255 }

  @Test func rawValuesAreWrittenAsThemselves() throws {
    #expect(try cbor([Word.yes, .no]).hex == "8263796573626e6f")
    #expect(try cbor([Code.one, .last]).hex == "820118ff")
    #expect(try roundTrip([Word.no]) == [.no])
    #expect(failure { try value([Word].self, hex: "81616e") } == .corrupted(["Index 0#0"]))
    #expect(failure { try value([Code].self, hex: "8102") } == .corrupted(["Index 0#0"]))
    #expect(failure { try value([Code].self, hex: "8119ffff") } == .corrupted(["Index 0#0"]))
  }

  private struct Optionals: Codable, Equatable {
    var present: Int? = 1
    var missing: Int?
    var text: String? = "a"
    var date: Date?
    var list: [Int?] = [1, nil, 3]
    var nested: Int??
    var map: [String: Bool?] = ["a": nil, "b": true]
  }

  @Test func optionalsAreLeftOutOrNull() throws {
    let value = Optionals(nested: .some(.some(5)))
    #expect(try roundTrip(value) == value)
    let text = try CBORValue(cbor(value, deterministic: true)).description
    #expect(
      text == #"{"map": {"a": null, "b": true}, "list": [1, null, 3], "text": "a", "#
        + #""nested": 5, "present": 1}"#)
    // As in JSON, the inner nil of two comes back as the outer one.
    #expect(try roundTrip([Int??.some(nil), nil, 5]) == [nil, nil, 5])
    #expect(try roundTrip(Int?.none) == nil)
    #expect(try cbor(Int?.none).hex == "f6")
    #expect(try roundTrip(Optionals?.none) == nil)
    // Null where a value is optional is the same as none at all.
    let nulls = "a56770726573656e74f6676d697373696e67f6646c69737480636d6170a06474657874f6"
    let read = try LarderCoreTests.value(Optionals.self, hex: nulls)
    #expect(read.present == nil && read.text == nil && read.list.isEmpty && read.map.isEmpty)
  }

  private struct Nothing: Codable, Equatable {}

  @Test func whatIsEmptyComesBackEmpty() throws {
    #expect(try cbor([Int]()).hex == "80")
    #expect(try cbor([String: Int]()).hex == "a0")
    #expect(try cbor([Int: Int]()).hex == "a0")
    #expect(try cbor(Nothing()).hex == "a0")
    #expect(try cbor([Nothing(), Nothing()]).hex == "82a0a0")
    #expect(try cbor(Set<Int>()).hex == "80")
    #expect(try cbor("").hex == "60")
    #expect(try cbor(Data()).hex == "40")
    #expect(try roundTrip([[[Int]]]()) == [])
    #expect(try roundTrip([[[Int]](), [[]]]) == [[], [[]]])
    #expect(try roundTrip(["": [String: Nothing]()]) == ["": [:]])
  }

  @Test func theStandardCollectionsComeBack() throws {
    #expect(try roundTrip(Set([1, 2, 3])) == [1, 2, 3])
    #expect(try roundTrip(ContiguousArray([1, 2])) == [1, 2])
    #expect(try roundTrip(1..<5) == 1..<5)
    #expect(try roundTrip(1.5...2.5) == 1.5...2.5)
    #expect(try roundTrip(Array("ab".unicodeScalars.map(\.value))) == [97, 98])
    #expect(try roundTrip(IndexSet([1, 5, 6])) == IndexSet([1, 5, 6]))
    #expect(
      try roundTrip(DateComponents(year: 2024, month: 2)) == DateComponents(year: 2024, month: 2))
    #expect(try roundTrip(CGSize(width: 1, height: 2.5)) == CGSize(width: 1, height: 2.5))
    let ids = [UUID(), UUID()]
    #expect(try roundTrip(ids) == ids)
    #expect(try roundTrip(Decimal(string: "-12.340")) == Decimal(string: "-12.34"))
  }

  @Test func valuesOfItsOwnFormAreReadWithAndWithoutTheirTags() throws {
    let id = UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
    let bytes = "50000102030405060708090a0b0c0d0e0f"
    #expect(try cbor(id).hex == "d825" + bytes)
    #expect(try value(UUID.self, hex: "d825" + bytes) == id)
    #expect(try CBORDecoder().decode(UUID.self, from: cbor(id.uuidString)) == id)
    #expect(failure { try value(UUID.self, hex: "d8254100") } == .corrupted([]))
    #expect(failure { try value([UUID].self, hex: "816178") } == .corrupted(["Index 0#0"]))
    let url = try #require(URL(string: "a:b"))
    #expect(try value(URL.self, hex: "63613a62") == url)
    #expect(try cbor(url).hex == "d82063613a62")
    let decimal = try #require(Decimal(string: "273.15"))
    #expect(try cbor(decimal).hex == "c48221196ab3")
    #expect(try value(Decimal.self, hex: "c48221196ab3") == decimal)
    #expect(try value(Decimal.self, hex: "05") == 5)
    #expect(try value(Decimal.self, hex: "f93e00") == Decimal(1.5))
    // A tag that says what the content is anyway.
    #expect(try value(Int.self, hex: "d9d9f705") == 5)
    #expect(try value([String].self, hex: "d9d9f781d9d9f76161") == ["a"])
  }

  private struct Both: Encodable {
    let value: CBORValue
    let bytes: Data
  }

  @Test func aCBORValueHoldsWhateverIsThere() throws {
    let value = CBORValue.map([
      CBORValue.Pair(.unsigned(1), .tagged(99, .array([.undefined, .simple(40), .float(0.5)]))),
      CBORValue.Pair(.array([.null]), .bytes(Data([7]))),
      CBORValue.Pair(.negative(.max), .bool(true)),
    ])
    #expect(try roundTrip(value) == value)
    #expect(try roundTrip([value, value]) == [value, value])
    #expect(try roundTrip(["a": value]) == ["a": value])
    let both = try CBORValue(cbor(Both(value: value, bytes: Data([1]))))
    #expect(
      both
        == .map([
          CBORValue.Pair(.text("value"), value), CBORValue.Pair(.text("bytes"), .bytes(Data([1]))),
        ]))
  }
}
