// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Writes that depend on what is there: inserting, updating and deleting by a condition.
struct ArchiveChangingTests {
  private let place: ArchivePlace

  init() throws { place = try ArchivePlace() }

  private func filled(_ count: Int) throws -> Archive<ArchivePerson> {
    let archive = try place.openPersons()
    try archive.insert(all: (0..<count).map { ArchivePerson($0, age: $0 % 10) })
    return archive
  }

  // MARK: - Inserting

  @Test func whatIsInsertedMustBeNew() throws {
    let archive = try place.openPersons()
    try archive.insert(ArchivePerson(1, name: "first"))
    let again = ArchivePerson(1, name: "second-name")
    let error = #expect(throws: LarderError.self) { try archive.insert(again) }
    #expect(error?.code == .duplicate)
    #expect(error?.message.contains(place.path) == true)
    #expect(error?.message.contains("second-name") == false)
    let duplicate = try #require(error?.cause as? ArchiveDuplicate)
    #expect(duplicate.index == nil && duplicate.id as? Int == 1)
    #expect(try archive.element(forID: 1)?.name == "first")
    try archive.delete(id: 1)
    try archive.insert(again)
    #expect(try archive.element(forID: 1) == again)
  }

  @Test func whatHasExpiredIsNoDuplicate() throws {
    let archive = try place.openPersons { $0.expiration = .seconds(10) }
    try archive.insert(ArchivePerson(1, name: "first"))
    place.clock.advance(20)
    try archive.insert(ArchivePerson(1, name: "second"))
    place.clock.advance(20)
    #expect(errorCode { try archive.update(ArchivePerson(1)) } == .notFound)
    try archive.insert(all: [ArchivePerson(1, name: "third")])
    #expect(try archive.element(forID: 1)?.name == "third")
  }

  @Test(arguments: [0, 1, 999, 1000, 1001, 2499])
  func theFirstDuplicateIsNamedAndItsBatchIsNotStored(offset: Int) throws {
    // So large that a batch ends by its count.
    let archive = try place.openPersons { $0.journalCapacity = 16 << 20 }
    try archive.insert(ArchivePerson(offset, name: "there"))
    let error = #expect(throws: LarderError.self) {
      try archive.insert(all: (0..<2500).map { ArchivePerson($0) })
    }
    #expect(error?.code == .duplicate)
    #expect(error?.message.contains("offset \(offset) ") == true)
    #expect((error?.cause as? ArchiveDuplicate)?.id as? Int == offset)
    #expect(try archive.count == offset / 1000 * 1000 + 1)
    #expect(try archive.element(forID: offset)?.name == "there")
    #expect(try archive.verify().isIntact)
  }

  @Test func aSequenceMayHaveNoDuplicateOfItsOwn() throws {
    let archive = try place.openPersons()
    let twice = [ArchivePerson(1), ArchivePerson(2), ArchivePerson(1)]
    let error = #expect(throws: LarderError.self) { try archive.insert(all: twice) }
    #expect(error?.code == .duplicate)
    #expect(error?.message.contains("offset 2 ") == true)
    #expect(try archive.isEmpty)
    try archive.upsert(all: twice)
    #expect(try archive.count == 2)
  }

  @Test func oneOfSeveralThreadsInserts() throws {
    let archive = try place.openPersons()
    let inserted = Locked(0)
    onDiskThreads(4) { number in
      for id in 0..<100 {
        do {
          try archive.insert(ArchivePerson(id, age: number))
          inserted.withLock { $0 += 1 }
        } catch { #expect((error as? LarderError)?.code == .duplicate) }
      }
    }
    #expect(inserted.withLock { $0 } == 100)
    #expect(try archive.count == 100)
  }

  // MARK: - Updating

  @Test func whatIsUpdatedMustBeThere() throws {
    let archive = try filled(2)
    try archive.update(ArchivePerson(1, name: "new"))
    #expect(try archive.element(forID: 1)?.name == "new")
    #expect(errorCode { try archive.update(ArchivePerson(2)) } == .notFound)
    #expect(try archive.count == 2)
  }

  @Test(arguments: [true, false])
  func allThatMeetAConditionAreChanged(isFlushed: Bool) throws {
    let archive = try filled(100)
    if isFlushed { try archive.checkpoint() }
    #expect(try archive.update(where: { $0.age < 3 }) { $0.name = "young" } == 30)
    #expect(try archive.where { $0.name == "young" }.count() == 30)
    #expect(try archive.update(where: { $0.age == 9 }) { $0.age = -1 } == 10)
    #expect(try archive.where { $0.age == 9 }.count() == 0)
    #expect(try archive.update(where: { $0.age == 9 }) { $0.age = 0 } == 0)
    #expect(try archive.where(\.age == -1).limit(4).update { $0.mail = "m" } == 4)
    #expect(try archive.where(\.mail != nil).count() == 4)
    #expect(try archive.count == 100)
    #expect(try archive.verify().isIntact)
  }

  @Test func aChangeThatFailsChangesNothing() throws {
    let archive = try filled(100)
    struct Refusal: Error {}
    #expect(throws: Refusal.self) {
      try archive.update(where: { $0.age < 5 }) { person in
        if person.id == 44 { throw Refusal() }
        person.name = "changed"
      }
    }
    #expect(
      errorCode { try archive.update(where: { $0.id < 5 }) { $0.id += 1 } } == .invalidArgument)
    #expect(try archive.where { $0.name == "changed" }.count() == 0)
    #expect(try archive.elements().map(\.id) == Array(0..<100))
  }

  @Test func whatOthersChangedMeanwhileIsReadAgain() throws {
    let archive = try filled(20)
    var runs = 0
    let count = try archive.update(where: { $0.age == 1 }) { person in
      runs += 1
      // Somebody else takes one away, and changes the other one.
      if runs == 1 {
        try archive.upsert(ArchivePerson(1, age: 5))
        try archive.update(id: 11) { $0.mail = "other" }
      }
      person.name = "changed"
    }
    #expect(count == 1)
    #expect(runs == 3)
    #expect(try archive.element(forID: 1) == ArchivePerson(1, age: 5))
    #expect(
      try archive.element(forID: 11) == ArchivePerson(11, name: "changed", age: 1, mail: "other"))
  }

  @Test func changesAtTheSameTimeAreAllThere() throws {
    let archive = try filled(20)
    onDiskThreads(4) { _ in
      for _ in 0..<25 {
        #expect(throws: Never.self) { try archive.update(where: { $0.id < 10 }) { $0.age += 1 } }
      }
    }
    #expect(try archive.elements().map(\.age) == (0..<20).map { $0 < 10 ? $0 + 100 : $0 - 10 })
    #expect(try archive.verify().isIntact)
  }

  @Test func aConditionThatAlwaysConflictsSaysSo() throws {
    let archive = try filled(2)
    let code = errorCode {
      try archive.update(id: 1) { _ in try archive.upsert(ArchivePerson(1)) }
    }
    #expect(code == .conflict)
  }

  // MARK: - Deleting

  @Test(arguments: [true, false])
  func allThatMeetAConditionAreDeleted(isFlushed: Bool) throws {
    let archive = try filled(100)
    if isFlushed { try archive.checkpoint() }
    #expect(try archive.delete(where: { $0.age < 3 }) == 30)
    #expect(try archive.element(forID: 0) == nil)
    #expect(try archive.delete(where: { $0.name.contains("body") && $0.age == 9 }) == 10)
    #expect(try archive.delete(where: { $0.age == 9 }) == 0)
    #expect(try archive.where(\.age == 3 || \.id == 4).delete() == 11)
    #expect(try archive.count == 49)
    #expect(try archive.verify().isIntact)
  }

  @Test func tooMuchAtOnceIsRefusedWhole() throws {
    let archive = try place.openPersons { $0.journalCapacity = 64 << 10 }
    for start in stride(from: 0, to: 3000, by: 100) {
      try archive.insert(all: (start..<start + 100).map { ArchivePerson($0) })
    }
    #expect(errorCode { try archive.query.delete() } == .tooLarge)
    #expect(errorCode { try archive.update(where: { $0.age == 0 }) { $0.age = 1 } } == .tooLarge)
    #expect(try archive.where { $0.age == 0 }.count() == 3000)
    while try archive.query.limit(200).delete() > 0 {}
    #expect(try archive.isEmpty)
  }

  @Test func allOfItHasAnAsynchronousForm() async throws {
    let archive = try place.openPersons()
    let people = (0..<10).map { ArchivePerson($0, age: $0) }
    func code(_ body: () async throws -> Void) async -> LarderError.Code? {
      do { try await body() } catch { return (error as? LarderError)?.code }
      return nil
    }
    try await archive.insert(people[0])
    #expect(await code { try await archive.insert(people[0]) } == .duplicate)
    #expect(await code { try await archive.insert(all: people) } == .duplicate)
    try await archive.insert(all: people.dropFirst())
    try await archive.upsert(people[9])
    try await archive.upsert(all: people)
    #expect(await code { try await archive.update(ArchivePerson(10)) } == .notFound)
    try await archive.update(ArchivePerson(9, age: -9))
    #expect(try await archive.update(where: { $0.age < 3 }) { $0.name = "young" } == 4)
    #expect(try await archive.where(\.name == "young").update { $0.age = 0 } == 4)
    #expect(try await archive.query.min(\.age) == 0)
    #expect(try await archive.query.max(\.age) == 8)
    #expect(try await archive.query.max(\.mail) == nil)
    #expect(try await archive.query.min(\.mail) == nil)
    #expect(try await archive.delete(where: { $0.age == 0 }) == 4)
    #expect(try await archive.elements(limit: 2).map(\.id) == [3, 4])
    #expect(try await archive.contains(id: 3))
    try await archive.delete(ids: [3, 4])
    #expect(try await archive.where { $0.age > 6 }.delete() == 2)
    #expect(try archive.count == 2)
    try await archive.destroy()
  }

  // MARK: - Extremes

  @Test(arguments: [true, false])
  func theLeastAndTheGreatestValueAreFound(hasIndexes: Bool) throws {
    let place = try CitizenPlace()
    let archive = try place.open(
      [
        Citizen(id: 1, age: 7, points: 3, score: 2), Citizen(id: 2, age: 5, score: .nan),
        Citizen(id: 3, age: 9, points: -1, score: -1),
      ], indexes: hasIndexes ? Citizen.indexes : [])
    #expect(try archive.query.min(\.age) == 5)
    #expect(try archive.query.max(\.age) == 9)
    #expect(try archive.where { $0.age < 9 }.max(\.age) == 7)
    // Neither nil nor what is not a number counts.
    #expect(try archive.query.min(\.points) == -1)
    #expect(try archive.query.max(\.points) == 3)
    #expect(try archive.query.max(\.score) == 2)
    #expect(try archive.query.min(\.score) == -1)
    #expect(try archive.where { $0.id == 2 }.max(\.score) == nil)
    #expect(try archive.where { $0.id == 2 }.min(\.points) == nil)
    #expect(try archive.where { $0.id > 3 }.min(\.age) == nil)
  }
}
