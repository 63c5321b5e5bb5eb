// SPDX-License-Identifier: MIT

import Foundation
import LarderCompatibility
import LarderTestSupport
import Testing

/// Vellum's names of what archives and queries do.
struct ArchiveDialectTests {
  private let place: ArchivePlace
  private let users: Archive<ArchiveUser>

  init() throws {
    place = try ArchivePlace()
    users = try place.factory().archive(for: ArchiveUser.self)
  }

  private func emails(_ query: ArchiveQuery<ArchiveUser>) throws -> [String] {
    try query.getResults().map(\.email)
  }

  @Test func elementsAreRecordedAndAccessed() throws {
    try users.record(ArchiveUser(email: "a", age: 1))
    try users.record(ArchiveUser(email: "a", age: 2))
    #expect(try users.access("a")?.age == 2)
    #expect(try users.access("b") == nil)
    #expect(try users.contains("a"))
    #expect(try !users.contains("b"))
    #expect(try users.update("a") { $0.age = 3 }?.age == 3)
    #expect(try users.update("a") { $0.age += 1 }?.age == 4)
    #expect(try users.accessAll(limitedBy: 1).count == 1)
    #expect(try users.accessAll().count == 1)
  }

  @Test func whatIsInsertedOrUpdatedReplacesWhatIsThere() throws {
    for age in 1...2 {
      try users.insert(ArchiveUser(email: "a", age: age))
      try users.insert(ArchiveUser(email: "b", age: age))
      try users.update(ArchiveUser(email: "c", age: age))
      try users.update(ArchiveUser(email: "d", age: age))
      try users.insert(ArchiveUser(email: "e", age: age), ArchiveUser(email: "f", age: age))
      try users.insert(ArchiveUser(email: "g"), ArchiveUser(email: "g", age: age))
      try users.insert(all: [ArchiveUser(email: "h", age: age)])
      try users.insert(all: [ArchiveUser(email: "i", age: age)])
      #expect(try users.accessAll().map(\.age) == Array(repeating: age, count: 9))
    }
  }

  @Test func allOfItHasAnAsynchronousForm() async throws {
    for age in 1...2 {
      try await users.record(ArchiveUser(email: "a", age: age))
      try await users.update(ArchiveUser(email: "b", age: age))
      try await users.insert(ArchiveUser(email: "c", age: age))
      try await users.insert(ArchiveUser(email: "d", age: age), ArchiveUser(email: "e", age: age))
      try await users.insert(all: [ArchiveUser(email: "f", age: age)])
      #expect(try await users.accessAll().map(\.age) == Array(repeating: age, count: 6))
    }
    #expect(try await users.access("a")?.age == 2)
    #expect(try await !users.contains("x"))
    #expect(try await users.update("a") { $0.age = 3 }?.age == 3)
    let grown = users.findWhere { $0.age(.greater(than: 2)) }
    #expect(try await grown.firstResult()?.email == "a")
    #expect(try await grown.lastResult()?.email == "a")
    #expect(try await grown.getResults().count == 1)
    try await users.delete(ArchiveUser(email: "a"), ArchiveUser(email: "b"))
    try await users.delete(ids: "c")
    try await users.delete(allIDs: ["d", "e"])
    #expect(try await users.accessAll(limitedBy: 2).map(\.email) == ["f"])
    try await users.delete()
  }

  @Test func otherElementsAreInsertedAsEverywhere() throws {
    let citizens = try Archive<Citizen>(at: .path(place.path), configuration: place.configuration())
    try citizens.insert(Citizen(id: 1))
    #expect(errorCode { try citizens.insert(Citizen(id: 1)) } == .duplicate)
    #expect(errorCode { try citizens.insert(all: [Citizen(id: 1)]) } == .duplicate)
    #expect(errorCode { try citizens.insert(Citizen(id: 3), Citizen(id: 1)) } == .duplicate)
    try citizens.insert(Citizen(id: 4), Citizen(id: 5), Citizen(id: 6))
    #expect(try citizens.ids() == [1, 4, 5, 6])
    #expect(errorCode { try citizens.update(Citizen(id: 2)) } == .notFound)
  }

  @Test func severalAreDeletedAtOnce() throws {
    try users.insert(all: "abcdefghijk".map { ArchiveUser(email: String($0)) })
    try users.delete(ArchiveUser(email: "a"), ArchiveUser(email: "b"))
    try users.delete(ArchiveUser(email: "c"), ArchiveUser(email: "d"))
    try users.delete(ids: "e", "f")
    try users.delete(ids: "g")
    try users.delete(allIDs: ["h"])
    try users.delete(allIDs: ["i", "j"])
    #expect(try emails(users.query) == ["k"])
    let folder = users.path
    try users.delete()
    #expect(!FileManager.default.fileExists(atPath: folder))
  }

  @Test func queriesAreSortedAndLimited() throws {
    try users.insert(
      ArchiveUser(email: "a", age: 2), ArchiveUser(email: "b", age: 1),
      ArchiveUser(email: "c", age: 2), ArchiveUser(email: "d", age: 3))
    #expect(try emails(users.sorted { $0.age(.descending) }) == ["d", "a", "c", "b"])
    #expect(
      try emails(users.sorted { $0.age(.descending).email(.descending) }) == ["d", "c", "a", "b"])
    #expect(
      try emails(users.query.sorted { $0.by.age(.ascending).by.id(.descending) })
        == ["b", "c", "a", "d"])
    #expect(try emails(users.sorted { $0.id.count(.ascending) }) == ["a", "b", "c", "d"])
    #expect(try emails(users.sorted { $0 }) == ["a", "b", "c", "d"])
    let manual = users.sorted {
      $0.by.manual(.descending) { left, right in
        left.age == right.age
          ? .orderedSame : left.age < right.age ? .orderedAscending : .orderedDescending
      }
    }
    #expect(try emails(manual) == ["d", "a", "c", "b"])
    #expect(try emails(users.sorted(by: \.age, order: .descending).limitResults(by: 1)) == ["d"])
    #expect(try emails(users.limitResults(by: 2)) == ["a", "b"])
    #expect(try emails(users.filter(#Predicate { $0.age == 2 })) == ["a", "c"])
    let grown = users.findWhere { $0.age(.greater(than: 1)) }.sorted { $0.age(.ascending) }
    #expect(try grown.firstResult()?.email == "a")
    #expect(try grown.lastResult()?.email == "d")
    #expect(try grown.firstResult()?.email == "a")
    #expect(try grown.lastResult()?.email == "d")
    #expect(try grown.getResults().count == 3)
  }

  @Test func indexesAndPrimaryKeysHelp() throws {
    let citizens = try Archive<Citizen>(
      at: .path(place.path), indexes: Citizen.indexes, configuration: place.configuration())
    try citizens.insert(all: (0..<100).map { Citizen(id: $0, age: $0 % 10) })
    let query = citizens.findWhere { $0.age(.isEqual(3)).id(.less(than: 50)) }
      .sorted { $0.id(.ascending) }
    #expect(try query.getResults().map(\.id) == [3, 13, 23, 33, 43])
    #expect(try query.explain().index == "age")
    let nested = citizens.findWhere { $0.home.city(.hasPrefix("Os")) }
    #expect(try nested.explain().index == "city")
    let raw = citizens.findWhere { $0.level.rawValue(.isEqual("low")) }
    #expect(try raw.explain().index == "level")
    #expect(try citizens.findWhere { $0.id(.isEqual(3)) }.explain().examined == 1)
    #expect(try citizens.sorted { $0.age(.descending).id(.ascending) }.explain().isSortedByIndex)
  }
}
