// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Stages of queries, in their order. After Vellum's IntegratedSpec: sort object by queries,
/// find object by queries, combine queries; its defect that optional properties could not be
/// sorted, and that equal elements came in any order.
struct ArchiveQueryTests {
  private let place: CitizenPlace

  init() throws { place = try CitizenPlace() }

  /// Six of them, with ages 10, 20, 30, 10, 20, 30.
  private var six: [Citizen] {
    (0..<6).map {
      Citizen(id: $0, name: "n\(5 - $0)", age: 10 + $0 % 3 * 10, points: $0 < 2 ? nil : 7 - $0)
    }
  }

  @Test(arguments: [true, false])
  func elementsAreSortedAndThoseAlikeStayInTheOrderOfTheirKeys(hasIndexes: Bool) throws {
    let archive = try place.open(six, indexes: hasIndexes ? Citizen.indexes : [])
    func ids(_ query: ArchiveQuery<Citizen>) throws -> [Int] { try query.results().map(\.id) }
    #expect(try ids(archive.sorted(by: \.age)) == [0, 3, 1, 4, 2, 5])
    #expect(try ids(archive.sorted(by: \.age, .reverse)) == [2, 5, 1, 4, 0, 3])
    #expect(try ids(archive.sorted(by: \.name).sorted(by: \.age, .reverse)) == [5, 2, 4, 1, 3, 0])
    #expect(
      try ids(archive.sorted(by: \.name, .reverse).sorted(by: \.age)) == [0, 3, 1, 4, 2, 5])
    #expect(try ids(archive.sorted(by: \.name)) == [5, 4, 3, 2, 1, 0])
    #expect(try ids(archive.sorted(by: \.age, .reverse)) == [2, 5, 1, 4, 0, 3])
    // nil comes first when ascending.
    #expect(try ids(archive.sorted(by: \.points)) == [0, 1, 5, 4, 3, 2])
    #expect(try ids(archive.sorted(by: \.points, .reverse)) == [2, 3, 4, 5, 0, 1])
    #expect(try ids(archive.query.sorted { $0.age < $1.age }) == [0, 3, 1, 4, 2, 5])
    #expect(try ids(archive.sorted(using: [])) == [0, 1, 2, 3, 4, 5])
    #expect(
      try ids(archive.query.sorted(by: \.isActive, .reverse).sorted(by: \.home.city)) == [
        0, 1, 2, 3, 4, 5,
      ])
  }

  @Test(arguments: [true, false])
  func stagesRunInTheOrderInWhichTheyAreWritten(hasIndexes: Bool) throws {
    let archive = try place.open(six, indexes: hasIndexes ? Citizen.indexes : [])
    func ids(_ query: ArchiveQuery<Citizen>) throws -> [Int] { try query.results().map(\.id) }
    let query = archive.query
    #expect(try ids(query.limit(3).where { $0.age == 10 }) == [0])
    #expect(try ids(query.where { $0.age == 10 }.limit(3)) == [0, 3])
    #expect(try ids(query.limit(3).sorted(by: \.name)) == [2, 1, 0])
    #expect(try ids(query.sorted(by: \.name).limit(3)) == [5, 4, 3])
    #expect(try ids(query.sorted(by: \.name).skip(1).limit(2)) == [4, 3])
    #expect(try ids(query.sorted(by: \.name).limit(2).skip(1)) == [4])
    #expect(
      try ids(query.sorted(by: \.name).limit(4).sorted(by: \.age)) == [3, 4, 5, 2])
    // The second sort keeps what the first did, where it finds elements alike.
    #expect(try ids(query.sorted(by: \.name).sorted(by: \.age)) == [3, 0, 4, 1, 5, 2])
    let combined =
      archive
      .where { $0.age > 10 && $0.name != "n0" }
      .sorted(by: \.name).sorted(by: \.age, .reverse)
      .limit(2)
    #expect(try ids(combined) == [2, 4])
    #expect(try combined.first()?.id == 2)
    #expect(try combined.last()?.id == 4)
    #expect(try combined.count() == 2)
  }

  @Test(arguments: [(-1, 0), (0, 0), (1, 1), (5, 5), (6, 6), (7, 6), (.max, 6)])
  func limitsAndSkipsCountFromBothEnds(number: Int, count: Int) throws {
    let archive = try place.open(six)
    for query in [
      archive.query, archive.sorted(by: \.age), archive.sorted(by: \.level),
    ] {
      #expect(try query.limit(number).results().count == count)
      #expect(try query.limit(number).count() == count)
      #expect(try query.skip(number).results().count == 6 - count)
      #expect(try query.skip(number).count() == 6 - count)
      #expect(try query.skip(number).limit(.max).count() == 6 - count)
    }
  }

  @Test func anEmptyArchiveHasNoResults() throws {
    let archive = try place.open()
    #expect(try archive.query.results() == [])
    #expect(try archive.sorted(by: \.age).first() == nil)
    #expect(try archive.sorted(by: \.age, .reverse).last() == nil)
    #expect(try archive.query.count() == 0)
  }

  @Test func theLastResultIsTheLastOne() throws {
    for indexes in [[], Citizen.indexes] {
      let archive = try place.open(six, indexes: indexes)
      for query in [
        archive.query, archive.filter { $0.age < 30 }, archive.sorted(by: \.age),
        archive.sorted(by: \.age, .reverse), archive.sorted(by: \.points),
        archive.sorted(by: \.name).sorted(by: \.age, .reverse),
        archive.sorted(by: \.name, .reverse).sorted(by: \.age),
        archive.sorted(by: \.age).limit(3), archive.sorted(by: \.level),
        archive.where { $0.age == 20 }.sorted(by: \.age, .reverse),
        archive.where { $0.age < 30 },
      ] {
        let all = try query.results()
        #expect(try query.last() == all.last)
        #expect(try query.first() == all.first)
        #expect(!all.isEmpty)
      }
      try archive.close()
    }
  }

  @Test func whatWasJustWrittenIsSeenAndWhatWasRemovedIsNot() throws {
    let archive = try place.open(six)
    let query = archive.where { $0.age >= 30 }
    #expect(try query.count() == 2)
    try archive.upsert(Citizen(id: 9, age: 99))
    #expect(try query.results().map(\.id) == [2, 5, 9])
    try archive.upsert(Citizen(id: 2, age: 3))
    try archive.delete(id: 5)
    #expect(try query.results().map(\.id) == [9])
    #expect(try query.count() == 1)
    try archive.checkpoint()
    #expect(try query.results().map(\.id) == [9])
    try archive.deleteAll()
    #expect(try query.results() == [])
  }

  @Test func whatIsExpiredIsNeitherFoundNorCounted() throws {
    let archive = try place.open { $0.expiration = .seconds(10) }
    try archive.upsert(Citizen(id: 1, age: 1))
    place.clock.advance(6)
    try archive.upsert(Citizen(id: 2, age: 2))
    place.clock.advance(6)
    #expect(try archive.query.results().map(\.id) == [2])
    #expect(try archive.query.count() == 1)
    #expect(try archive.where { $0.age > 0 }.count() == 1)
    #expect(try archive.sorted(by: \.age).first()?.id == 2)
  }

  @Test(arguments: [Expiration.never, .seconds(10), .afterAccess(.seconds(10))])
  func countsAreThoseOfResultsInEveryHandle(expiration: Expiration) throws {
    let archive = try place.open { $0.expiration = expiration }
    let reader = try place.open {
      $0.expiration = expiration
      $0.isReadOnly = true
    }
    for id in 0..<60 {
      try archive.upsert(Citizen(id: id, name: "n\(id % 7)", age: id % 10, points: id % 3))
      // Some is replaced, some removed, some expired, and some waits for a checkpoint.
      if id % 5 == 4 { try archive.upsert(Citizen(id: id / 2, age: 3)) }
      if id % 9 == 8 { try archive.delete(id: id - 3) }
      if id % 25 == 24 { try archive.checkpoint() }
      place.clock.advance(0.5)
      for handle in [archive, reader] where id % 4 == 3 {
        let age = id * 7 % 10
        for query in [
          handle.query, handle.query.skip(2).limit(9), handle.sorted(by: \.age),
          handle.where { $0.age == 3 },
          handle.where { $0.age > age },
          handle.where { $0.age <= age }.limit(4),
          handle.where { $0.age >= 2 && $0.age < 7 },
          handle.where { $0.points != nil },
          handle.where { $0.name.hasPrefix("n") },
        ] {
          #expect(try query.count() == query.results().count, "id \(id), age \(age)")
        }
      }
    }
  }

  @Test func longTextsAreInTheirOrderThoughTheIndexCutsThem() throws {
    let stem = String(repeating: "x", count: 998)
    let ends = ["", "b", "ba", "bb", "bba", "bbz", "bc", "c", "cc", "ccc"]
    // Keys in another order than names.
    let citizens = ends.enumerated().map { Citizen(id: $0 * 7 % 10, name: stem + $1) }
    for indexes in [[], Citizen.indexes] {
      let archive = try place.open(citizens, indexes: indexes)
      let sorted = citizens.sorted { $0.name < $1.name }
      #expect(try archive.sorted(by: \.name).results() == sorted)
      #expect(try archive.sorted(by: \.name, .reverse).results() == sorted.reversed())
      #expect(try archive.sorted(by: \.name).last() == sorted.last)
      #expect(try archive.sorted(by: \.name, .reverse).last() == sorted.first)
      #expect(try archive.sorted(by: \.name).pages(of: 3).all().flatMap { $0 } == sorted)
      for citizen in citizens {
        let name = citizen.name
        let equal = archive.where { $0.name == name }
        #expect(try equal.results() == [citizen])
        #expect(try equal.count() == 1)
        for query in [
          archive.where { $0.name > name },
          archive.where { $0.name.hasPrefix(name) },
          archive.where { $0.name <= name },
        ] {
          let found = try query.sorted(by: \.name).results()
          #expect(try query.count() == found.count)
          #expect(!found.contains { $0.name == name } || found.count <= 10)
        }
        let above = try archive.where { $0.name > name }.count()
        #expect(above == sorted.filter { $0.name > name }.count)
      }
      try archive.close()
    }
  }

  @Test func everythingWorksInTheBackgroundToo() async throws {
    let place = place
    let six = six
    let archive = try await Archive<Citizen>.opening { try place.open(six) }
    let query = archive.where { $0.age > 10 }.sorted(by: \.name)
    #expect(try await query.results().map(\.id) == [5, 4, 2, 1])
    #expect(try await query.first()?.id == 5)
    #expect(try await query.last()?.id == 1)
    #expect(try await query.count() == 4)
    #expect(try await query.explain().count == 4)
    #expect(try await query.page(1, size: 3).map(\.id) == [1])
  }

  @Test func aCancelledTaskStopsItsQuery() async throws {
    let place = place
    let archive = try await Archive<Citizen>.opening {
      try place.open((0..<500).map { Citizen(id: $0) })
    }
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await archive.filter { _ in true }.results()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func aQueryBeginsWithAnyStage() throws {
    let place = try CitizenPlace()
    let archive = try place.open(
      (0..<9).map { Citizen(id: $0, age: 9 - $0, isActive: $0 % 2 == 0) })
    func ids(_ query: ArchiveQuery<Citizen>) throws -> [Int] { try query.results().map(\.id) }
    #expect(try ids(archive.sorted(by: \.isActive).limit(5)) == [1, 3, 5, 7, 0])
    #expect(try ids(archive.sorted(by: \.isActive, .reverse).limit(2)) == [0, 2])
    #expect(try ids(archive.sorted(using: SortDescriptor(\Citizen.age)).limit(2)) == [8, 7])
    #expect(try ids(archive.sorted(using: KeyPathComparator(\Citizen.age)).limit(1)) == [8])
    #expect(try ids(archive.sorted { $0.age < $1.age }.limit(2)) == [8, 7])
    #expect(try ids(archive.skip(7)) == [7, 8])
    #expect(try archive.first()?.id == 0)
    #expect(try archive.pages(of: 5).all().map(\.count) == [5, 4])
    #expect(try archive.transaction { try $0.first()?.id } == 0)
  }

  /// In more elements than are sorted at a time.
  @Test(arguments: [0, 1, 2]) func theFirstOfManyAreFoundWhereverTheyLie(order: Int) throws {
    let place = try CitizenPlace()
    let archive = try place.open("plain", indexes: [])
    var random = SeededGenerator(seed: 7)
    let ages = (0..<3000).map { [$0 / 3, -$0 / 3, Int.random(in: 0..<400, using: &random)][order] }
    let citizens = ages.enumerated().map { Citizen(id: $0, age: $1, isActive: $1 % 5 == 0) }
    try archive.upsert(all: citizens)
    let sorted = citizens.sorted { ($0.age, $0.id) < ($1.age, $1.id) }
    let reversed = citizens.sorted { ($1.age, $0.id) < ($0.age, $1.id) }
    for (skipped, limit) in [(0, 1), (0, 7), (3, 40), (2990, 20), (0, 0)] {
      let query = archive.sorted(by: \.age).skip(skipped).limit(limit)
      let expected = Array(sorted.dropFirst(skipped).prefix(limit))
      #expect(try query.results() == expected)
      // By the general way.
      #expect(try query.filter { _ in true }.results() == expected)
      #expect(try query.sorted(by: \.id).results() == expected.sorted { $0.id < $1.id })
      let back = archive.sorted(by: \.age, .reverse).skip(skipped).limit(limit)
      #expect(try back.results() == Array(reversed.dropFirst(skipped).prefix(limit)))
    }
    let active = citizens.filter(\.isActive)
    #expect(try archive.where { $0.isActive }.max(\.age) == active.map(\.age).max())
    #expect(try archive.where { $0.isActive }.min(\.age) == active.map(\.age).min())
  }
}

extension ArchivePages {
  /// Every page there is.
  func all() throws -> [[Element]] {
    var pages = self
    var all: [[Element]] = []
    while let page = try pages.next() { all.append(page) }
    return all
  }
}
