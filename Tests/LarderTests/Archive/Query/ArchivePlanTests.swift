// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Which index a query uses, and how little it looks at. After Vellum's defect that every query
/// loads and decodes everything.
struct ArchivePlanTests {
  private let place: CitizenPlace
  private let archive: Archive<Citizen>

  init() throws {
    place = try CitizenPlace()
    archive = try place.open(
      (0..<1_000).map {
        Citizen(
          id: $0, name: "n\($0 % 10)", age: $0, points: $0 % 2 == 0 ? nil : $0 % 5,
          isActive: $0 % 2 == 0)
      })
  }

  @Test func withoutAnIndexEverythingIsLookedAt() throws {
    let explanation = try archive.filter { $0.age > 990 }.explain()
    #expect(explanation.index == nil)
    #expect(explanation.range == nil)
    #expect(explanation.examined == 1_000)
    #expect(explanation.decoded == 1_000)
    #expect(explanation.count == 9)
    #expect("\(explanation)" == "scan: 9 results, 1000 elements looked at, 1000 decoded")
  }

  @Test func anIndexedFilterLooksAtWhatItFinds() throws {
    let query = archive.where { $0.age >= 100 && $0.age < 110 }
    let explanation = try query.explain()
    #expect(explanation.index == "age")
    #expect(explanation.range == "age >= 100 and age < 110")
    #expect(!explanation.isSortedByIndex)
    #expect(explanation.decoded == 10)
    #expect(explanation.count == 10)
  }

  @Test func aSortByTheSameIndexAndALimitEndTheSearchEarly() throws {
    let query = archive.where { $0.age > 100 }
      .sorted(by: \.age).limit(10)
    #expect(
      try "\(query.explain())"
        == "index age, age > 100, sorted by it: 10 results, 10 elements looked at, 10 decoded")
    #expect(try query.results().map(\.age) == Array(101...110))
    let back = archive.where { $0.age < 900 }
      .sorted(by: \.age, .reverse).limit(10)
    let explanation = try back.explain()
    #expect(explanation.isSortedByIndex)
    #expect(explanation.isDescending)
    #expect(explanation.decoded == 10)
    #expect(try back.results().map(\.age) == (890..<900).reversed())
  }

  @Test func aSortAloneUsesItsIndex() throws {
    let explanation = try archive.sorted(by: \.age).limit(3).explain()
    #expect(explanation.index == "age")
    #expect(explanation.range == nil)
    #expect(explanation.decoded == 3)
    #expect(try archive.sorted(by: \.age).last()?.age == 999)
  }

  @Test func manyElementsOfOneValueCostNoMoreThanFew() throws {
    // 500 of them are active: back to front, and yet in the order of their keys.
    let query = archive.query.sorted(by: \.isActive, .reverse).limit(5)
    let explanation = try query.explain()
    #expect(explanation.index == "active")
    #expect(explanation.decoded < 200)
    #expect(try query.results().map(\.id) == [0, 2, 4, 6, 8])
    #expect(
      try archive.query.sorted(by: \.isActive, .reverse).skip(499).limit(3).results()
        .map(\.id) == [998, 1, 3])
    #expect(try archive.query.sorted(by: \.isActive, .reverse).last()?.id == 999)
    let last = archive.sorted(by: \.age).sorted(by: \.isActive, .reverse)
    #expect(try last.last()?.id == 999)
  }

  @Test func equalityGoesBeforeARangeAndARangeBeforeAnOrder() throws {
    let equal = archive.where { $0.age > 10 && $0.name == "n3" }
    #expect(try equal.explain().index == "name")
    #expect(try equal.explain().range == "name == \"n3\"")
    #expect(try equal.explain().decoded == 100)
    let range = archive.where { $0.age.within(10..<20) }.sorted(by: \.name)
    #expect(try range.explain().index == "age")
    #expect(try !range.explain().isSortedByIndex)
    #expect(try range.explain().decoded == 10)
  }

  @Test func aFilterThatFindsNearlyAllGivesWayToTheOrder() throws {
    let query = archive.where { $0.isActive == true }
      .sorted(by: \.age, .reverse).limit(3)
    let explanation = try query.explain()
    #expect(explanation.index == "age")
    #expect(explanation.decoded < 20)
    #expect(try query.results().map(\.id) == [998, 996, 994])
  }

  @Test func ofOneValueOnlyTheKeysOrderIsLeft() throws {
    let query = archive.where { $0.name == "n3" }
      .sorted(by: \.name, .reverse).limit(3)
    #expect(try query.explain().decoded == 3)
    #expect(try query.results().map(\.id) == [3, 13, 23])
  }

  @Test func whatAnIndexFindsIsSortedAsIfItWereScanned() throws {
    // All cities are alike, so the keys decide, and not the ages.
    let query = archive.where { $0.age > 500 }.sorted(by: \.level)
    #expect(try query.explain().index == "age")
    #expect(try query.results().map(\.id) == Array(501...999))
  }

  @Test func anOrderThatIsNotThatOfTheBytesIsNotUsed() throws {
    let query = archive.sorted(by: \.level)
    #expect(try query.explain().index == nil)
    #expect(try archive.where { $0.level > .low }.explain().index == nil)
    #expect(try archive.where { $0.level == .high }.explain().index == "level")
  }

  @Test func filtersBehindALimitUseNoIndex() throws {
    let query = archive.limit(5).where { $0.age == 7 }
    #expect(try query.explain().index == nil)
    #expect(try query.explain().decoded == 5)
  }

  @Test func whatAnIndexSaysIsCountedWithoutDecoding() throws {
    // Elements that cannot be decoded any more can be counted still.
    var configuration = ArchiveConfiguration()
    configuration.memorySizeLimit = 0
    let numbers = try Archive<Citizen>(
      at: .path(place.directory.file("broken").path),
      coder: Coder(
        format: "x", encode: { _ in Data() }, decode: { _ in throw CocoaError(.coderReadCorrupt) }),
      indexes: Citizen.indexes, configuration: configuration)
    for id in 0..<10 { try numbers.upsert(Citizen(id: id, age: id)) }
    #expect(errorCode { try numbers.query.results() } == .decoding)
    #expect(try numbers.query.count() == 10)
    #expect(try numbers.query.skip(3).limit(20).count() == 7)
    #expect(try numbers.where { $0.age > 6 }.count() == 3)
    #expect(try numbers.where { $0.age > 6 }.sorted(by: \.name).count() == 3)
    #expect(try numbers.where { $0.age > 6 }.limit(2).count() == 2)
    #expect(try numbers.where(#Predicate { $0.age < 2 }).count() == 2)
    #expect(errorCode { try numbers.filter { _ in true }.count() } == .decoding)
  }

  @Test func anArchiveOpenedWithOtherIndexesFindsByThem() throws {
    try archive.close()
    let other = try place.open(indexes: [
      ArchiveIndex("score", \.score), ArchiveIndex("age", \.age),
    ])
    #expect(try other.where { $0.age == 5 }.explain().decoded == 1)
    #expect(try other.where { $0.name == "n3" }.explain().index == nil)
    #expect(try other.sorted(by: \.score).explain().index == "score")
  }

  @Test func whatIsInMemoryIsNotDecodedAgain() throws {
    let decoded = Locked(0)
    let coder = Coder<Citizen>.cbor
    let counting = Coder<Citizen>(
      format: "cbor", encode: { try coder.encode($0) },
      decode: { bytes in
        decoded.withLock { $0 += 1 }
        return try coder.decode(bytes)
      })
    try archive.close()
    var configuration = ArchiveConfiguration()
    for (size, times) in [(1.megabytes, 1), (0.megabytes, 3), (10.kilobytes, 3)] {
      configuration.memorySizeLimit = size
      let other = try Archive<Citizen>(
        at: .path(place.directory.file("citizens").path), coder: counting, indexes: Citizen.indexes,
        configuration: configuration)
      // Opening has looked at some.
      decoded.withLock { $0 = 0 }
      for _ in 0..<3 { #expect(try other.filter { $0.id >= 0 }.results().count == 1_000) }
      #expect(decoded.withLock { $0 } == times * 1_000)
      // Nor is anything given out that was replaced or deleted meanwhile.
      try other.upsert(Citizen(id: 5, name: "other"))
      try other.delete(id: 6)
      let found = try other.query.limit(7).results()
      #expect(found.map(\.id) == [0, 1, 2, 3, 4, 5, 7])
      #expect(found[5].name == "other")
      try other.upsert(Citizen(id: 6))
      try other.close()
    }
  }
}
