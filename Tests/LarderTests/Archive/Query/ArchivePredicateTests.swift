// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Foundation's `#Predicate`, `SortDescriptor` and comparators.
struct ArchivePredicateTests {
  private let place: CitizenPlace
  private let archive: Archive<Citizen>

  init() throws {
    place = try CitizenPlace()
    archive = try place.open(
      (0..<20).map {
        Citizen(
          id: $0, name: "n\($0 % 5)", age: $0, nickname: $0 % 4 == 0 ? nil : "k\($0 % 4)",
          score: Double($0) / 2, tags: $0 % 2 == 0 ? ["even"] : [], isActive: $0 % 3 == 0,
          level: $0 < 3 ? .low : .high,
          home: Citizen.Home(city: $0 < 10 ? "Oslo" : "Rome"))
      })
  }

  /// Runs the predicate, which gives what Foundation finds.
  private func run(
    _ predicate: Predicate<Citizen>, _ index: String?, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let all = try archive.query.results()
    let expected = try all.filter(predicate)
    let query = archive.where(predicate)
    let found = try query.results().sorted { $0.id < $1.id }
    #expect(found == expected, sourceLocation: location)
    #expect(!found.isEmpty && found.count < 20, sourceLocation: location)
    #expect(try query.count() == found.count, sourceLocation: location)
    let explanation = try query.explain()
    #expect(explanation.index == index, sourceLocation: location)
    if index != nil { #expect(explanation.examined < 20, sourceLocation: location) }
  }

  @Test func comparisonsWithConstantsUseTheIndex() throws {
    try run(#Predicate { $0.age == 3 }, "age")
    try run(#Predicate { $0.age < 3 }, "age")
    try run(#Predicate { $0.age <= 3 }, "age")
    try run(#Predicate { $0.age > 3 }, "age")
    try run(#Predicate { $0.age >= 3 }, "age")
    try run(#Predicate { 3 > $0.age }, "age")
    try run(#Predicate { 3 >= $0.age }, "age")
    try run(#Predicate { 3 < $0.age }, "age")
    try run(#Predicate { 3 <= $0.age }, "age")
    try run(#Predicate { $0.age >= 3 && $0.age < 7 }, "age")
    try run(#Predicate { $0.name == "n2" }, "name")
    try run(#Predicate { $0.name > "n2" }, "name")
    try run(#Predicate { $0.nickname == "k1" }, "nickname")
    try run(#Predicate { $0.nickname == nil }, "nickname")
    try run(#Predicate { $0.nickname != nil }, "nickname")
    try run(#Predicate { $0.score > -1 && $0.score < 2.5 }, "score")
    try run(#Predicate { $0.home.city == "Rome" }, "city")
    try run(#Predicate { (3..<7).contains($0.age) }, "age")
    try run(#Predicate { (3...7).contains($0.age) }, "age")
    try run(#Predicate { $0.isActive && $0.age > 9 }, "active")
    // Equality before ranges.
    try run(#Predicate { $0.age > 3 && $0.name == "n2" }, "name")
  }

  @Test func capturedValuesAreConstants() throws {
    struct Settings: Codable { var least: Int }
    let least = 12
    let settings = Settings(least: 14)
    let range = 4..<6
    let level = Citizen.Level.low
    try run(#Predicate { $0.age > least }, "age")
    try run(#Predicate { $0.age > settings.least }, "age")
    try run(#Predicate { range.contains($0.age) }, "age")
    try run(#Predicate { $0.level == level }, "level")
    let name: String? = "k3"
    try run(#Predicate { $0.nickname == name }, "nickname")
  }

  @Test func whatIsNotUnderstoodIsEvaluatedAllTheSame() throws {
    try run(#Predicate { $0.age == 3 || $0.name.count == 0 }, nil)
    try run(#Predicate { ($0.age == 3 && $0.id == 3) || !($0.tags.contains("even")) }, nil)
    try run(#Predicate { $0.tags.contains { $0 == "even" } }, nil)
    try run(#Predicate { $0.name.count + $0.age < 9 || $0.age == 15 }, nil)
    try run(#Predicate { $0.age != 3 }, nil)
    try run(#Predicate { !($0.age == 3) }, nil)
    try run(#Predicate { $0.age + 1 == 3 }, nil)
    try run(#Predicate { $0.tags.contains("even") }, nil)
    try run(#Predicate { $0.name.contains("2") }, nil)
    try run(#Predicate { $0.score * 3 == 3 || $0.age == $0.id - 1 }, nil)
    // What is understood of it chooses an index.
    try run(#Predicate { $0.age > 5 && $0.tags.contains("even") }, "age")
    try run(#Predicate { $0.tags.contains("even") && $0.name == "n2" }, "name")
  }

  @Test func whatAPredicateThrowsComesOut() throws {
    let predicate = #Predicate<Citizen> { $0.nickname!.count > 1 }
    #expect(throws: PredicateError.self) { try archive.where(predicate).results() }
    // A constant that cannot be had is no plan, and the same error.
    let none: Int? = nil
    let broken = #Predicate<Citizen> { $0.age > none! }
    #expect(throws: PredicateError.self) { try archive.where(broken).results() }
  }

  @Test func predicatesThatAlwaysOrNeverHold() throws {
    #expect(try archive.where(Predicate<Citizen>.true).count() == 20)
    #expect(try archive.where(Predicate<Citizen>.false).count() == 0)
  }

  @Test func descriptorsSort() throws {
    func ids(_ query: ArchiveQuery<Citizen>) throws -> [Int] { try query.results().map(\.id) }
    let all = try archive.query.results()
    #expect(
      try ids(archive.query.sorted(using: SortDescriptor(\.age, order: .reverse)))
        == (0..<20).reversed())
    let both = [SortDescriptor(\Citizen.nickname), SortDescriptor(\.age, order: .reverse)]
    #expect(try archive.sorted(using: both).results() == all.sorted(using: both))
    #expect(try ids(archive.sorted(using: [])) == Array(0..<20))
    // Whatever Foundation makes of a descriptor whose order was changed, so do we.
    var changed = SortDescriptor(\Citizen.age)
    changed.order = .reverse
    #expect(try archive.sorted(using: [changed]).results() == all.sorted(using: changed))
  }

  @Test func descriptorsAndComparatorsOfAnIndexedPropertyUseTheIndex() throws {
    let all = try archive.query.results()
    for order in [SortOrder.forward, .reverse] {
      let explanations = try [
        archive.sorted(using: [SortDescriptor(\.age, order: order)]).explain(),
        archive.query.sorted(using: SortDescriptor(\.nickname, order: order)).explain(),
        archive.query.sorted(using: KeyPathComparator(\.age, order: order)).explain(),
        archive.query.sorted(using: KeyPathComparator(\.points, order: order)).explain(),
      ]
      #expect(explanations.map(\.index) == ["age", "nickname", "age", "points"])
      #expect(explanations.allSatisfy { $0.isSortedByIndex })
      #expect(explanations.allSatisfy { $0.isDescending == (order == .reverse) })
    }
    // What compares texts in a way of its own, what no index is of, and what is no path.
    for comparator in [
      KeyPathComparator(\Citizen.name, order: .reverse), KeyPathComparator(\Citizen.id),
      KeyPathComparator(\Citizen.age, comparator: Nearness(), order: .forward),
    ] {
      let query = archive.query.sorted(using: comparator)
      #expect(try query.results() == all.sorted(using: comparator))
      #expect(try query.explain().index == nil)
    }
  }

  /// Whatever is nearer to ten comes first.
  private struct Nearness: SortComparator {
    var order = SortOrder.forward

    func compare(_ a: Int, _ b: Int) -> ComparisonResult {
      let (x, y) = (abs(a - 10), abs(b - 10))
      return x == y
        ? .orderedSame : (x < y) == (order == .forward) ? .orderedAscending : .orderedDescending
    }
  }
}
