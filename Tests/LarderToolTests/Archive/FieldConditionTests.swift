// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore
import Testing

@testable import LarderTool

@Suite struct FieldConditionTests {
  private static var element: CBORValue {
    [
      "name": "Ada Lovelace", "age": 36, "height": 1.65, "vip": true, "email": nil,
      "debt": -7, "code": "0123", "tags": ["math", "code", 7],
      "address": ["city": "London", "first line": "St James's Square"],
      "born": .tagged(1, -4_871_059_200), "died": .tagged(0, "1852-11-27T12:00:00Z"),
      "id": .tagged(
        37,
        .bytes(
          Data([
            0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE,
            0xFF,
          ]))),
      "big": .tagged(2, .bytes(Data([1, 0, 0, 0, 0, 0, 0, 0, 0]))),
      "price": .tagged(4, [-2, 1995]),
      "empty": "", "none": [],
    ]
  }

  private func isMet(_ text: String, ignoresCase: Bool = false) throws -> Bool {
    try FieldCondition(text).isMet(by: Self.element, ignoresCase: ignoresCase)
  }

  @Test(arguments: [
    "age = 36", "age == 36", "age=36", "age >= 36", "age>=36", "age <= 36", "age > 35.5",
    "age < 37", "age != 37", "age = 36.0", "height > 1", "height <= 1.65", "debt < 0",
    "debt = -7", "vip = true", "vip != false", "email = null", "missing = null", "name != null",
    "name = Ada Lovelace", "name = \"Ada Lovelace\"", "name >= Ada", "name < Bob",
    "name contains Love", "name contains \"a L\"", "name begins Ada", "name ends lace",
    "name matches ^A.*e$", "name matches \"L(o|u)ve\"", "name contains \"\"", "empty = \"\"",
    "tags contains math", "tags contains 7", "tags.0 = math", "tags.2 = 7", "tags.3 = null",
    "address.city = London", "address.\"first line\" contains James", "\"age\" = 36",
    "code = 0123", "code begins 01", "born < 1900-01-01", "born = 1815-08-24",
    "born >= 1815-08-24T00:00:00Z", "died > 1852-11-27", "died < 1852-11-27T13:00:00+00:30",
    "id = 00112233-4455-6677-8899-AABBCCDDEEFF", "big = 18446744073709551616",
    "big > 18446744073709551615", "price = 19.95", "price < 20", "  age   >   3  ",
  ])
  func isMetByTheElement(_ condition: String) throws {
    #expect(try isMet(condition))
  }

  @Test(arguments: [
    "age = 35", "age > 36", "age < 36", "age != 36", "age = text", "age contains 3",
    "name = ada lovelace", "name contains love", "name > 3", "name = 3", "vip = 1", "vip > false2",
    "email = \"\"", "email > 0", "missing = 0", "missing contains a", "missing < 1",
    "tags = math", "tags contains Math", "tags contains \"7\"", "tags.x = math", "none contains a",
    "address = London", "address.city.name = London", "code = 123", "code > 122",
    "born > 1900-01-01", "born = yesterday", "name matches ^L", "big = 18446744073709551615",
    "city = London",
  ])
  func isNotMetByTheElement(_ condition: String) throws {
    #expect(try !isMet(condition))
  }

  @Test(arguments: [
    "name = ADA LOVELACE", "name contains LOVE", "name begins ada", "name ends LACE",
    "name matches ^ada", "tags contains MATH",
  ])
  func caseCanBeIgnored(_ condition: String) throws {
    #expect(try !isMet(condition))
    #expect(try isMet(condition, ignoresCase: true))
  }

  @Test(arguments: [
    "", "age", "= 3", "age =", "age >", "age ! 3", "age like 3", "age 3", "name contains",
    "name containsx", ".age = 3", "age. = 3", "\"age = 3", "name = \"Ada", "name matches (",
    "name matches \"[\"", "age => 5", "age =< 5", "age === 36", "age = > 5", "age >> 5", "age <> 5",
    "age > 10 && vip = true", "age > 10 || age < 3", "name = 'Ada'",
    "age !== 36", "name = <b>",
  ])
  func anythingElseIsAnErrorThatSaysWhatToWrite(_ condition: String) {
    #expect(throws: ValidationError.self) { try FieldCondition(condition) }
  }

  private func misfit(_ text: String) throws -> String? {
    let condition = try FieldCondition(text)
    return try condition.misfit(#require(condition.path.value(in: Self.element)))
  }

  @Test(arguments: [
    ("age > abc", "'age' is a number, and abc is text."),
    ("age = abc", "'age' is a number, and abc is text."),
    ("age != true", "'age' is a number, and true is true or false."),
    ("age > null", "'age' is a number, and null is null."),
    ("age contains 3", "'age' is a number, and contains is for text and arrays."),
    ("age matches 3", "'age' is a number, and matches is for text."),
    ("vip = 1", "'vip' is true or false, and 1 is a number."),
    ("code > 122", "'code' is text, and 122 is a number; as text it stands in quotation marks."),
    ("name = true", "'name' is text, and true is true or false; as text it stands in"),
    ("born > abc", "'born' is a date, as 2026-03-01, 2026-03-01T12:00:00Z or today, and abc is"),
    ("address = London", "'address' is an object, and London is text."),
    ("tags = math", "'tags' is an array, and math is text."),
    ("tags contains true", "no item of 'tags' is true or false."),
  ])
  func aValueOfAnotherTypeIsToldApart(_ condition: String, _ said: String) throws {
    let misfit = try #require(try misfit(condition))
    #expect(misfit.hasPrefix("'\(condition)': \(said)"), "\(misfit)")
  }

  @Test(arguments: [
    "age > 3.5", "height = 2", "code = 123", "name = 3", "age = null", "name != null",
    "born > today", "born > yesterday", "born > @0", "died > 2026-01-01", "name > abc",
    "tags contains 8", "tags contains none", "none contains a", "name contains 3", "vip = false",
  ])
  func aValueThatCouldBeThereIsNone(_ condition: String) throws {
    #expect(try misfit(condition) == nil)
  }

  @Test func datesAreWrittenAsTimesAreElsewhere() throws {
    for condition in ["born < today", "died < yesterday", "died < @0", "born < 10m"] {
      #expect(try isMet(condition), "\(condition)")
    }
    #expect(try !isMet("born > today"))
  }

  @Test func aPathIsAFieldOfAFieldOrAnItemOfAnArray() throws {
    #expect(try FieldPath("tags.1").value(in: Self.element) == "code")
    #expect(try FieldPath("address.\"first line\"").value(in: Self.element) != nil)
    #expect(try FieldPath("tags.-1").value(in: Self.element) == nil)
    #expect(try FieldPath(" age ").text == "age")
    #expect(try FieldPath("1").value(in: .map([.init(1, "one")])) == "one")
    for text in ["", " ", "a b", ".", "a..b", "a.", "\"a"] {
      #expect(throws: ValidationError.self, "\(text)") { try FieldPath(text) }
    }
  }

  @Test func fieldsOfEveryKindHaveAnOrder() {
    let values: [CBORValue?] = [
      nil, false, true, -3, 2, 2.5, .unsigned(.max),
      .tagged(2, .bytes(Data(repeating: 9, count: 9))),
      .tagged(1, 0), .tagged(0, "2026-01-01T00:00:00Z"), "", "A", "a", "b", [1],
    ]
    let fields = values.map(FieldValue.init)
    for (index, field) in fields.enumerated() {
      for other in fields[(index + 1)...] {
        #expect(field < other, "\(field) \(other)")
        #expect(!(other < field), "\(other) \(field)")
      }
    }
    #expect(FieldValue(.null) == FieldValue(nil))
    #expect(FieldValue(.float(.nan)).compare(FieldValue(1)) == nil)
  }
}
