// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Opening, what it refuses, and what comes back when it is done again.
struct ArchiveOpeningTests {
  private let place: ArchivePlace

  init() throws { place = try ArchivePlace() }

  @Test func whatWasRecordedIsThereAgain() throws {
    try place.openPersons().upsert(all: (1...20).map { ArchivePerson($0, age: $0) })
    let archive = try place.openPersons()
    #expect(try archive.count == 20)
    #expect(archive.memoryCount == 0)
    #expect(try archive.element(forID: 7)?.age == 7)
    #expect(archive.memoryCount == 1)
  }

  @Test(arguments: ["", "a\0b"])
  func aPathThatIsNoneIsRefused(path: String) {
    #expect(errorCode { try Archive<ArchivePerson>(at: .path(path)) } == .invalidArgument)
  }

  @Test(arguments: ["", ".", "..", "a/b", "a\0b", String(repeating: "n", count: 256)])
  func aNameThatLeadsElsewhereIsRefused(name: String) {
    #expect(errorCode { try Archive<ArchivePerson>(at: .named(name)) } == .invalidArgument)
  }

  @Test func byNameItLiesInTheCachesFolder() throws {
    let name = "larder-test-\(UUID().uuidString)"
    let archive = try Archive<ArchivePerson>(at: .named(name))
    #expect(archive.directoryURL.lastPathComponent == name)
    try archive.upsert(ArchivePerson(1))
    try archive.destroy()
    #expect(!FileManager.default.fileExists(atPath: archive.path))
  }

  @Test func aSecondOneForWritingIsBusy() throws {
    let archive = try place.openPersons()
    #expect(errorCode { try place.openPersons() } == .busy)
    try archive.close()
    try place.openPersons().upsert(ArchivePerson(1))
  }

  @Test func aCoderOfAnotherFormatIsRefusedAndNothingChanges() throws {
    try place.openPersons().upsert(ArchivePerson(1, age: 7))
    #expect(
      errorCode { try Archive<ArchivePerson>(at: .path(place.path), coder: .json()) }
        == .configurationMismatch)
    #expect(try place.openPersons().element(forID: 1)?.age == 7)
  }

  @Test func aCoderThatSaysNothingIsNotCompared() throws {
    let cbor = Coder<ArchivePerson>.cbor
    let silent = Coder<ArchivePerson>(
      encode: { try cbor.encode($0) }, decode: { try cbor.decode($0) })
    let indexes = [ArchiveIndex<ArchivePerson>("age", \.age)]
    try place.open(ArchivePerson.self, indexes: indexes).upsert(ArchivePerson(1))
    let archive = try Archive(
      at: .path(place.path), coder: silent, indexes: indexes, configuration: place.configuration())
    #expect(try archive.element(forID: 1) != nil)
    try archive.close()
    // Other indexes besides: what there is stays known as CBOR.
    let other = try Archive(
      at: .path(place.path), coder: silent, configuration: place.configuration())
    #expect(try other.element(forID: 1) != nil)
    try other.close()
    #expect(
      errorCode { try Archive<ArchivePerson>(at: .path(place.path), coder: .json()) }
        == .configurationMismatch)
  }

  @Test func aCacheIsNoArchiveAndAnArchiveNoCache() throws {
    try DiskCache<Int, String>(at: .path(place.path), coder: .string).set("one", forKey: 1)
    let failure = error { try place.openPersons() }
    #expect(failure?.code == .configurationMismatch)
    #expect(failure?.message.contains("not an archive") == true)
    #expect(
      try DiskCache<Int, String>(at: .path(place.path), coder: .string).value(forKey: 1) == "one")
    let other = place.directory.file("other").path
    try Archive<ArchivePerson>(at: .path(other), coder: .cbor).upsert(ArchivePerson(1))
    #expect(
      errorCode { try DiskCache<Int, String>(at: .path(other), coder: .string) }
        == .configurationMismatch)
  }

  @Test func aReaderReadsWhileAWriterWrites() throws {
    let writer = try place.openPersons()
    try writer.upsert(ArchivePerson(1, age: 1))
    let reader = try place.openPersons { $0.isReadOnly = true }
    #expect(reader.isReadOnly)
    #expect(try reader.element(forID: 1)?.age == 1)
    try writer.upsert(ArchivePerson(1, age: 2))
    #expect(try reader.element(forID: 1)?.age == 2)
    #expect(try reader.latestAccessTime(of: 1) == place.clock.date)
    #expect(errorCode { try reader.upsert(ArchivePerson(2)) } == .readOnly)
    #expect(errorCode { try reader.insert(all: [ArchivePerson(2)]) } == .readOnly)
    #expect(errorCode { try reader.delete(id: 1) } == .readOnly)
    #expect(errorCode { try reader.deleteAll() } == .readOnly)
    #expect(errorCode { try reader.setSizeLimit(1) } == .readOnly)
    #expect(errorCode { try reader.destroy() } == .readOnly)
    #expect(try writer.element(forID: 1)?.age == 2)
  }

  @Test func aReaderDoesNotCreateWhatIsMissing() throws {
    #expect(error { try place.openPersons { $0.isReadOnly = true } }?.errno == ENOENT)
  }

  @Test func openingCanBeDoneElsewhere() async throws {
    let place = place
    let archive = try await Archive<ArchivePerson>.opening { try place.openPersons() }
    try await archive.upsert(ArchivePerson(1))
    #expect(try await archive.element(forID: 1) != nil)
  }
}
