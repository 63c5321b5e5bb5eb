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
    try archive.upsert(ada)
    #expect(try archive.element(forID: 1) == ada)
    #expect(archive.memoryCount == 1)
    #expect(try archive.count == 1)
    archive.memorySizeLimit = .zero
    #expect(archive.memoryCount == 0)
    #expect(try archive.element(forID: 1) == ada)
    try archive.checkpoint()
    #expect(try archive.element(forID: 1) == ada)
  }

  @Test func allElementsAreInMemoryAndOnDisk() throws {
    var generator = SeededGenerator(seed: 41)
    let archive = try place.open(ArchiveStructure.self)
    let all = (0..<5).map { _ in ArchiveStructure.random(&generator) }
    for element in all {
      try archive.upsert(element)
      #expect(try archive.element(forID: element.id) == element)
    }
    #expect(archive.memoryCount == 5)
    #expect(try archive.elements() == all.sorted { $0.id < $1.id })
    #expect(try archive.size == archive.memorySize)
  }

  @Test func aMissIsNilAndNoError() throws {
    let archive = try place.openPersons()
    #expect(try archive.element(forID: 1) == nil)
    #expect(try archive.latestAccessTime(of: 1) == nil)
    #expect(try archive.update(id: 1) { $0.age = 1 } == nil)
    #expect(try !archive.contains(id: 1))
    #expect(try archive.elements() == [])
    #expect(try archive.isEmpty)
    try archive.delete(id: 1)
  }

  @Test func recordingAgainReplaces() throws {
    let archive = try place.openPersons()
    try archive.upsert(ArchivePerson(1, name: "a long name for a person", age: 3))
    try archive.upsert(ArchivePerson(1, name: "short", age: 4))
    #expect(try archive.element(forID: 1) == ArchivePerson(1, name: "short", age: 4))
    try archive.upsert(ArchivePerson(1, name: "other", age: 5))
    #expect(try archive.element(forID: 1)?.name == "other")
    try archive.upsert(ArchivePerson(2, name: "new"))
    #expect(try archive.count == 2)
    #expect(try archive.verify().isIntact)
  }

  @Test func insertingStoresOneAndManyAndAll() throws {
    let archive = try place.openPersons()
    try archive.insert(ArchivePerson(1))
    try archive.upsert(all: [ArchivePerson(2), ArchivePerson(3), ArchivePerson(2, name: "later")])
    try archive.upsert(all: (4...2500).map { ArchivePerson($0, age: $0) })
    try archive.upsert(all: [])
    #expect(try archive.count == 2500)
    #expect(try archive.element(forID: 2)?.name == "later")
    #expect(try archive.element(forID: 2500)?.age == 2500)
    #expect(try archive.elements().map(\.id) == Array(1...2500))
    #expect(try archive.verify().isIntact)
  }

  @Test func whatIsAbsentIsInsertedAndWhatIsThereStays() throws {
    let archive = try place.openPersons()
    #expect(try archive.insertIfAbsent(ArchivePerson(1, name: "first")))
    #expect(try !archive.insertIfAbsent(ArchivePerson(1, name: "second")))
    #expect(try archive.element(forID: 1)?.name == "first")
    try archive.delete(id: 1)
    #expect(try archive.insertIfAbsent(ArchivePerson(1, name: "third")))
    #expect(try archive.element(forID: 1)?.name == "third")
  }

  @Test(arguments: [Int.min, -1, 0, 1, 2, 9, 10, 11, Int.max])
  func theLimitOfAccessingAllHolds(limit: Int) throws {
    let archive = try place.openPersons()
    try archive.upsert(all: (1...10).map { ArchivePerson($0) })
    let expected = Array((1...10).prefix(max(0, limit)))
    #expect(try archive.elements(limit: limit).map(\.id) == expected)
    try archive.checkpoint()
    archive.memorySizeLimit = .zero
    #expect(try archive.elements(limit: limit).map(\.id) == expected)
  }

  @Test(arguments: ["a/b", "/", "..", "", "a\0b", "ä\u{301}", String(repeating: "k", count: 65536)])
  func anyTextIsAKey(key: String) throws {
    let archive = try place.open(ArchiveInnerStructure.self)
    let element = ArchiveInnerStructure(id: key, someNumber: 1)
    try archive.upsert(element)
    #expect(try archive.contains(id: key))
    #expect(try archive.element(forID: key) == element)
    try archive.checkpoint()
    #expect(try archive.element(forID: key) == element)
    #expect(try archive.elements() == [element])
    try archive.delete(element)
    #expect(try archive.isEmpty)
  }

  @Test func aKeyThatIsTooLongIsRefusedAndNothingChanges() throws {
    let archive = try place.open(ArchiveInnerStructure.self)
    let element = ArchiveInnerStructure(id: String(repeating: "k", count: 65537))
    #expect(errorCode { try archive.upsert(element) } == .tooLarge)
    #expect(try archive.isEmpty)
  }

  @Test func anElementThatCannotBeEncodedIsRefusedAndTheOldOneStays() throws {
    let archive = try place.openBlocks()
    try archive.upsert(ArchiveBlock(id: "a", size: 100))
    #expect(errorCode { try archive.upsert(ArchiveBlock(id: "a", size: 1)) } == .encoding)
    #expect(try archive.element(forID: "a")?.size == 100)
    let both = [ArchiveBlock(id: "b", size: 100), ArchiveBlock(id: "c", size: 1)]
    #expect(errorCode { try archive.upsert(all: both) } == .encoding)
    #expect(try archive.count == 1)
  }

  @Test func aLargeElementComesBack() throws {
    let archive = try place.openBlocks { $0.inlineThreshold = 1000 }
    for size in [999, 1000, 1001, 100_000] {
      try archive.upsert(ArchiveBlock(id: "\(size)", size: size, byte: 7))
    }
    archive.memorySizeLimit = .zero
    for size in [999, 1000, 1001, 100_000] {
      #expect(
        try archive.element(forID: "\(size)") == ArchiveBlock(id: "\(size)", size: size, byte: 7))
    }
    #expect(try archive.size == .bytes(999 + 1000 + 1001 + 100_000))
  }

  @Test func anUpdateChangesWhatIsThere() throws {
    let archive = try place.openPersons()
    try archive.upsert(ArchivePerson(1, name: "Ada", age: 36))
    #expect(try archive.update(id: 1) { $0.age += 1 } == ArchivePerson(1, name: "Ada", age: 37))
    #expect(try archive.element(forID: 1)?.age == 37)
    #expect(errorCode { try archive.update(id: 1) { $0.id = 2 } } == .invalidArgument)
    #expect(throws: CocoaError.self) {
      try archive.update(id: 1) { person in
        person.age = 0
        throw CocoaError(.userCancelled)
      }
    }
    #expect(try archive.element(forID: 1)?.age == 37)
    #expect(try archive.elements().count == 1)
  }

  @Test func updatesAtTheSameTimeAreAllThere() throws {
    let archive = try place.openPersons()
    try archive.upsert(ArchivePerson(1))
    onDiskThreads(4) { _ in
      for _ in 0..<100 { _ = try? archive.update(id: 1) { $0.age += 1 } }
    }
    #expect(try archive.element(forID: 1)?.age == 400)
    #expect(try archive.verify().isIntact)
  }

  @Test func itSaysWhereItLies() throws {
    let archive = try place.openPersons()
    #expect("\(archive)".hasPrefix("<Archive<ArchivePerson>: 0x"))
    #expect("\(archive)".hasSuffix("(\(place.path))"))
    #expect(archive.directoryURL.path == place.path)
  }

  @Test(arguments: [false, true]) func whatIsReadOfAnObjectIsWhatIsStored(isIndexed: Bool) throws {
    let notes = try place.open(
      ArchiveNote.self, indexes: isIndexed ? [ArchiveIndex("stars", \.stars)] : [])
    let written = ArchiveNote(1, 1)
    try notes.insert(all: [written, ArchiveNote(2, 50)])
    written.stars = 98
    for _ in 0..<2 {
      let read = try #require(try notes.element(forID: 1))
      #expect(read.stars == 1)
      read.stars = 99
      #expect(try notes.query.results().map(\.stars) == [1, 50])
      #expect(try notes.where { $0.stars == 1 }.results().map(\.stars) == [1])
      #expect(try notes.query.max(\.stars) == 50)
    }
    notes.memorySizeLimit = 1.megabytes
    _ = try notes.element(forID: 1)
    #expect(notes.memoryCount == 0)
    let changed = try #require(try notes.element(forID: 1))
    changed.stars = 3
    try notes.update(changed)
    #expect(try notes.element(forID: 1)?.stars == 3)
  }
}

/// An element that is an object, and can be changed by all that have it.
private final class ArchiveNote: Codable, Identifiable, Sendable {
  private enum Keys: CodingKey { case id, stars }
  let id: Int
  private let count: Locked<Int>

  var stars: Int {
    get { count.withLock { $0 } }
    set { count.withLock { $0 = newValue } }
  }

  init(_ id: Int, _ stars: Int) {
    self.id = id
    count = Locked(stars)
  }

  convenience init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Keys.self)
    self.init(try values.decode(Int.self, forKey: .id), try values.decode(Int.self, forKey: .stars))
  }

  func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Keys.self)
    try values.encode(id, forKey: .id)
    try values.encode(stars, forKey: .stars)
  }
}
