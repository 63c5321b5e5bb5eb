// SPDX-License-Identifier: MIT

import Foundation
import LarderCompatibility
import LarderTestSupport
import Testing

/// One archive for each type. After Vellum's ArchivesFactory, with its sizes.
struct ArchiveFactoryTests {
  private let place: ArchivePlace

  init() throws { place = try ArchivePlace() }

  @Test func aFactorySuspendsAllOfItsArchives() throws {
    let factory = place.factory()
    let archive = try factory.archive(for: ArchiveUser.self)
    try archive.record(ArchiveUser(email: "one", age: 7))
    try factory.suspendAll()
    #expect(try factory.archive(for: ArchiveUser.self) === archive)
    #expect(errorCode { try archive.access("one") } == .suspended)
    #expect(filesHeld(under: place.directory.url) == [])
    try factory.resumeAll()
    #expect(try archive.access("one")?.age == 7)
    try archive.close()
    try factory.suspendAll()
    try factory.resumeAll()
  }

  @Test func oneArchiveForEachType() throws {
    let factory = place.factory()
    let users = try factory.archive(for: ArchiveUser.self)
    let teams = try factory.archive(for: ArchiveTeam.self)
    let again: Archive<ArchiveUser> = try factory.archive()
    #expect(users === again)
    #expect(users.path != teams.path)
    #expect(users.directoryURL.lastPathComponent == "vellum_archive_user")
    #expect(teams.directoryURL.lastPathComponent == "teams")
  }

  @Test func sizesCountWhenTheArchiveIsOpenedOnly() throws {
    let factory = place.factory()
    let users = try factory.archive(
      for: ArchiveUser.self, maximumMemorySize: 3.kilobytes, maximumDiskSize: 5.kilobytes)
    #expect(users.memorySizeLimit == 3.kilobytes && users.sizeLimit == 5.kilobytes)
    let again = try factory.archive(
      for: ArchiveUser.self, maximumMemorySize: 7.kilobytes, maximumDiskSize: 9.kilobytes)
    #expect(again.memorySizeLimit == 3.kilobytes && again.sizeLimit == 5.kilobytes)
  }

  @Test(arguments: [DataSize.zero, -1])
  func noSizeIsTheDefault(size: DataSize) throws {
    let archive = try place.factory().archive(
      for: ArchiveUser.self, maximumMemorySize: size, maximumDiskSize: size)
    #expect(archive.memorySizeLimit == 1.megabytes && archive.sizeLimit == 2.megabytes)
    let factory = ArchiveFactory(
      directory: place.directory.file("other"), maximumMemorySize: 5.kilobytes,
      maximumDiskSize: 6.kilobytes)
    let other = try factory.archive(for: ArchiveUser.self, maximumMemorySize: size)
    #expect(other.memorySizeLimit == 5.kilobytes && other.sizeLimit == 6.kilobytes)
  }

  @Test func whatWasClosedIsOpenedAgain() throws {
    let factory = place.factory()
    let first = try factory.archive(for: ArchiveUser.self)
    try first.record(ArchiveUser(email: "a"))
    try first.close()
    let second = try factory.archive(for: ArchiveUser.self)
    #expect(first !== second)
    #expect(try second.access("a") != nil)
    try factory.closeAll()
    #expect(second.isClosed)
    #expect(try factory.archive(for: ArchiveUser.self).access("a") != nil)
  }

  @Test func archivesGoWithTheirFactory() throws {
    var factory: ArchiveFactory? = place.factory()
    try factory?.archive(for: ArchiveUser.self).record(ArchiveUser(email: "a"))
    factory = nil
    #expect(try place.factory().archive(for: ArchiveUser.self).access("a") != nil)
  }

  @Test func anArchiveThatOutlivesItsFactorySaysWhatItCannotDo() throws {
    let teams = try place.factory().archive(for: ArchiveTeam.self)
    try teams.record(ArchiveTeam(primaryKey: "alone"))
    let team = ArchiveTeam(primaryKey: "a", captain: ArchiveUser(email: "a"))
    #expect(errorCode { try teams.record(team) } == .closed)
  }

  @Test func twoTypesOfOneNameAreRefused() throws {
    let factory = place.factory()
    _ = try factory.archive(for: ArchiveTeam.self)
    let failure = error { try factory.archive(for: OtherTeam.self) }
    #expect(failure?.code == .invalidArgument)
    #expect(failure?.message.contains("ArchiveTeam") == true)
    #expect(errorCode { try factory.archive(for: Nameless.self) } == .invalidArgument)
  }

  @Test func theFoldersAboveAreMade() throws {
    let factory = ArchiveFactory(directory: place.directory.file("a").appendingPathComponent("b"))
    try factory.archive(for: ArchiveUser.self).record(ArchiveUser(email: "a"))
    #expect(try place.directory.names == ["a"])
    try Data().write(to: place.directory.file("file"))
    let blocked = ArchiveFactory(directory: place.directory.file("file"))
    #expect(errorCode { try blocked.archive(for: ArchiveUser.self) } == .io)
  }

  @Test func manyThreadsGetTheSame() throws {
    let factory = place.factory()
    let archives = Locked<[ObjectIdentifier]>([])
    onDiskThreads(8) { _ in
      if let archive = try? factory.archive(for: ArchiveUser.self) {
        archives.withLock { $0.append(ObjectIdentifier(archive)) }
      }
    }
    #expect(archives.withLock { $0.count } == 8)
    #expect(archives.withLock { Set($0).count } == 1)
  }
}

private struct OtherTeam: ArchiveCodable {
  static let archiveName = ArchiveTeam.archiveName
  var primaryKey = ""
}

private struct Nameless: ArchiveCodable {
  static let archiveName = "a/b"
  var primaryKey = ""
}
