// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Folders and files that another user made, or may write to.
struct OtherUsersTests {
  private let place: DiskPlace

  init() throws { place = try DiskPlace() }

  /// Makes the folder anew, of any user but root and the one who runs tests.
  private func makeFolderOfAnother() throws {
    try? FileManager.default.removeItem(at: place.url)
    try FileManager.default.createDirectory(
      at: place.url, withIntermediateDirectories: false, attributes: [.ownerAccountID: 65_534])
  }

  @Test(.enabled(if: geteuid() == 0, "Only root can make another user's folder."))
  func folderOfAnotherUserIsRefusedUnlessTheyAreTrusted() throws {
    try makeFolderOfAnother()
    let failure = error { try place.openData() }
    #expect(failure?.code == .untrusted)
    #expect(failure?.message.contains("another user") == true)
    #expect(
      errorCode { try EntryCache<String>(at: .path(place.path), valueCount: 1) } == .untrusted)
    #expect(errorCode { try Archive<ArchivePerson>(at: .path(place.path)) } == .untrusted)
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == [])

    try place.openData { $0.trustsOtherUsers = true }.set(Data([1]), forKey: "a")
    #expect(errorCode { try place.openData() } == .untrusted)
    #expect(try place.openData { $0.isReadOnly = true }.value(forKey: "a") == Data([1]))

    try makeFolderOfAnother()
    var entries = EntryCacheConfiguration()
    entries.trustsOtherUsers = true
    try EntryCache<String>(at: .path(place.path), valueCount: 1, configuration: entries).close()
    #expect(
      errorCode { try EntryCache<String>(at: .path(place.path), valueCount: 1) } == .untrusted)

    try makeFolderOfAnother()
    var archives = ArchiveConfiguration()
    archives.trustsOtherUsers = true
    try Archive<ArchivePerson>(at: .path(place.path), configuration: archives).close()
    #expect(errorCode { try Archive<ArchivePerson>(at: .path(place.path)) } == .untrusted)
  }

  @Test func cacheThatEveryUserMayWriteToIsRefusedUnlessTheyAreTrusted() throws {
    try place.openData().set(Data([1]), forKey: "a")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o666], ofItemAtPath: place.path + "/data.mdb")
    let failure = error { try place.openData() }
    #expect(failure?.code == .untrusted)
    #expect(failure?.message.contains("data.mdb") == true)
    typealias Cache = DiskCache<String, Data>
    #expect(errorCode { try Cache.compact(at: .path(place.path)) } == .untrusted)
    #expect(errorCode { try Cache.rebuild(at: .path(place.path)) } == .untrusted)
    #expect(try place.openData { $0.isReadOnly = true }.value(forKey: "a") == Data([1]))
    try place.openData { $0.trustsOtherUsers = true }.set(Data([2]), forKey: "b")
    try Cache.compact(at: .path(place.path), trustsOtherUsers: true)
    #expect(try Cache.rebuild(at: .path(place.path), trustsOtherUsers: true).intact == 2)
    // The new index has the permissions of the log.
    #expect(try place.openData().value(forKey: "b") == Data([2]))
  }
}
