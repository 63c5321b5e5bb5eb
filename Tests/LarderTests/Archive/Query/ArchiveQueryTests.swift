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
    func ids(_ query: ArchiveQuery<Citizen>) throws -> [Int] { try query.getResults().map(\.id) }
    #expect(try ids(archive.sorted { $0.age(.ascending) }) == [0, 3, 1, 4, 2, 5])
    #expect(try ids(archive.sorted { $0.age(.descending) }) == [2, 5, 1, 4, 0, 3])
    #expect(try ids(archive.sorted { $0.age(.descending).name(.ascending) }) == [5, 2, 4, 1, 3, 0])
    #expect(
      try ids(archive.sorted { $0.by.age(.ascending).by.name(.descending) }) == [0, 3, 1, 4, 2, 5])
    #expect(try ids(archive.sorted(by: \.name)) == [5, 4, 3, 2, 1, 0])
    #expect(try ids(archive.sorted(by: \.age, order: .descending)) == [2, 5, 1, 4, 0, 3])
    // nil comes first when ascending.
    #expect(try ids(archive.sorted(by: \.points)) == [0, 1, 5, 4, 3, 2])
    #expect(try ids(archive.sorted { $0.points(.descending) }) == [2, 3, 4, 5, 0, 1])
    #expect(try ids(archive.query.sorted { $0.age < $1.age }) == [0, 3, 1, 4, 2, 5])
    #expect(try ids(archive.sorted { $0 }) == [0, 1, 2, 3, 4, 5])
    let manual = archive.sorted {
      $0.by.manual(.descending) { a, b in
        a.age == b.age ? .orderedSame : a.age < b.age ? .orderedAscending : .orderedDescending
      }
    }
    #expect(try ids(manual) == [2, 5, 1, 4, 0, 3])
    #expect(
      try ids(archive.sorted { $0.home.city(.ascending).isActive(.descending) }) == [
        0, 1, 2, 3, 4, 5,
      ])
  }

  @Test(arguments: [true, false])
  func stagesRunInTheOrderInWhichTheyAreWritten(hasIndexes: Bool) throws {
    let archive = try place.open(six, indexes: hasIndexes ? Citizen.indexes : [])
    func ids(_ query: ArchiveQuery<Citizen>) throws -> [Int] { try query.getResults().map(\.id) }
    let query = archive.query
    #expect(try ids(query.limitResults(by: 3).findWhere { $0.age(.isEqual(10)) }) == [0])
    #expect(try ids(query.findWhere { $0.age(.isEqual(10)) }.limitResults(by: 3)) == [0, 3])
    #expect(try ids(query.limitResults(by: 3).sorted(by: \.name)) == [2, 1, 0])
    #expect(try ids(query.sorted(by: \.name).limitResults(by: 3)) == [5, 4, 3])
    #expect(try ids(query.sorted(by: \.name).skip(1).limitResults(by: 2)) == [4, 3])
    #expect(try ids(query.sorted(by: \.name).limitResults(by: 2).skip(1)) == [4])
    #expect(
      try ids(query.sorted(by: \.name).limitResults(by: 4).sorted(by: \.age)) == [3, 4, 5, 2])
    // The second sort keeps what the first did, where it finds elements alike.
    #expect(try ids(query.sorted(by: \.name).sorted(by: \.age)) == [3, 0, 4, 1, 5, 2])
    let combined =
      archive
      .findWhere { $0.age(.greater(than: 10)).name(.isNotEqual("n0")) }
      .sorted { $0.age(.descending).name(.ascending) }
      .limitResults(by: 2)
    #expect(try ids(combined) == [2, 4])
    #expect(try combined.firstResult()?.id == 2)
    #expect(try combined.lastResult()?.id == 4)
    #expect(try combined.count() == 2)
  }

  @Test(arguments: [(-1, 0), (0, 0), (1, 1), (5, 5), (6, 6), (7, 6), (.max, 6)])
  func limitsAndSkipsCountFromBothEnds(number: Int, count: Int) throws {
    let archive = try place.open(six)
    for query in [
      archive.query, archive.sorted(by: \.age), archive.sorted { $0.level(.ascending) },
    ] {
      #expect(try query.limitResults(by: number).getResults().count == count)
      #expect(try query.limitResults(by: number).count() == count)
      #expect(try query.skip(number).getResults().count == 6 - count)
      #expect(try query.skip(number).count() == 6 - count)
      #expect(try query.skip(number).limitResults(by: .max).count() == 6 - count)
    }
  }

  @Test func anEmptyArchiveHasNoResults() throws {
    let archive = try place.open()
    #expect(try archive.query.getResults() == [])
    #expect(try archive.sorted(by: \.age).firstResult() == nil)
    #expect(try archive.sorted(by: \.age, order: .descending).lastResult() == nil)
    #expect(try archive.query.count() == 0)
  }

  @Test func theLastResultIsTheLastOne() throws {
    for indexes in [[], Citizen.indexes] {
      let archive = try place.open(six, indexes: indexes)
      for query in [
        archive.query, archive.filter { $0.age < 30 }, archive.sorted(by: \.age),
        archive.sorted(by: \.age, order: .descending), archive.sorted(by: \.points),
        archive.sorted { $0.age(.descending).name(.ascending) },
        archive.sorted { $0.age(.ascending).name(.descending) },
        archive.sorted(by: \.age).limitResults(by: 3), archive.sorted(by: \.level),
        archive.findWhere { $0.age(.isEqual(20)) }.sorted(by: \.age, order: .descending),
        archive.findWhere { $0.age(.less(than: 30)) },
      ] {
        let all = try query.getResults()
        #expect(try query.lastResult() == all.last)
        #expect(try query.firstResult() == all.first)
        #expect(!all.isEmpty)
      }
      try archive.close()
    }
  }

  @Test func whatWasJustWrittenIsSeenAndWhatWasRemovedIsNot() throws {
    let archive = try place.open(six)
    let query = archive.findWhere { $0.age(.greaterOrEqual(with: 30)) }
    #expect(try query.count() == 2)
    try archive.record(Citizen(id: 9, age: 99))
    #expect(try query.getResults().map(\.id) == [2, 5, 9])
    try archive.record(Citizen(id: 2, age: 3))
    try archive.delete(id: 5)
    #expect(try query.getResults().map(\.id) == [9])
    #expect(try query.count() == 1)
    try archive.flush()
    #expect(try query.getResults().map(\.id) == [9])
    try archive.deleteAll()
    #expect(try query.getResults() == [])
  }

  @Test func whatIsExpiredIsNeitherFoundNorCounted() throws {
    let archive = try place.open { $0.expiration = .seconds(10) }
    try archive.record(Citizen(id: 1, age: 1))
    place.clock.advance(6)
    try archive.record(Citizen(id: 2, age: 2))
    place.clock.advance(6)
    #expect(try archive.query.getResults().map(\.id) == [2])
    #expect(try archive.query.count() == 1)
    #expect(try archive.findWhere { $0.age(.greater(than: 0)) }.count() == 1)
    #expect(try archive.sorted(by: \.age).firstResult()?.id == 2)
  }

  @Test(arguments: [Expiration.never, .seconds(10), .afterAccess(.seconds(10))])
  func countsAreThoseOfResultsInEveryHandle(expiration: Expiration) throws {
    let archive = try place.open { $0.expiration = expiration }
    let reader = try place.open {
      $0.expiration = expiration
      $0.isReadOnly = true
    }
    for id in 0..<60 {
      try archive.record(Citizen(id: id, name: "n\(id % 7)", age: id % 10, points: id % 3))
      // Some is replaced, some removed, some expired, and some waits for a checkpoint.
      if id % 5 == 4 { try archive.record(Citizen(id: id / 2, age: 3)) }
      if id % 9 == 8 { try archive.delete(id: id - 3) }
      if id % 25 == 24 { try archive.flush() }
      place.clock.advance(0.5)
      for handle in [archive, reader] where id % 4 == 3 {
        let age = id * 7 % 10
        for query in [
          handle.query, handle.query.skip(2).limitResults(by: 9), handle.sorted(by: \.age),
          handle.findWhere { $0.age(.isEqual(3)) },
          handle.findWhere { $0.age(.greater(than: age)) },
          handle.findWhere { $0.age(.lessOrEqual(with: age)) }.limitResults(by: 4),
          handle.findWhere { $0.age(.greaterOrEqual(with: 2)).age(.less(than: 7)) },
          handle.findWhere { $0.points(.isNotEqual(nil)) },
          handle.findWhere { $0.name(.hasPrefix("n")) },
        ] {
          #expect(try query.count() == query.getResults().count, "id \(id), age \(age)")
        }
      }
    }
  }

  @Test func aDamagedElementIsCountedWhereItIsNotRead() throws {
    let text = "to be damaged"
    let archive = try place.open([Citizen(id: 1, age: 1, tags: [text]), Citizen(id: 2, age: 2)])
    try archive.close()
    let folder = place.directory.file("citizens")
    #expect(try StoreLog(folder).flip(Data(text.utf8)) == 1)
    // A short one lies in the index too.
    try StoreLog.flip(Data(text.utf8), in: folder.appendingPathComponent("data.mdb"))
    let damaged = try place.open()
    #expect(try damaged.query.getResults().count == 1)
    #expect(try damaged.query.count() == 2 && damaged.count == 2)
    #expect(try damaged.findWhere { $0.age(.greater(than: 0)) }.count() == 2)
    #expect(try damaged.filter { $0.age > 0 }.count() == 1)
  }

  @Test func longTextsAreInTheirOrderThoughTheIndexCutsThem() throws {
    let stem = String(repeating: "x", count: 998)
    let ends = ["", "b", "ba", "bb", "bba", "bbz", "bc", "c", "cc", "ccc"]
    // Keys in another order than names.
    let citizens = ends.enumerated().map { Citizen(id: $0 * 7 % 10, name: stem + $1) }
    for indexes in [[], Citizen.indexes] {
      let archive = try place.open(citizens, indexes: indexes)
      let sorted = citizens.sorted { $0.name < $1.name }
      #expect(try archive.sorted(by: \.name).getResults() == sorted)
      #expect(try archive.sorted(by: \.name, order: .descending).getResults() == sorted.reversed())
      #expect(try archive.sorted(by: \.name).lastResult() == sorted.last)
      #expect(try archive.sorted(by: \.name, order: .descending).lastResult() == sorted.first)
      #expect(try archive.sorted(by: \.name).pages(of: 3).all().flatMap { $0 } == sorted)
      for citizen in citizens {
        let name = citizen.name
        let equal = archive.findWhere { $0.name(.isEqual(name)) }
        #expect(try equal.getResults() == [citizen])
        #expect(try equal.count() == 1)
        for query in [
          archive.findWhere { $0.name(.greater(than: name)) },
          archive.findWhere { $0.name(.hasPrefix(name)) },
          archive.findWhere { $0.name(.lessOrEqual(with: name)) },
        ] {
          let found = try query.sorted(by: \.name).getResults()
          #expect(try query.count() == found.count)
          #expect(!found.contains { $0.name == name } || found.count <= 10)
        }
        let above = try archive.findWhere { $0.name(.greater(than: name)) }.count()
        #expect(above == sorted.filter { $0.name > name }.count)
      }
      try archive.close()
    }
  }

  @Test func everythingWorksInTheBackgroundToo() async throws {
    let place = place
    let six = six
    let archive = try await Archive<Citizen>.opening { try place.open(six) }
    let query = archive.findWhere { $0.age(.greater(than: 10)) }.sorted(by: \.name)
    #expect(try await query.getResults().map(\.id) == [5, 4, 2, 1])
    #expect(try await query.firstResult()?.id == 5)
    #expect(try await query.lastResult()?.id == 1)
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
      return try await archive.filter { _ in true }.getResults()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
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
