// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// Where a store lies that has a name and no path.
struct DiskFolderTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  @Test func programsDoNotShareWhatHasTheSameName() throws {
    let programs = ["a", "b"].map { "larder-test-\($0)" }
    let paths = try programs.map {
      try DiskFolder.path(of: "pages", in: .cachesDirectory, program: $0)
    }
    let parents = paths.map { URL(fileURLWithPath: $0).deletingLastPathComponent() }
    #expect(parents.map(\.lastPathComponent) == programs)
    #expect(paths.allSatisfy { $0.hasSuffix("/pages") })
    // Nothing is made before a store is opened.
    for parent in parents { #expect(!FileManager.default.fileExists(atPath: parent.path)) }
  }

  @Test func cachesAndArchivesOfOneNameAreApart() throws {
    let place = StoreLocation.named("larder-test")
    let paths = try [DiskCache<String, Data>.userDirectory, Archive<Named>.userDirectory].map {
      try place.path(in: $0)
    }
    let folders = [FileManager.SearchPathDirectory.cachesDirectory, .applicationSupportDirectory]
    for (path, folder) in zip(paths, folders) {
      let user = try FileManager.default.url(
        for: folder, in: .userDomainMask, appropriateFor: nil, create: false)
      #expect(path == user.path + "/" + DiskFolder.program + "/larder-test")
    }
    #expect(paths[0] != paths[1])
  }

  private struct Named: Codable, Identifiable, Sendable { var id: Int }

  /// Percent signs, spaces and letters of any alphabet.
  @Test(arguments: ["a folder", "50%", "%20", "grün", "a+b?c#d"])
  func aURLAndAPathAreOneFolder(name: String) throws {
    let url = directory.file("above").appendingPathComponent(name)
    let byURL = try DiskCache<Int, String>(at: .url(url))
    #expect(byURL.path.hasSuffix("/above/" + name) && byURL.name == name)
    try byURL.set("one", forKey: 1)
    try byURL.close()
    let byPath = try DiskCache<Int, String>(at: .path(url.path(percentEncoded: false)))
    #expect(try byPath.value(forKey: 1) == "one")
    #expect(StoreLocation.url(url).name == StoreLocation.path(byPath.path).name)
  }

  @Test func whatIsNoFileURLIsRefused() throws {
    let url = try #require(URL(string: "https://example.org/pages"))
    let failure = error { try DiskCache<Int, String>(at: .url(url)) }
    #expect(failure?.code == .invalidArgument)
    #expect(failure?.message.contains("https://example.org/pages") == true)
  }

  @Test func theFoldersAboveAreMade() throws {
    let url = directory.file("a/b/c/store")
    try DiskCache<Int, String>(at: .url(url)).set("one", forKey: 1)
    try EntryCache<Int>(at: .url(directory.file("d/e/store")), valueCount: 1).close()
    try Archive<Named>(at: .url(directory.file("f/g/store"))).close()
    #expect(try DiskCache<Int, String>(at: .url(url)).value(forKey: 1) == "one")
  }

  /// As all but its last part are made, and the store makes that one with its own permissions.
  @Test(arguments: ["store", "store/", "store//", "\u{301}store/"])
  func theStoreMakesItsOwnFolder(name: String) throws {
    let path = directory.file("a").path + "/" + name
    var configuration = DiskCacheConfiguration<Int, String>()
    configuration.permissions = 0o600
    let cache = try DiskCache<Int, String>(at: .path(path), configuration: configuration)
    let facts = try FileManager.default.attributesOfItem(atPath: cache.directoryURL.path)
    #expect(facts[.posixPermissions] as? Int == 0o700)
    let folders = try FileManager.default.contentsOfDirectory(atPath: directory.file("a").path)
    #expect(folders.count == 1)
  }

  @Test func anArchiveIsOpenedMendedAndCopiedByName() throws {
    let place = StoreLocation.named("larder-test-\(UUID().uuidString)")
    let copy = StoreLocation.named("larder-test-\(UUID().uuidString)")
    let archive = try Archive<Named>(at: place)
    let support = try FileManager.default.url(
      for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: false)
    #expect(archive.path.hasPrefix(support.path + "/" + DiskFolder.program + "/larder-test-"))
    try archive.insert(Named(id: 1))
    try archive.close()
    #expect(try Archive<Named>.rebuild(at: place).isIntact)
    #expect(try Archive<Named>.salvage(from: place, to: copy).intact == 1)
    for name in [place, copy] {
      let opened = try Archive<Named>(at: name)
      #expect(try opened.element(forID: 1) != nil)
      try opened.destroy()
    }
    #expect(StoreLocation.path("/a") == "/a")
  }

  @Test func whoReadsOnlyMakesNone() throws {
    var configuration = DiskCacheConfiguration<Int, String>()
    configuration.isReadOnly = true
    let failure = error {
      try DiskCache<Int, String>(
        at: .url(directory.file("a/b/store")), configuration: configuration)
    }
    #expect(failure?.errno == ENOENT)
    #expect(!FileManager.default.fileExists(atPath: directory.file("a").path))
  }

  @Test func aFolderAboveThatIsAFileIsAnError() throws {
    try Data("mine".utf8).write(to: directory.file("a"))
    #expect(errorCode { try DiskCache<Int, String>(at: .url(directory.file("a/b/store"))) } == .io)
    #expect(try Data(contentsOf: directory.file("a")) == Data("mine".utf8))
  }

  @Test func thisProgramIsNamedByItsBundleOrItsExecutable() throws {
    let program = DiskFolder.program
    try DiskFolder.validate(program)
    #if os(Linux)
      #expect(CommandLine.arguments[0].hasSuffix(program))
    #endif
  }

  @Test(arguments: ["", ".", "..", "a/b"])
  func aNameIsThatOfOneFolder(_ name: String) {
    #expect(
      errorCode { try StoreLocation.named(name).path(in: .cachesDirectory) } == .invalidArgument)
    let failure = errorCode {
      try DiskFolder.path(of: "pages", in: .cachesDirectory, program: name)
    }
    #expect(failure == .invalidArgument)
  }
}
