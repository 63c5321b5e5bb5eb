// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Deleting, in all its forms, and by age. Vellum's defect that what is younger than the
/// interval was deleted and what is older kept.
struct ArchiveDeletingTests {
  private let place: ArchivePlace

  init() throws { place = try ArchivePlace() }

  private func filled(_ count: Int) throws -> Archive<ArchivePerson> {
    let archive = try place.openPersons()
    try archive.upsert(all: (1...count).map { ArchivePerson($0) })
    return archive
  }

  private func ids(_ archive: Archive<ArchivePerson>) throws -> [Int] {
    try archive.elements().map(\.id)
  }

  @Test func oneGoesByKeyOrByItself() throws {
    let archive = try filled(5)
    try archive.delete(id: 1)
    try archive.delete(ArchivePerson(2, name: "whatever is stored under it"))
    try archive.delete(id: 99)
    #expect(try ids(archive) == [3, 4, 5])
    #expect(try archive.element(forID: 1) == nil)
    #expect(archive.memoryCount == 3)
  }

  @Test func manyGoAtOnce() throws {
    let archive = try filled(12)
    try archive.delete(all: [ArchivePerson(1), ArchivePerson(2), ArchivePerson(3)])
    try archive.delete(ids: [4, 5])
    try archive.delete(ids: [6])
    try archive.delete(all: [ArchivePerson(7), ArchivePerson(8)])
    try archive.delete(ids: [9, 10, 10, 77])
    try archive.delete(ids: [])
    #expect(try ids(archive) == [11, 12])
    #expect(try archive.verify().isIntact)
  }

  @Test func moreThanABatchHoldsGo() throws {
    let archive = try filled(3000)
    try archive.checkpoint()
    try archive.delete(ids: 1...2999)
    #expect(try ids(archive) == [3000])
    #expect(try archive.verify().isIntact)
  }

  @Test func everythingGoesAndTheArchiveGoesOn() throws {
    let archive = try filled(100)
    try archive.checkpoint()
    try archive.deleteAll()
    #expect(try archive.isEmpty)
    #expect(try archive.size == .zero)
    #expect(archive.memorySize == .zero)
    #expect(try archive.element(forID: 1) == nil)
    try archive.upsert(ArchivePerson(1))
    #expect(try ids(archive) == [1])
  }

  @Test func whatIsOlderGoesAndWhatIsYoungerStays() throws {
    let archive = try place.openPersons()
    for id in 1...10 {
      try archive.upsert(ArchivePerson(id))
      place.clock.advance(1)
    }
    // The newest is 1 second old, the oldest 10.
    #expect(try archive.deleteAll(olderThan: .seconds(10)) == 0)
    #expect(try archive.deleteAll(olderThan: .seconds(7)) == 3)
    #expect(try ids(archive) == [4, 5, 6, 7, 8, 9, 10])
    #expect(try archive.deleteAll(olderThan: .milliseconds(6999)) == 1)
    #expect(try ids(archive) == [5, 6, 7, 8, 9, 10])
    #expect(try archive.deleteAll(olderThan: .seconds(0)) == 6)
    #expect(try archive.isEmpty)
    #expect(archive.memoryCount == 0)
  }

  @Test func whatWasAccessedIsYoung() throws {
    let archive = try filled(5)
    place.clock.advance(100)
    _ = try archive.element(forID: 2)
    _ = try archive.contains(id: 3)
    _ = try archive.elements()
    try archive.upsert(ArchivePerson(4, name: "again"))
    place.clock.advance(10)
    #expect(try archive.deleteAll(olderThan: .seconds(50)) == 3)
    #expect(try ids(archive) == [2, 4])
  }

  @Test(arguments: [Duration.seconds(1000), .seconds(Int64.max), .seconds(-5), .seconds(Int64.min)])
  func anyAgeWillDo(age: Duration) throws {
    let archive = try filled(3)
    place.clock.advance(1)
    let count = try archive.deleteAll(olderThan: age)
    #expect(count == (age > .zero ? 0 : 3))
  }
}
