// SPDX-License-Identifier: MIT

import Foundation
import LarderCompatibility
import LarderTestSupport
import Testing

/// Nested elements. After Vellum's `archiveArchivablePropertiesIfNeeded`.
struct ArchivePropertyTests {
  private let place: ArchivePlace
  private let factory: ArchiveFactory

  init() throws {
    place = try ArchivePlace()
    factory = place.factory()
  }

  private func users() throws -> [String] {
    try factory.archive(for: ArchiveUser.self).accessAll().map(\.primaryKey)
  }

  @Test func propertiesGoToTheirOwnArchives() throws {
    let team = ArchiveTeam(
      primaryKey: "a", rank: 1, captain: ArchiveUser(email: "captain"),
      players: [ArchiveUser(email: "one"), ArchiveUser(email: "two")],
      named: ["x": ArchiveUser(email: "named")], trainer: nil)
    try factory.archive(for: ArchiveTeam.self).record(team)
    #expect(try users() == ["captain", "named", "one", "two"])
    #expect(try factory.archive(for: ArchiveTeam.self).access("a") == team)
  }

  @Test func insertingStoresThemToo() throws {
    let archive = try factory.archive(for: ArchiveTeam.self)
    let teams = (0..<5).map {
      ArchiveTeam(primaryKey: "\($0)", rank: $0, captain: ArchiveUser(email: "captain \($0)"))
    }
    try archive.insert(all: teams)
    #expect(try users().count == 5)
    #expect(
      try archive.insertIfAbsent(
        ArchiveTeam(primaryKey: "x", captain: ArchiveUser(email: "captain x"))))
    #expect(try users().count == 6)
  }

  @Test func whatIsThereStaysUnlessItIsToBeReplaced() throws {
    let users = try factory.archive(for: ArchiveUser.self)
    try users.record(ArchiveUser(email: "a", age: 1))
    try factory.archive(for: ArchiveTeam.self).record(
      ArchiveTeam(primaryKey: "t", captain: ArchiveUser(email: "a", age: 2)))
    #expect(try users.access("a")?.age == 1)
    try factory.archive(for: ArchiveReplacing.self).record(
      ArchiveReplacing(primaryKey: "r", user: ArchiveUser(email: "a", age: 3)))
    #expect(try users.access("a")?.age == 3)
    try factory.archive(for: ArchiveIgnoring.self).record(
      ArchiveIgnoring(primaryKey: "i", user: ArchiveUser(email: "b", age: 4)))
    #expect(try users.access("b") == nil)
  }

  @Test func thoseOfPropertiesGoToo() throws {
    let league = ArchiveLeague(
      primaryKey: "l", teams: [ArchiveTeam(primaryKey: "t", captain: ArchiveUser(email: "deep"))])
    try factory.archive(for: ArchiveLeague.self).record(league)
    #expect(try factory.archive(for: ArchiveTeam.self).access("t")?.captain?.email == "deep")
    #expect(try users() == ["deep"])
  }

  @Test func thoseOfSuperclassesGoToo() throws {
    let manager = ArchiveManagerObject(
      primaryKey: "m", owner: ArchiveUser(email: "owner"), deputy: ArchiveUser(email: "deputy"))
    try factory.archive(for: ArchiveManagerObject.self).record(manager)
    #expect(try users() == ["deputy", "owner"])
  }

  @Test func objectsThatReferToEachOtherEndSomewhere() throws {
    let one = ArchiveKnot(primaryKey: "one")
    let two = ArchiveKnot(primaryKey: "two")
    one.others.withLock { $0 = [two] }
    two.others.withLock { $0 = [one] }
    defer { one.others.withLock { $0 = [] } }
    let archive = try factory.archive(for: ArchiveKnot.self)
    try archive.record(one)
    #expect(try archive.count >= 1)
  }

  @Test func anArchiveWithoutAFactoryKeepsThemToItself() throws {
    let archive = try Archive<ArchiveTeam>(
      at: .path(place.path), configuration: place.configuration())
    try archive.record(ArchiveTeam(primaryKey: "t", captain: ArchiveUser(email: "a")))
    #expect(try users() == [])
    try archive.close()
    let factory = factory
    let linked = try Archive<ArchiveTeam>(
      at: .path(place.path), configuration: place.configuration { $0.propertyFactory = factory })
    try linked.record(ArchiveTeam(primaryKey: "t", captain: ArchiveUser(email: "a")))
    #expect(try users() == ["a"])
  }

  @Test func aPropertyThatCannotBeStoredKeepsTheElementOut() throws {
    let small = ArchiveFactory(
      directory: place.directory.file("small"), maximumDiskSize: 30,
      configuration: place.configuration())
    let archive = try small.archive(for: ArchiveTeam.self, maximumDiskSize: 1.kilobytes)
    let team = ArchiveTeam(
      primaryKey: "t", captain: ArchiveUser(email: String(repeating: "a", count: 50)))
    #expect(errorCode { try archive.record(team) } == .tooLarge)
    #expect(try archive.isEmpty)
  }
}

private struct ArchiveLeague: ArchiveCodable {
  var primaryKey: String
  var teams: [ArchiveTeam]
}

private struct ArchiveReplacing: ArchiveCodable {
  static let archivePropertyBehavior = ArchivePropertyBehavior.replaceExisting
  var primaryKey: String
  var user: ArchiveUser
}

private struct ArchiveIgnoring: ArchiveCodable {
  static let archivePropertyBehavior = ArchivePropertyBehavior.ignore
  var primaryKey: String
  var user: ArchiveUser
}

private class ArchiveOwnerObject: @unchecked Sendable {
  let owner: ArchiveUser

  init(owner: ArchiveUser) { self.owner = owner }
}

/// Unchecked as its superclass is: it has constants only.
private final class ArchiveManagerObject: ArchiveOwnerObject, Archivable, @unchecked Sendable {
  let primaryKey: String
  let deputy: ArchiveUser

  init(primaryKey: String, owner: ArchiveUser, deputy: ArchiveUser) {
    self.primaryKey = primaryKey
    self.deputy = deputy
    super.init(owner: owner)
  }

  func archiveData() throws -> Data { Data(primaryKey.utf8) }

  static func decode(archive: Data) throws -> ArchiveManagerObject {
    let key = String(decoding: archive, as: UTF8.self)
    return ArchiveManagerObject(
      primaryKey: key, owner: ArchiveUser(email: ""), deputy: ArchiveUser(email: ""))
  }
}

/// Refers to others of its kind, which refer to it.
private final class ArchiveKnot: Archivable, CustomReflectable {
  static let archivePropertyBehavior = ArchivePropertyBehavior.replaceExisting
  let primaryKey: String
  let others = Locked<[ArchiveKnot]>([])

  init(primaryKey: String) { self.primaryKey = primaryKey }

  var customMirror: Mirror { Mirror(self, children: ["others": others.withLock { $0 }]) }

  func archiveData() throws -> Data { Data(primaryKey.utf8) }

  static func decode(archive: Data) throws -> ArchiveKnot {
    ArchiveKnot(primaryKey: String(decoding: archive, as: UTF8.self))
  }
}
