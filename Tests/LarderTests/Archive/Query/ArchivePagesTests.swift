// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Results some at a time.
struct ArchivePagesTests {
  private let place: CitizenPlace
  private let archive: Archive<Citizen>

  init() throws {
    place = try CitizenPlace()
    archive = try place.open(
      (0..<250).map {
        Citizen(id: $0, name: "n\($0 % 7)", age: $0 % 2, points: $0 % 5 == 0 ? nil : $0)
      })
  }

  private var queries: [ArchiveQuery<Citizen>] {
    [
      archive.query, archive.sorted(by: \.age), archive.sorted(by: \.age, .reverse),
      archive.sorted(by: \.points, .reverse), archive.sorted(by: \.level),
      archive.sorted(by: \.name).sorted(by: \.age, .reverse),
      archive.filter { $0.id % 3 == 0 }, archive.where { $0.age == 1 },
      archive.sorted(by: \.age, .reverse).filter { $0.id % 3 == 0 },
      archive.query.skip(13).limit(100),
      archive.sorted(by: \.name, .reverse).skip(13).limit(100),
      archive.limit(0),
    ]
  }

  @Test(arguments: [1, 2, 7, 100, 249, 250, 251, .max])
  func pagesAreTheResultsInPieces(size: Int) throws {
    for query in queries {
      let all = try query.results()
      let pages = try query.pages(of: size).all()
      #expect(pages.flatMap { $0 } == all)
      #expect(pages.dropLast().allSatisfy { $0.count == size })
      #expect(pages.last.map { !$0.isEmpty && $0.count <= size } ?? true)
      #expect(try query.page(0, size: size) == Array(all.prefix(size)))
    }
  }

  @Test func pagesComeAsASequenceToo() async throws {
    for query in queries {
      var all: [Citizen] = []
      for try await page in query.pages(of: 40) { all += page }
      #expect(try await query.results() == all)
    }
  }

  @Test func aPageIsFoundByItsNumber() throws {
    let query = archive.sorted(by: \.name)
    let all = try query.results()
    #expect(try query.page(3, size: 20) == Array(all[60..<80]))
    #expect(try query.page(12, size: 20) == Array(all[240...]))
    #expect(try query.page(13, size: 20) == [])
    #expect(try query.page(-1, size: 20) == [])
    #expect(try query.page(0, size: 0) == [])
    #expect(try query.page(.max, size: 20) == [])
  }

  @Test func aSizeBelowOneCountsAsOne() throws {
    #expect(try archive.limit(3).pages(of: 0).all().map(\.count) == [1, 1, 1])
  }

  @Test func laterPagesLookAtNoMoreThanTheFirst() throws {
    // What is decoded tells how much is looked at.
    let decoded = Locked(0)
    let coder = Coder<Citizen>.cbor
    let counting = Coder<Citizen>(
      format: "cbor", encode: { try coder.encode($0) },
      decode: { bytes in
        decoded.withLock { $0 += 1 }
        return try coder.decode(bytes)
      })
    let other = try Archive<Citizen>(
      at: .path(place.directory.file("counted").path), coder: counting, indexes: Citizen.indexes)
    for id in 0..<500 { try other.upsert(Citizen(id: id, age: id)) }
    for query in [
      other.query, other.sorted(by: \.age), other.sorted(by: \.age, .reverse),
    ] {
      var pages = query.pages(of: 20)
      var most = 0
      while true {
        let before = decoded.withLock { $0 }
        guard try pages.next() != nil else { break }
        most = max(most, decoded.withLock { $0 } - before)
      }
      #expect(most <= 22)
    }
  }

  @Test func pagesSeeWhatWasWrittenBetweenThem() throws {
    var pages = archive.sorted(by: \.points, .reverse).pages(of: 5)
    #expect(try pages.next()?.first?.id == 249)
    try archive.upsert(Citizen(id: 1_000, points: 1_000))
    try archive.delete(id: 243)
    #expect(try pages.next()?.map(\.id) == [242, 241, 239, 238, 237])
    // The place itself may be gone.
    try archive.delete(id: 237)
    #expect(try pages.next()?.map(\.id) == [236, 234, 233, 232, 231])
  }

  @Test func aPageThatFailedIsTriedAgain() throws {
    let fails = Locked(true)
    struct Failure: Error {}
    var pages = archive.filter { _ in
      if fails.withLock({ $0 }) { throw Failure() }
      return true
    }.pages(of: 100)
    #expect(throws: Failure.self) { try pages.next() }
    fails.withLock { $0 = false }
    #expect(try pages.all().map(\.count) == [100, 100, 50])
  }
}
