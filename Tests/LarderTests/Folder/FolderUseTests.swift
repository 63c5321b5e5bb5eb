// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// What can still be done with a store whose folder does not lie at its path any more.
struct FolderUseTests {
  private struct Note: Codable, Identifiable {
    var id: Int
    var text: String
  }

  /// What lies in its place.
  enum Place: CaseIterable {
    case nothing, file, linkToItself, linkToAFolder
  }

  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private var parent: String { directory.file("parent").path }
  private var path: String { parent + "/store" }
  private var aside: String { directory.file("aside").path }

  private func moveAway(_ place: Place) throws {
    let manager = FileManager.default
    try manager.moveItem(atPath: path, toPath: aside)
    switch place {
    case .nothing: break
    case .file: try Data("a file".utf8).write(to: URL(fileURLWithPath: path))
    case .linkToItself: try manager.createSymbolicLink(atPath: path, withDestinationPath: path)
    case .linkToAFolder: try manager.createSymbolicLink(atPath: path, withDestinationPath: parent)
    }
  }

  private func putBack() throws {
    // What the link leads to stays.
    _ = unlink(path)
    try FileManager.default.moveItem(atPath: aside, toPath: path)
  }

  private func openCache() throws -> DiskCache<Int, String> {
    var configuration = DiskCacheConfiguration<Int, String>()
    configuration.checkpointInterval = .zero
    configuration.syncInterval = .zero
    try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
    return try DiskCache(at: .path(path), configuration: configuration)
  }

  private func openArchive() throws -> Archive<Note> {
    var configuration = ArchiveConfiguration()
    configuration.checkpointInterval = .zero
    try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
    return try Archive(at: .path(path), configuration: configuration)
  }

  /// What is said of a call while the folder lies elsewhere.
  private func expectReplaced(_ failure: LarderError?, _ call: String, _ place: Place) {
    let sentence = "The store that was opened in \(path) does not lie there any more"
    #expect(failure?.code == .replaced, "\(call), \(place): \(failure.map { "\($0)" } ?? "")")
    #expect(failure?.message.hasPrefix(sentence) == true, "\(call), \(place)")
  }

  @Test(arguments: Place.allCases)
  func callsOfACacheSayThatItIsElsewhere(place: Place) throws {
    let calls: [(String, (DiskCache<Int, String>) throws -> Void)] = [
      ("set", { try $0.set("more", forKey: 2, durability: .power) }), ("sync", { try $0.sync() }),
      ("flush", { try $0.checkpoint() }), ("verify", { _ = try $0.verify() }),
      ("suspend", { try $0.suspend() }), ("close", { try $0.close() }),
    ]
    for (name, call) in calls {
      let cache = try openCache()
      try cache.set("mine", forKey: 1)
      try moveAway(place)
      expectReplaced(error { try call(cache) }, name, place)
      if name == "suspend" {
        #expect(cache.isSuspended)
        try cache.close()
      }
      try? cache.close()
      try putBack()
      let again = try openCache()
      #expect(try again.value(forKey: 1) == "mine")
      try again.close()
    }
  }

  @Test(arguments: Place.allCases)
  func callsOfAnArchiveSayThatItIsElsewhere(place: Place) throws {
    let calls: [(String, (Archive<Note>) throws -> Void)] = [
      ("flush", { try $0.checkpoint() }), ("reindex", { try $0.reindex() }),
      ("close", { try $0.close() }), ("destroy", { try $0.destroy() }),
    ]
    for (name, call) in calls {
      let archive = try openArchive()
      try archive.upsert(Note(id: 1, text: "mine"))
      try moveAway(place)
      expectReplaced(error { try call(archive) }, name, place)
      try? archive.close()
      // Closing twice is harmless.
      try archive.close()
      try putBack()
      let again = try openArchive()
      #expect(try again.element(forID: 1)?.text == "mine")
      try again.close()
    }
  }

  @Test(arguments: [Place.file, .linkToItself, .linkToAFolder])
  func nothingIsResumedWhereSomethingElseLies(place: Place) throws {
    let cache = try openCache()
    try cache.set("mine", forKey: 1)
    try cache.suspend()
    try moveAway(place)
    expectReplaced(error { try cache.resume() }, "resume", place)
    #expect(cache.isSuspended)
    try putBack()
    try cache.resume()
    #expect(try cache.value(forKey: 1) == "mine")
  }

  @Test func nothingIsResumedWithoutTheFolderThatItLayIn() throws {
    let cache = try openCache()
    try cache.set("mine", forKey: 1)
    try cache.suspend()
    try FileManager.default.moveItem(atPath: parent, toPath: aside)
    expectReplaced(error { try cache.resume() }, "resume", .nothing)
    #expect(cache.isSuspended)
    try FileManager.default.moveItem(atPath: aside, toPath: parent)
    try cache.resume()
    #expect(try cache.value(forKey: 1) == "mine")
  }

  @Test func aCopyIsMadeOfWhatLiesElsewhere() throws {
    let cache = try openCache()
    try cache.set("mine", forKey: 1)
    try moveAway(.nothing)
    let copy = directory.file("copy").path
    try cache.backup(to: copy)
    #expect(try DiskCache<Int, String>(at: .path(copy)).value(forKey: 1) == "mine")
    expectReplaced(error { try cache.close() }, "close", .nothing)
  }

  // MARK: - Writes that wait

  private func makeWaiting() throws -> Cache<Int, String> {
    try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
    var configuration = CacheConfiguration<Int, String>()
    configuration.writePolicy = .writeBack(queueLimit: 10)
    configuration.disk.durability = .power
    let cache = try Cache(at: .path(path), configuration: configuration)
    try cache.set("mine", forKey: 1)
    try cache.checkpoint()
    try moveAway(.nothing)
    try cache.set("waiting", forKey: 2)
    for _ in 0..<2 {
      expectReplaced(error { try cache.close() }, "close", .nothing)
      #expect(cache.statistics.pendingWrites == 1)
    }
    return cache
  }

  @Test func whatWaitsIsWrittenWhenTheFolderIsPutBack() throws {
    let cache = try makeWaiting()
    try putBack()
    try cache.close()
    #expect(try openCache().value(forKey: 2) == "waiting")
  }

  @Test func aCacheWithWritesThatWaitLetsGoWhenItIsSuspended() throws {
    let cache = try makeWaiting()
    expectReplaced(error { try cache.suspend() }, "suspend", .nothing)
    let other = try DiskCache<Int, String>(at: .path(aside))
    #expect(try other.value(forKey: 1) == "mine")
    try other.close()
    try putBack()
    try cache.resume()
    try cache.close()
    #expect(try openCache().value(forKey: 2) == "waiting")
  }
}
