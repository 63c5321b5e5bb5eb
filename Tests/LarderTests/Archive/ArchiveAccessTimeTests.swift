// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// When elements were accessed, and when their time is over. After Vellum's
/// `latestAccessedTime`; its users and those of its kin ask for lives of their own.
struct ArchiveAccessTimeTests {
  private let place: ArchivePlace

  init() throws { place = try ArchivePlace() }

  @Test func recordingIsAnAccess() throws {
    let archive = try place.openPersons()
    try archive.upsert(ArchivePerson(1))
    #expect(try archive.latestAccessTime(of: 1) == place.clock.date)
    place.clock.advance(5)
    try archive.checkpoint()
    #expect(try archive.latestAccessTime(of: 1) == place.clock.date - 5)
    try archive.upsert(ArchivePerson(1, name: "again"))
    #expect(try archive.latestAccessTime(of: 1) == place.clock.date)
  }

  @Test(arguments: [true, false])
  func accessingIsSeenAtOnceAndLeavesTheOthers(isInMemory: Bool) throws {
    let archive = try place.openPersons {
      if !isInMemory { $0.memorySizeLimit = .zero }
    }
    try archive.upsert(all: [ArchivePerson(1), ArchivePerson(2)])
    let start = place.clock.date
    place.clock.advance(3600)
    _ = try archive.element(forID: 1)
    #expect(try archive.latestAccessTime(of: 1) == start + 3600)
    #expect(try archive.latestAccessTime(of: 2) == start)
    place.clock.advance(1)
    #expect(try archive.latestAccessTime(of: 1) == start + 3600)
    _ = try archive.contains(id: 1)
    _ = try archive.elements()
    #expect(try archive.latestAccessTime(of: 1) == start + 3600)
  }

  @Test func itOutlivesTheArchive() throws {
    var archive: Archive? = try place.openPersons()
    try archive?.upsert(all: [ArchivePerson(1), ArchivePerson(2)])
    place.clock.advance(60)
    _ = try archive?.element(forID: 1)
    try archive?.close()
    archive = nil
    place.clock.advance(60)
    let again = try place.openPersons()
    #expect(try again.latestAccessTime(of: 1) == place.clock.date - 60)
    #expect(try again.latestAccessTime(of: 2) == place.clock.date - 120)
    #expect(try again.deleteAll(olderThan: .seconds(90)) == 1)
    #expect(try again.elements().map(\.id) == [1])
  }

  @Test func aLifeAfterRecordingEnds() throws {
    let archive = try place.openPersons { $0.expiration = .seconds(10) }
    try archive.upsert(ArchivePerson(1))
    place.clock.advance(5)
    #expect(try archive.element(forID: 1) != nil)
    try archive.upsert(ArchivePerson(2))
    #expect(try archive.latestAccessTime(of: 1) == place.clock.date)
    place.clock.advance(5)
    #expect(try archive.element(forID: 1) == nil)
    #expect(try !archive.contains(id: 1))
    #expect(try archive.elements().map(\.id) == [2])
    #expect(try archive.deleteExpired() == 1)
    #expect(try archive.count == 1)
  }

  @Test func aLifeAfterAccessIsPutOff() throws {
    let archive = try place.openPersons { $0.expiration = .afterAccess(.seconds(10)) }
    try archive.upsert(all: [ArchivePerson(1), ArchivePerson(2)])
    place.clock.advance(9)
    #expect(try archive.element(forID: 1) != nil)
    #expect(try archive.latestAccessTime(of: 1) == place.clock.date)
    place.clock.advance(9)
    #expect(try archive.element(forID: 1) != nil)
    #expect(try archive.element(forID: 2) == nil)
    place.clock.advance(10)
    #expect(try archive.element(forID: 1) == nil)
  }

  @Test func aLongTimeEndsNothingThatHasNoLife() throws {
    let archive = try place.openPersons()
    try archive.upsert(ArchivePerson(1))
    place.clock.advance(50 * 365 * 86_400)
    #expect(try archive.deleteExpired() == 0)
    #expect(try archive.element(forID: 1) != nil)
  }
}
