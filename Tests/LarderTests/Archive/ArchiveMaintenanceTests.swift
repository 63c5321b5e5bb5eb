// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Flushing, closing, deleting, verifying; and damage, which costs what is damaged.
struct ArchiveMaintenanceTests {
  private let place: ArchivePlace

  init() throws { place = try ArchivePlace() }

  @Test func aClosedArchiveRefusesEverything() throws {
    let archive = try place.openPersons()
    try archive.upsert(ArchivePerson(1))
    #expect(!archive.isClosed)
    try archive.close()
    try archive.close()
    #expect(archive.isClosed)
    #expect(errorCode { try archive.element(forID: 1) } == .closed)
    #expect(errorCode { try archive.contains(id: 1) } == .closed)
    #expect(errorCode { try archive.elements() } == .closed)
    #expect(errorCode { try archive.upsert(ArchivePerson(2)) } == .closed)
    #expect(errorCode { try archive.upsert(all: [ArchivePerson(2)]) } == .closed)
    #expect(errorCode { try archive.update(id: 1) { $0.age = 1 } } == .closed)
    #expect(errorCode { try archive.delete(id: 1) } == .closed)
    #expect(errorCode { try archive.deleteAll() } == .closed)
    #expect(errorCode { try archive.deleteAll(olderThan: .zero) } == .closed)
    #expect(errorCode { try archive.latestAccessTime(of: 1) } == .closed)
    #expect(errorCode { try archive.checkpoint() } == .closed)
    #expect(errorCode { try archive.count } == .closed)
    #expect(errorCode { try archive.verify() } == .closed)
    #expect(try place.openPersons().element(forID: 1) != nil)
  }

  @Test func flushAndSyncWriteWhatWaits() throws {
    let archive = try place.openPersons()
    try archive.upsert(all: (1...10).map { ArchivePerson($0) })
    #expect(try archive.statistics.pendingCount == 10)
    try archive.sync()
    #expect(try archive.statistics.syncedVersion == archive.statistics.lastVersion)
    try archive.checkpoint()
    #expect(try archive.statistics.pendingCount == 0)
    try archive.upsert(ArchivePerson(11), durability: .power)
    #expect(try archive.statistics.syncedVersion == archive.statistics.lastVersion)
    try archive.upsert(all: [ArchivePerson(12), ArchivePerson(13)], durability: .power)
    #expect(try archive.statistics.syncedVersion == archive.statistics.lastVersion)
    try archive.delete(id: 12, durability: .power)
    #expect(try archive.statistics.syncedVersion == archive.statistics.lastVersion)
  }

  @Test func deletingTakesTheFilesAndTheFolder() throws {
    let archive = try place.openBlocks { $0.inlineThreshold = 0 }
    for number in 0..<5 { try archive.upsert(ArchiveBlock(id: "\(number)", size: 100)) }
    try archive.checkpoint()
    try archive.destroy()
    #expect(try place.directory.names == [])
    #expect(archive.isClosed)
    #expect(errorCode { try archive.element(forID: "1") } == .closed)
    #expect(try place.openBlocks().isEmpty)
  }

  @Test func deletingLeavesWhatIsNotTheArchives() throws {
    let archive = try place.openPersons()
    try archive.upsert(ArchivePerson(1))
    let mine = place.url.appendingPathComponent("mine.txt")
    try Data("mine".utf8).write(to: mine)
    try archive.destroy()
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == ["mine.txt"])
    #expect(try Data(contentsOf: mine) == Data("mine".utf8))
  }

  @Test func verifyingFindsNothingInASoundArchive() throws {
    let archive = try place.openPersons()
    try archive.upsert(all: (1...50).map { ArchivePerson($0, name: "\($0)", age: $0 % 7) })
    try archive.checkpoint()
    for id in 1...20 { _ = try archive.element(forID: id) }
    try archive.checkpoint()
    let report = try archive.verify()
    #expect(report.isIntact && report.intact == 50 && report.inconsistencies == 0)
    #expect(throws: CancellationError.self) { try archive.verify { _, _ in false } }
    #expect(try archive.recovery.isIntact)
  }

  @Test func aDamagedElementCostsItselfAndNoOther() throws {
    var archive: Archive? = try place.openBlocks { $0.inlineThreshold = 1000 }
    for number in 0..<5 {
      try archive?.upsert(ArchiveBlock(id: "\(number)", size: 2000, byte: UInt8(number)))
    }
    try archive?.close()
    archive = nil
    #expect(try StoreLog(place.url).flip(Data(repeating: 3, count: 1900), at: 1000) == 1)
    let again = try place.openBlocks { $0.inlineThreshold = 1000 }
    #expect(errorCode { try again.element(forID: "3") } == .damaged)
    #expect(try again.element(forID: "2")?.size == 2000)
    #expect(errorCode { try again.elements() } == .damaged)
    #expect(try !again.verify().isIntact)
    try again.upsert(ArchiveBlock(id: "3", size: 10))
    #expect(try again.element(forID: "3")?.size == 10)
    #expect(try again.elements().map(\.id) == ["0", "1", "2", "3", "4"])
  }

  @Test func damageInAnIndexCostsNoElement() throws {
    let folder = place.directory.file("hurt")
    let stored = (0..<20).map { ArchiveStructure(id: "element number \($0)", someNumber: $0 % 2) }
    let indexes = [ArchiveIndex<ArchiveStructure>("number", \.someNumber)]
    let archive = try Archive(at: .path(folder.path), indexes: indexes)
    try archive.insert(all: stored)
    try archive.close()
    let file = folder.appendingPathComponent("data.mdb")
    let bytes = try Data(contentsOf: file)
    let key = Data("element number 7".utf8)
    var place = bytes.startIndex
    // In each row that has it: of elements, of their order, of the index.
    while let range = bytes[place...].firstRange(of: key) {
      var hurt = bytes
      hurt[range.upperBound - 3] ^= 4
      try hurt.write(to: file)
      var configuration = ArchiveConfiguration()
      configuration.isReadOnly = true
      for undecodable in [ArchiveConfiguration.Undecodable.skip, .fail] {
        configuration.undecodable = undecodable
        let reader = try Archive(
          at: .path(folder.path), indexes: indexes, configuration: configuration)
        let there = Result { try reader.elements().filter { $0.someNumber == 1 } }
        let found = Result { try reader.where { $0.someNumber == 1 }.results() }
        #expect((try? found.get()) == (try? there.get()))
        if undecodable == .skip {
          #expect(try reader.where { $0.someNumber == 1 }.count() >= there.get().count)
        }
        try reader.close()
      }
      place = range.upperBound
    }
    #expect(place > bytes.startIndex)
  }
}
