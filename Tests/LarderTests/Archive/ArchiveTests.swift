// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// What is recorded comes back, whatever it is. After Vellum's IntegratedSpec "should store
/// object" and "should store all object"; its defects that `accessAll(limitedBy:)` ignores the
/// limit on disk, and that keys with "/" are silently dropped.
struct ArchiveTests {
  private let place: ArchivePlace

  init() throws { place = try ArchivePlace() }

  @Test func anElementIsInMemoryAndOnDisk() throws {
    let archive = try place.openPersons()
    let ada = ArchivePerson(1, name: "Ada", age: 36, mail: "ada@example.org")
    try archive.record(ada)
    #expect(try archive.access(1) == ada)
    #expect(archive.memoryCount == 1)
    #expect(try archive.count == 1)
    archive.maximumMemorySize = .zero
    #expect(archive.memoryCount == 0)
    #expect(try archive.access(1) == ada)
    try archive.flush()
    #expect(try archive.access(1) == ada)
  }

  @Test func allElementsAreInMemoryAndOnDisk() throws {
    var generator = SeededGenerator(seed: 41)
    let archive = try place.open(ArchiveStructure.self)
    let all = (0..<5).map { _ in ArchiveStructure.random(&generator) }
    for element in all {
      try archive.record(element)
      #expect(try archive.access(element.primaryKey) == element)
    }
    #expect(archive.memoryCount == 5)
    #expect(try archive.accessAll() == all.sorted { $0.primaryKey < $1.primaryKey })
    #expect(try archive.currentDiskSize == archive.currentMemorySize)
  }

  @Test func aMissIsNilAndNoError() throws {
    let archive = try place.openPersons()
    #expect(try archive.access(1) == nil)
    #expect(try archive.latestAccessTime(of: 1) == nil)
    #expect(try archive.update(1) { $0.age = 1 } == nil)
    #expect(try !archive.contains(1))
    #expect(try archive.accessAll() == [])
    #expect(try archive.isEmpty)
    try archive.delete(id: 1)
  }

  @Test func recordingAgainReplaces() throws {
    let archive = try place.openPersons()
    try archive.record(ArchivePerson(1, name: "a long name for a person", age: 3))
    try archive.record(ArchivePerson(1, name: "short", age: 4))
    #expect(try archive.access(1) == ArchivePerson(1, name: "short", age: 4))
    try archive.update(ArchivePerson(1, name: "other", age: 5))
    #expect(try archive.access(1)?.name == "other")
    try archive.update(ArchivePerson(2, name: "new"))
    #expect(try archive.count == 2)
    #expect(try archive.verify().isIntact)
  }

  @Test func insertingStoresOneAndManyAndAll() throws {
    let archive = try place.openPersons()
    try archive.insert(ArchivePerson(1))
    try archive.insert(ArchivePerson(2), ArchivePerson(3), ArchivePerson(2, name: "later"))
    try archive.insert(all: (4...2500).map { ArchivePerson($0, age: $0) })
    try archive.insert(all: [])
    #expect(try archive.count == 2500)
    #expect(try archive.access(2)?.name == "later")
    #expect(try archive.access(2500)?.age == 2500)
    #expect(try archive.accessAll().map(\.id) == Array(1...2500))
    #expect(try archive.verify().isIntact)
  }

  @Test func whatIsAbsentIsInsertedAndWhatIsThereStays() throws {
    let archive = try place.openPersons()
    #expect(try archive.insertIfAbsent(ArchivePerson(1, name: "first")))
    #expect(try !archive.insertIfAbsent(ArchivePerson(1, name: "second")))
    #expect(try archive.access(1)?.name == "first")
    try archive.delete(id: 1)
    #expect(try archive.insertIfAbsent(ArchivePerson(1, name: "third")))
    #expect(try archive.access(1)?.name == "third")
  }

  @Test(arguments: [Int.min, -1, 0, 1, 2, 9, 10, 11, Int.max])
  func theLimitOfAccessingAllHolds(limit: Int) throws {
    let archive = try place.openPersons()
    try archive.insert(all: (1...10).map { ArchivePerson($0) })
    let expected = Array((1...10).prefix(max(0, limit)))
    #expect(try archive.accessAll(limitedBy: limit).map(\.id) == expected)
    try archive.flush()
    archive.maximumMemorySize = .zero
    #expect(try archive.accessAll(limitedBy: limit).map(\.id) == expected)
  }

  @Test(arguments: ["a/b", "/", "..", "", "a\0b", "ä\u{301}", String(repeating: "k", count: 65536)])
  func anyTextIsAKey(key: String) throws {
    let archive = try place.open(ArchiveInnerStructure.self)
    let element = ArchiveInnerStructure(primaryKey: key, someNumber: 1)
    try archive.record(element)
    #expect(try archive.contains(key))
    #expect(try archive.access(key) == element)
    try archive.flush()
    #expect(try archive.access(key) == element)
    #expect(try archive.accessAll() == [element])
    try archive.delete(element)
    #expect(try archive.isEmpty)
  }

  @Test func aKeyThatIsTooLongIsRefusedAndNothingChanges() throws {
    let archive = try place.open(ArchiveInnerStructure.self)
    let element = ArchiveInnerStructure(primaryKey: String(repeating: "k", count: 65537))
    #expect(errorCode { try archive.record(element) } == .tooLarge)
    #expect(try archive.isEmpty)
  }

  @Test func anElementThatCannotBeEncodedIsRefusedAndTheOldOneStays() throws {
    let archive = try place.openBlocks()
    try archive.record(ArchiveBlock(id: "a", size: 100))
    #expect(errorCode { try archive.record(ArchiveBlock(id: "a", size: 1)) } == .encoding)
    #expect(try archive.access("a")?.size == 100)
    let both = [ArchiveBlock(id: "b", size: 100), ArchiveBlock(id: "c", size: 1)]
    #expect(errorCode { try archive.insert(all: both) } == .encoding)
    #expect(try archive.count == 1)
  }

  @Test func aLargeElementComesBack() throws {
    let archive = try place.openBlocks { $0.inlineThreshold = 1000 }
    for size in [999, 1000, 1001, 100_000] {
      try archive.record(ArchiveBlock(id: "\(size)", size: size, byte: 7))
    }
    archive.maximumMemorySize = .zero
    for size in [999, 1000, 1001, 100_000] {
      #expect(try archive.access("\(size)") == ArchiveBlock(id: "\(size)", size: size, byte: 7))
    }
    #expect(try archive.currentDiskSize == .bytes(999 + 1000 + 1001 + 100_000))
  }

  @Test func anUpdateChangesWhatIsThere() throws {
    let archive = try place.openPersons()
    try archive.record(ArchivePerson(1, name: "Ada", age: 36))
    #expect(try archive.update(1) { $0.age += 1 } == ArchivePerson(1, name: "Ada", age: 37))
    #expect(try archive.access(1)?.age == 37)
    #expect(errorCode { try archive.update(1) { $0.id = 2 } } == .invalidArgument)
    #expect(throws: CocoaError.self) {
      try archive.update(1) { person in
        person.age = 0
        throw CocoaError(.userCancelled)
      }
    }
    #expect(try archive.access(1)?.age == 37)
    #expect(try archive.accessAll().count == 1)
  }

  @Test func updatesAtTheSameTimeAreAllThere() throws {
    let archive = try place.openPersons()
    try archive.record(ArchivePerson(1))
    onDiskThreads(4) { _ in
      for _ in 0..<100 { _ = try? archive.update(1) { $0.age += 1 } }
    }
    #expect(try archive.access(1)?.age == 400)
    #expect(try archive.verify().isIntact)
  }

  @Test func itSaysWhereItLies() throws {
    let archive = try place.openPersons()
    #expect("\(archive)".hasPrefix("<Archive<ArchivePerson>: 0x"))
    #expect("\(archive)".hasSuffix("(\(place.path))"))
    #expect(archive.directoryURL.path == place.path)
  }
}
