// SPDX-License-Identifier: MIT

import Foundation
import LarderCompatibility
import LarderTestSupport
import Testing

/// Elements in Vellum's form: a text for a key, a name, an encoding, and properties that are
/// archived themselves.
struct ArchivableTests {
  private let place: ArchivePlace

  init() throws { place = try ArchivePlace() }

  @Test func namesAreThoseOfTheTypes() {
    #expect(ArchiveUser.archiveName == "vellum_archive_user")
    #expect(HTTPCachePage.archiveName == "vellum_http_cache_page")
    #expect(ArchiveBox<Int>.archiveName == "vellum_archive_box_int")
    #expect(ArchiveTeam.archiveName == "teams")
  }

  @Test func theKeyIsTheIdentity() {
    let user = ArchiveUser(email: "ada@example.org")
    #expect(user.id == "ada@example.org" && user.id == user.primaryKey)
    #expect(ArchiveUser.archivePropertyBehavior == .insertIfNotPresent)
    #expect(ArchiveUser.archiveIndexes.isEmpty)
  }

  @Test func anEncodingOfOnesOwnIsUsed() throws {
    let archive = try Archive<ArchiveNote>(
      at: .path(place.path), configuration: place.configuration())
    try archive.record(ArchiveNote(primaryKey: "a", text: "größe"))
    #expect(
      try archive.size == (try ArchiveNote(primaryKey: "a", text: "größe").sizeOfData))
    #expect(try archive.size == .bytes("a\tgröße".utf8.count))
    archive.memorySizeLimit = .zero
    #expect(try archive.access("a")?.text == "größe")
    try archive.close()
    #expect(
      errorCode {
        try Archive<ArchiveNote>(
          at: .path(place.path),
          coder: .init(
            format: "other", encode: { try $0.archiveData() },
            decode: { try ArchiveNote.decode(archive: $0) }))
      } == .configurationMismatch)
  }

  @Test func theirIndexesAreKept() throws {
    let archive = try place.factory().archive(for: ArchiveTeam.self)
    #expect(archive.indexes.map(\.name) == ["rank"])
    try archive.record(ArchiveTeam(primaryKey: "a", rank: 1))
    #expect(try archive.verify().isIntact)
  }

  @Test func anElementKnowsItsArchive() throws {
    let factory = place.factory()
    var user = ArchiveUser(email: "ada@example.org", age: 36)
    #expect(try user.archivedVersion(in: factory) == nil)
    try user.updateArchive(in: factory)
    user.age = 37
    #expect(try user.archivedVersion(in: factory)?.age == 36)
    try user.updateArchive(in: factory)
    #expect(try user.archivedVersion(in: factory)?.age == 37)
  }

  @Test func anElementKnowsItsArchiveInTasksToo() async throws {
    let factory = place.factory()
    let user = ArchiveUser(email: "ada@example.org", age: 36)
    try await user.updateArchive(in: factory)
    #expect(try await user.archivedVersion(in: factory) == user)
  }
}

private struct HTTPCachePage: ArchiveCodable { var primaryKey = "" }

private struct ArchiveBox<Content: Codable & Sendable>: ArchiveCodable { var primaryKey = "" }

/// An encoding of its own.
private struct ArchiveNote: Archivable {
  static let archiveFormat = "note"
  var primaryKey: String
  var text: String

  func archiveData() throws -> Data { Data("\(primaryKey)\t\(text)".utf8) }

  static func decode(archive: Data) throws -> ArchiveNote {
    let parts = String(decoding: archive, as: UTF8.self).split(separator: "\t", maxSplits: 1)
    guard parts.count == 2 else { throw CocoaError(.coderReadCorrupt) }
    return ArchiveNote(primaryKey: String(parts[0]), text: String(parts[1]))
  }
}
