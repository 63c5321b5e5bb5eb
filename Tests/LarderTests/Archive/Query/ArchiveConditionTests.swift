// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// What a condition can ask of a property, and what `&&`, `||` and `!` make of conditions.
struct ArchiveConditionTests {
  private let archive: Archive<Citizen>
  private let place: CitizenPlace

  init() throws {
    place = try CitizenPlace()
    archive = try place.open([
      Citizen(id: 1, name: "Ada Lovelace", age: 36, nickname: "Countess", tags: ["math"]),
      Citizen(id: 2, name: "alan turing", age: 41, points: 5, score: .nan, tags: ["math", "ai"]),
      Citizen(id: 3, name: "Grace Hopper", age: 85, nickname: "", points: -5, isActive: false),
      Citizen(id: 4, name: "Zoë", age: 17, nickname: "Zo", points: 0, score: 2, level: .high),
    ])
  }

  private func ids(
    _ condition: (ArchiveProperties<Citizen>) -> ArchiveCondition<Citizen>
  ) throws -> [Int] {
    try ids(archive.where(condition), others: archive.where { !condition($0) })
  }

  private func ids(_ condition: ArchiveCondition<Citizen>) throws -> [Int] {
    try ids(archive.where(condition), others: archive.where(!condition))
  }

  /// Whichever way they are found; and all others by the opposite.
  private func ids(
    _ query: ArchiveQuery<Citizen>, others: ArchiveQuery<Citizen>
  ) throws -> [Int] {
    let found = try query.results().map(\.id).sorted()
    #expect(try query.count() == found.count)
    let rest = try others.results().map(\.id)
    #expect(try others.count() == rest.count)
    #expect((found + rest).sorted() == [1, 2, 3, 4])
    return found
  }

  @Test func aClosureMaySayAnything() throws {
    #expect(try ids { $0.age.satisfies { $0 % 2 == 1 } } == [2, 3, 4])
    struct Refusal: Error {}
    #expect(throws: Refusal.self) { try ids { $0.age.satisfies { _ in throw Refusal() } } }
  }

  @Test func nilIsFoundOrLeftOut() throws {
    #expect(try ids { $0.nickname == nil } == [2])
    #expect(try ids { $0.nickname != nil } == [1, 3, 4])
    #expect(try ids { $0.points == nil } == [1])
    #expect(try ids { $0.nickname.isOne(of: [nil, ""]) } == [2, 3])
  }

  @Test func valuesAreEqualOrNot() throws {
    #expect(try ids { $0.age == 36 } == [1])
    #expect(try ids { $0.age != 36 } == [2, 3, 4])
    #expect(try ids { $0.nickname == "Zo" } == [4])
    #expect(try ids { $0.nickname == nil } == [2])
    #expect(try ids { $0.nickname != nil } == [1, 3, 4])
    #expect(try ids { $0.nickname != "Zo" } == [1, 2, 3])
    #expect(try ids { $0.name == "Zoe\u{308}" } == [4])
    #expect(try ids { $0.isActive == false } == [3])
    #expect(try ids { $0.level == .high } == [4])
    #expect(try ids { $0.tags == ["math"] } == [1])
    #expect(try ids { $0.age.isOne(of: [17, 85, 100]) } == [3, 4])
    #expect(try ids { $0.age.isOne(of: []) } == [])
    #expect(try ids { $0.score == .nan } == [])
  }

  @Test func valuesAreBeforeOrBehindABound() throws {
    #expect(try ids { $0.age > 36 } == [2, 3])
    #expect(try ids { $0.age >= 36 } == [1, 2, 3])
    #expect(try ids { $0.age < 36 } == [4])
    #expect(try ids { $0.age <= 36 } == [1, 4])
    #expect(try ids { $0.age.within(17..<41) } == [1, 4])
    #expect(try ids { $0.age.within(36...41) } == [1, 2])
    #expect(try ids { $0.age.within(41...) } == [2, 3])
    #expect(try ids { $0.age.within(..<41) } == [1, 4])
    #expect(try ids { $0.age.within(...41) } == [1, 2, 4])
    #expect(try ids { $0.age > .max } == [])
    #expect(try ids { $0.age >= .min } == [1, 2, 3, 4])
    #expect(try ids { $0.name < "Grace" } == [1])
    // nil is in no relation to anything.
    #expect(try ids { $0.points < 5 } == [3, 4])
    #expect(try ids { $0.points <= 5 } == [2, 3, 4])
    #expect(try ids { $0.points > -5 } == [2, 4])
    #expect(try ids { $0.points >= -5 } == [2, 3, 4])
    #expect(try ids { $0.points.within(0..<5) } == [4])
    #expect(try ids { $0.points.within(-5...0) } == [3, 4])
    #expect(try ids { $0.points.within(..<5) } == [3, 4])
    // Nor is what is not a number.
    #expect(try ids { $0.score > 0 } == [1, 3, 4])
    #expect(try ids { $0.score < .infinity } == [1, 3, 4])
    #expect(try ids { $0.score <= .nan } == [])
    // By its own order, and not by that of the raw values.
    #expect(try ids { $0.level > .low } == [4])
    #expect(try ids { $0.level < .high } == [1, 2, 3])
  }

  @Test func collectionsHaveSoManyMembers() throws {
    #expect(try ids { $0.tags.count == 1 } == [1])
    #expect(try ids { $0.tags.count > 1 } == [2])
    #expect(try ids { $0.tags.count < 1 } == [3, 4])
    #expect(try ids { $0.tags.count >= 1 } == [1, 2])
    #expect(try ids { $0.tags.count <= 1 } == [1, 3, 4])
    #expect(try ids { $0.tags.isEmpty } == [3, 4])
    #expect(try ids { !$0.tags.isEmpty } == [1, 2])
    #expect(try ids { $0.name.count == 3 } == [4])
  }

  @Test func collectionsContainMembers() throws {
    #expect(try ids { $0.tags.contains("math") } == [1, 2])
    #expect(try ids { $0.tags.contains(allOf: ["math", "ai"]) } == [2])
    #expect(try ids { $0.tags.contains(allOf: []) } == [1, 2, 3, 4])
    #expect(try ids { $0.tags.contains(anyOf: ["ai", "law"]) } == [2])
    #expect(try ids { $0.tags.contains(anyOf: []) } == [])
  }

  @Test func textsContainTexts() throws {
    #expect(try ids { $0.name.contains("a L") } == [1])
    #expect(try ids { $0.name.contains("race") } == [3])
    #expect(try ids { $0.name.contains("") } == [1, 2, 3, 4])
    #expect(try ids { $0.name.contains("ë") } == [4])
    #expect(try ids { $0.name.contains("premium") } == [])
    #expect(try ids { $0.name.contains("A", caseSensitive: true) } == [1])
    #expect(try ids { $0.name.contains("AL", caseSensitive: false) } == [2])
    #expect(try ids { $0.name.contains("OË", caseSensitive: false) } == [4])
    #expect(try ids { $0.nickname.contains("o") } == [1, 4])
    #expect(try ids { $0.nickname.contains("COUNT", caseSensitive: false) } == [1])
  }

  @Test func textsBeginWithTexts() throws {
    #expect(try ids { $0.name.hasPrefix("Gra") } == [3])
    #expect(try ids { $0.name.hasPrefix("") } == [1, 2, 3, 4])
    #expect(try ids { $0.name.hasPrefix("Zo") } == [4])
    // A character is more than its first scalar.
    #expect(try ids { $0.name.hasPrefix("Zoe") } == [])
    #expect(try ids { $0.name.hasPrefix("Zoe\u{308}") } == [4])
    #expect(try ids { $0.nickname.hasPrefix("C") } == [1])
    #expect(try ids { $0.nickname.hasPrefix("") } == [1, 3, 4])
  }

  @Test func textsMatchRegularExpressions() throws {
    #expect(try ids { $0.name.matches(regex: "^[A-Z].*e") } == [1, 3])
    #expect(try ids { $0.name.matches(regex: "tur") } == [2])
    #expect(try ids { $0.nickname.matches(regex: "^$") } == [3])
    #expect(errorCode { try ids { $0.name.matches(regex: "(") } } == .invalidArgument)
  }

  @Test func propertiesThatAreTrueAreConditions() throws {
    #expect(try ids { $0.isActive } == [1, 2, 4])
    #expect(try ids { !$0.isActive } == [3])
    #expect(try ids { $0.isActive && !$0.tags.isEmpty } == [1, 2])
    let inactive = archive.where { !$0.isActive }
    #expect(try inactive.explain().range == "active == false")
    #expect(try archive.where { !($0.isActive == false) }.explain().range == "active == true")
  }

  @Test func conditionsAreJoinedAndTurnedRound() throws {
    #expect(try ids { $0.age > 20 && $0.age < 50 } == [1, 2])
    #expect(try ids { $0.age > 20 && $0.tags.contains("ai") } == [2])
    #expect(try ids { $0.home.city == "Oslo" && $0.isActive == true } == [1, 2, 4])
    #expect(try ids { $0[\.age] == 36 } == [1])
    #expect(try ids { $0.id == 3 || $0.age == 36 } == [1, 3])
    #expect(try ids { $0.age > 40 && $0.nickname != nil || $0.name.hasPrefix("Z") } == [3, 4])
    #expect(try ids { !($0.age > 40 || $0.nickname == "Zo") } == [1])
    #expect(try ids { !($0.age > 40 && $0.nickname == nil) } == [1, 3, 4])
    #expect(try ids { !(!($0.tags.contains("ai")) && $0.isActive) } == [2, 3])
    struct Refusal: Error {}
    // As in Swift, what does not matter is not asked.
    #expect(
      try ids { $0.age < 100 || $0.age.satisfies { _ in throw Refusal() } } == [1, 2, 3, 4])
    #expect(try ids { $0.age > 100 && $0.age.satisfies { _ in throw Refusal() } } == [])
  }

  @Test func keyPathsAreComparedToo() throws {
    #expect(try ids(\.age > 36 && \.nickname == nil) == [2])
    #expect(try ids(\.age == 36 || \.home.city != "Oslo") == [1])
    #expect(try ids(\.points < 5) == [3, 4])
    #expect(try ids(\.points <= 5 && \.points >= 0) == [2, 4])
    #expect(try ids(!(\.age < 36) && \.age <= 41) == [1, 2])
    #expect(try archive.where(\.age >= 36).limit(1).results().map(\.id) == [1])
    let explanation = try archive.where(\.id == 3).explain()
    #expect(explanation.isByPrimaryKey && explanation.examined == 1)
  }

  @Test func aClosureAKeyPathAndAPredicateArePlannedAlike() throws {
    let expected = try archive.where(#Predicate { $0.age == 36 || $0.name == "Zoë" }).explain()
    #expect(expected.union.count == 2)
    #expect(try archive.where { $0.age == 36 || $0.name == "Zoë" }.explain() == expected)
    #expect(try archive.where(\.age == 36 || \.name == "Zoë").explain() == expected)
    let opposite = try archive.where(#Predicate { !($0.age < 40 && $0.age != 17) }).explain()
    #expect(opposite.index == "age" && !opposite.isFiltered)
    #expect(try archive.where { !($0.age < 40 && $0.age != 17) }.explain() == opposite)
    #expect(try archive.where(!(\.age < 40 && \.age != 17)).explain() == opposite)
  }
}
