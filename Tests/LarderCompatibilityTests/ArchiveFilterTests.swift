// SPDX-License-Identifier: MIT

import Foundation
import LarderCompatibility
import LarderTestSupport
import Testing

/// What a filter can ask of a property. After Vellum's QueryValidatorSpec: isValid, isNil,
/// isNotNil, isEqual, isNotEqual, greater, less, countEqual, countLess, countGreater, isEmpty,
/// isNotEmpty, contains, and of texts contains, case-insensitive, regex and nilOrEmpty; and the
/// spellings of its README that did not compile: `.contains("premium")`, `.isNotEqual(nil)`.
struct ArchiveFilterTests {
  private let archive: Archive<Citizen>
  private let place: ArchivePlace

  init() throws {
    place = try ArchivePlace()
    archive = try Archive(
      at: .path(place.path), indexes: Citizen.indexes, configuration: place.configuration())
    try archive.insert(all: [
      Citizen(id: 1, name: "Ada Lovelace", age: 36, nickname: "Countess", tags: ["math"]),
      Citizen(id: 2, name: "alan turing", age: 41, points: 5, score: .nan, tags: ["math", "ai"]),
      Citizen(id: 3, name: "Grace Hopper", age: 85, nickname: "", points: -5, isActive: false),
      Citizen(id: 4, name: "Zoë", age: 17, nickname: "Zo", points: 0, score: 2, level: .high),
    ])
  }

  private func ids(
    _ conditions: (ArchiveFilter<Citizen>) -> ArchiveFilter<Citizen>
  ) throws -> [Int] {
    // Whichever way they are found.
    let found = try archive.findWhere(conditions).getResults().map(\.id).sorted()
    #expect(try archive.findWhere(conditions).count() == found.count)
    return found
  }

  @Test func aClosureMaySayAnything() throws {
    #expect(try ids { $0.age(.isValid { $0 % 2 == 1 }) } == [2, 3, 4])
    struct Refusal: Error {}
    #expect(throws: Refusal.self) { try ids { $0.age(.isValid { _ in throw Refusal() }) } }
  }

  @Test func nilIsFoundOrLeftOut() throws {
    #expect(try ids { $0.nickname(.isNil()) } == [2])
    #expect(try ids { $0.nickname(.isNotNil()) } == [1, 3, 4])
    #expect(try ids { $0.points(.isNil()) } == [1])
    // What is not optional is never nil.
    #expect(try ids { $0.name(.isNil()) } == [])
    #expect(try ids { $0.name(.isNotNil()) } == [1, 2, 3, 4])
    #expect(try ids { $0.nickname(.isNilOrEmpty()) } == [2, 3])
  }

  @Test func valuesAreEqualOrNot() throws {
    #expect(try ids { $0.age(.isEqual(with: 36)) } == [1])
    #expect(try ids { $0.age(.isEqual(36)) } == [1])
    #expect(try ids { $0.age(.isNotEqual(with: 36)) } == [2, 3, 4])
    #expect(try ids { $0.nickname(.isEqual(with: "Zo")) } == [4])
    #expect(try ids { $0.nickname(.isEqual(nil)) } == [2])
    #expect(try ids { $0.nickname(.isNotEqual(nil)) } == [1, 3, 4])
    #expect(try ids { $0.nickname(.isNotEqual(with: nil)) } == [1, 3, 4])
    #expect(try ids { $0.nickname(.isNotEqual("Zo")) } == [1, 2, 3])
    #expect(try ids { $0.name(.isEqual("Zoe\u{308}")) } == [4])
    #expect(try ids { $0.isActive(.isEqual(false)) } == [3])
    #expect(try ids { $0.level(.isEqual(.high)) } == [4])
    #expect(try ids { $0.tags(.isEqual(["math"])) } == [1])
    #expect(try ids { $0.age(.isOne(of: [17, 85, 100])) } == [3, 4])
    #expect(try ids { $0.age(.isOne(of: [])) } == [])
    #expect(try ids { $0.score(.isEqual(.nan)) } == [])
  }

  @Test func valuesAreBeforeOrBehindABound() throws {
    #expect(try ids { $0.age(.greater(than: 36)) } == [2, 3])
    #expect(try ids { $0.age(.greaterOrEqual(with: 36)) } == [1, 2, 3])
    #expect(try ids { $0.age(.less(than: 36)) } == [4])
    #expect(try ids { $0.age(.lessOrEqual(with: 36)) } == [1, 4])
    #expect(try ids { $0.age(.isIn(17..<41)) } == [1, 4])
    #expect(try ids { $0.age(.isIn(36...41)) } == [1, 2])
    #expect(try ids { $0.age(.greater(than: .max)) } == [])
    #expect(try ids { $0.age(.greaterOrEqual(with: .min)) } == [1, 2, 3, 4])
    #expect(try ids { $0.name(.less(than: "Grace")) } == [1])
    // nil is in no relation to anything.
    #expect(try ids { $0.points(.less(than: 5)) } == [3, 4])
    #expect(try ids { $0.points(.lessOrEqual(with: 5)) } == [2, 3, 4])
    #expect(try ids { $0.points(.greater(than: -5)) } == [2, 4])
    #expect(try ids { $0.points(.greaterOrEqual(with: -5)) } == [2, 3, 4])
    #expect(try ids { $0.points(.isIn(0..<5)) } == [4])
    #expect(try ids { $0.points(.isIn(-5...0)) } == [3, 4])
    // Nor is what is not a number.
    #expect(try ids { $0.score(.greater(than: 0)) } == [1, 3, 4])
    #expect(try ids { $0.score(.less(than: .infinity)) } == [1, 3, 4])
    #expect(try ids { $0.score(.lessOrEqual(with: .nan)) } == [])
    // By its own order, and not by that of the raw values.
    #expect(try ids { $0.level(.greater(than: .low)) } == [4])
    #expect(try ids { $0.level(.less(than: .high)) } == [1, 2, 3])
  }

  @Test func collectionsHaveSoManyMembers() throws {
    #expect(try ids { $0.tags(.countEqual(with: 1)) } == [1])
    #expect(try ids { $0.tags(.countGreater(than: 1)) } == [2])
    #expect(try ids { $0.tags(.countLess(than: 1)) } == [3, 4])
    #expect(try ids { $0.tags(.countGreaterOrEqual(with: 1)) } == [1, 2])
    #expect(try ids { $0.tags(.countLessOrEqual(with: 1)) } == [1, 3, 4])
    #expect(try ids { $0.tags(.isEmpty()) } == [3, 4])
    #expect(try ids { $0.tags(.isNotEmpty()) } == [1, 2])
    #expect(try ids { $0.name(.countEqual(with: 3)) } == [4])
  }

  @Test func collectionsContainMembers() throws {
    #expect(try ids { $0.tags(.contains(with: "math")) } == [1, 2])
    #expect(try ids { $0.tags(.contains("math")) } == [1, 2])
    #expect(try ids { $0.tags(.contains("math", "ai")) } == [2])
    #expect(try ids { $0.tags(.contains(all: ["math", "ai"])) } == [2])
    #expect(try ids { $0.tags(.contains(all: [])) } == [1, 2, 3, 4])
    #expect(try ids { $0.tags(.contains(atLeastOne: ["ai", "law"])) } == [2])
    #expect(try ids { $0.tags(.contains(atLeastOne: [])) } == [])
  }

  @Test func textsContainTexts() throws {
    #expect(try ids { $0.name(.contains(string: "a L")) } == [1])
    #expect(try ids { $0.name(.contains("race")) } == [3])
    #expect(try ids { $0.name(.contains("")) } == [1, 2, 3, 4])
    #expect(try ids { $0.name(.contains("ë")) } == [4])
    #expect(try ids { $0.name(.contains("premium")) } == [])
    #expect(try ids { $0.name(.contains(string: "A", caseSensitive: true)) } == [1])
    #expect(try ids { $0.name(.contains(string: "AL", caseSensitive: false)) } == [2])
    #expect(try ids { $0.name(.contains(string: "OË", caseSensitive: false)) } == [4])
    #expect(try ids { $0.nickname(.contains("o")) } == [1, 4])
    #expect(try ids { $0.nickname(.contains(string: "COUNT", caseSensitive: false)) } == [1])
  }

  @Test func textsBeginWithTexts() throws {
    #expect(try ids { $0.name(.hasPrefix("Gra")) } == [3])
    #expect(try ids { $0.name(.hasPrefix("")) } == [1, 2, 3, 4])
    #expect(try ids { $0.name(.hasPrefix("Zo")) } == [4])
    // A character is more than its first scalar.
    #expect(try ids { $0.name(.hasPrefix("Zoe")) } == [])
    #expect(try ids { $0.name(.hasPrefix("Zoe\u{308}")) } == [4])
    #expect(try ids { $0.nickname(.hasPrefix("C")) } == [1])
    #expect(try ids { $0.nickname(.hasPrefix("")) } == [1, 3, 4])
  }

  @Test func textsMatchRegularExpressions() throws {
    #expect(try ids { $0.name(.matches(regex: "^[A-Z].*e")) } == [1, 3])
    #expect(try ids { $0.name(.matches(regex: "tur")) } == [2])
    #expect(try ids { $0.nickname(.matches(regex: "^$")) } == [3])
    #expect(errorCode { try ids { $0.name(.matches(regex: "(")) } } == .invalidArgument)
  }

  @Test func conditionsOfOneFilterHaveToBeMetAll() throws {
    #expect(try ids { $0.age(.greater(than: 20)).age(.less(than: 50)) } == [1, 2])
    #expect(try ids { $0.age(.greater(than: 20)).tags(.contains("ai")) } == [2])
    #expect(try ids { $0.home.city(.isEqual("Oslo")).isActive(.isEqual(true)) } == [1, 2, 4])
    #expect(try ids { $0[\.age](.isEqual(36)) } == [1])
    #expect(try ids { $0 } == [1, 2, 3, 4])
  }
}
