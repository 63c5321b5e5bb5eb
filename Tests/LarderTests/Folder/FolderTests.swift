// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// A store is the folder that was opened, and not what lies at its path later.
struct FolderTests {
  private struct Note: Codable, Identifiable {
    var id: Int
    var text: String
  }

  /// What becomes of the folder while it is open.
  enum Fate: CaseIterable {
    case moved, movedAndRemade, replaced, deleted, deletedAndRemade, aFileInItsPlace

    var isDeleted: Bool { self == .deleted || self == .deletedAndRemade }
  }

  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private var path: String { directory.file("store").path }
  private var aside: String { directory.file("aside").path }
  private var other: String { directory.file("other").path }

  private func files(_ path: String) -> [String: Data] {
    if let file = FileManager.default.contents(atPath: path) { return ["": file] }
    let names = (try? FileManager.default.subpathsOfDirectory(atPath: path)) ?? []
    return Dictionary(
      uniqueKeysWithValues: names.map { name in
        let file = URL(fileURLWithPath: path).appendingPathComponent(name)
        return (name, (try? Data(contentsOf: file)) ?? Data())
      })
  }

  /// - Parameter make: Makes a store at a path, and closes it.
  private func meet(_ fate: Fate, _ make: (String) throws -> Void) throws {
    let manager = FileManager.default
    if fate == .replaced { try make(other) }
    if fate.isDeleted {
      try manager.removeItem(atPath: path)
    } else {
      try manager.moveItem(atPath: path, toPath: aside)
    }
    switch fate {
    case .moved, .deleted: break
    case .movedAndRemade, .deletedAndRemade: try make(path)
    case .replaced: try manager.moveItem(atPath: other, toPath: path)
    case .aFileInItsPlace: try Data("a file".utf8).write(to: URL(fileURLWithPath: path))
    }
  }

  private func openArchive(
    _ path: String, isReadOnly: Bool = false
  ) throws -> Archive<Note> {
    var configuration = ArchiveConfiguration()
    configuration.isReadOnly = isReadOnly
    configuration.checkpointInterval = .zero
    return try Archive(at: .path(path), configuration: configuration)
  }

  private func makeArchive(_ path: String) throws {
    let archive = try openArchive(path)
    try archive.insert(Note(id: 1, text: "another one"))
    try archive.close()
  }

  private func makeEntries(_ path: String) throws {
    let cache = try EntryCache<Int>(at: .path(path), valueCount: 2)
    try cache.setValues([Data("another one".utf8), Data()], forKey: 1)
    try cache.close()
  }

  private func openCache(_ path: String) throws -> Cache<Int, String> {
    var configuration = CacheConfiguration<Int, String>()
    configuration.keepsHotKeys = true
    return try Cache(at: .path(path), configuration: configuration)
  }

  private func makeCache(_ path: String) throws {
    let cache = try openCache(path)
    try cache.set("another one", forKey: 1)
    try cache.close()
  }

  // MARK: - Deleting

  @Test(arguments: Fate.allCases, [false, true])
  func destroyingAnArchiveSparesWhatLiesThereNow(fate: Fate, isSuspended: Bool) throws {
    let archive = try openArchive(path)
    try archive.insert(Note(id: 2, text: "mine"))
    if isSuspended { try archive.suspend() }
    try meet(fate, makeArchive)
    let (own, others) = (files(aside), files(path))
    let code = errorCode { try archive.destroy() }
    // Of one that is suspended nothing says whether it was deleted or moved.
    #expect(code == (fate.isDeleted && !isSuspended ? nil : .replaced))
    #expect(files(path) == others && files(aside) == own)
    #expect(archive.isClosed == (code == nil))
    if fate == .moved {
      // What it cannot flush any more is in its log.
      #expect(errorCode { try archive.close() } == (isSuspended ? nil : .replaced))
      #expect(try openArchive(aside).element(forID: 2)?.text == "mine")
    }
  }

  @Test(arguments: Fate.allCases)
  func deletingACacheOfEntriesSparesWhatLiesThereNow(fate: Fate) throws {
    let cache = try EntryCache<Int>(at: .path(path), valueCount: 2)
    try cache.setValues([Data("mine".utf8), Data()], forKey: 1)
    try meet(fate, makeEntries)
    let (own, others) = (files(aside), files(path))
    #expect(errorCode { try cache.destroy() } == (fate.isDeleted ? nil : .replaced))
    #expect(files(path) == others && files(aside) == own)
    #expect(cache.isClosed == fate.isDeleted)
  }

  @Test func deletingTwiceSparesWhoCameMeanwhile() throws {
    let archive = try openArchive(path)
    try archive.destroy()
    try makeArchive(path)
    let cache = try EntryCache<Int>(at: .path(aside), valueCount: 2)
    try cache.destroy()
    try makeEntries(aside)
    let (archived, cached) = (files(path), files(aside))
    try archive.destroy()
    try cache.destroy()
    #expect(files(path) == archived && files(aside) == cached)
  }

  @Test func whoWasClosedDeletesNoLaterStoreInTheSameFolder() throws {
    // The folder stays, as something else is in it.
    let archive = try openArchive(path)
    let mine = URL(fileURLWithPath: path + "/mine.txt")
    try Data("mine".utf8).write(to: mine)
    try archive.close()
    try openArchive(path).destroy()
    try FileManager.default.removeItem(at: mine)
    try makeArchive(path)
    let others = files(path)
    #expect(errorCode { try archive.destroy() } == .replaced)
    #expect(files(path) == others && others.count > 2)
  }

  @Test func whoWasClosedDeletesItsOwnStoreStill() throws {
    let archive = try openArchive(path)
    try archive.close()
    let second = try openArchive(path)
    #expect(errorCode { try archive.destroy() } == .busy)
    try second.close()
    try archive.destroy()
    #expect(try directory.names == [])
  }

  @Test func aFolderBehindASymbolicLinkIsDeletedThere() throws {
    let manager = FileManager.default
    try makeArchive(other)
    try manager.createSymbolicLink(atPath: path, withDestinationPath: other)
    try openArchive(path).destroy()
    #expect(manager.fileExists(atPath: other) && files(other).isEmpty)
    // The link leads to another folder later.
    try makeArchive(other)
    try makeArchive(aside)
    let archive = try openArchive(path)
    try manager.removeItem(atPath: path)
    try manager.createSymbolicLink(atPath: path, withDestinationPath: aside)
    let (own, others) = (files(other), files(aside))
    #expect(errorCode { try archive.destroy() } == .replaced)
    #expect(files(aside) == others && files(other) == own)
  }

  // MARK: - Writing

  @Test(arguments: Fate.allCases)
  func hotKeysGoNowhereElse(fate: Fate) throws {
    let cache = try openCache(path)
    for key in 0..<9 { try cache.set("mine", forKey: key) }
    try meet(fate, makeCache)
    let others = files(path)
    try? cache.close()
    #expect(files(path) == others)
  }

  @Test(arguments: Fate.allCases)
  func aLongValueGoesNowhereElse(fate: Fate) throws {
    let cache = try EntryCache<Int>(at: .path(path), valueCount: 1)
    try cache.setValues([Data("mine".utf8)], forKey: 1)
    let editor = try #require(try cache.edit(2))
    let writer = try editor.writer(at: 0)
    try writer.write(Data(count: 200_000))
    try meet(fate) { path in
      let cache = try EntryCache<Int>(at: .path(path), valueCount: 1)
      try cache.setValues([Data("another one".utf8)], forKey: 1)
      try cache.close()
    }
    let others = files(path)
    let times = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
    #expect(errorCode { try writer.write(Data(count: 200_000)) } == .replaced)
    #expect(errorCode { try editor.commit() } == .replaced)
    let now = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
    #expect(files(path) == others && now == times)
  }

  @Test(arguments: Fate.allCases)
  func whatIsFlushedOrFollowedGoesNowhereElse(fate: Fate) throws {
    let archive = try openArchive(path)
    try archive.insert(Note(id: 2, text: "mine"))
    try archive.sync()
    let reader = try openArchive(path, isReadOnly: true)
    try meet(fate, makeArchive)
    let others = files(path)
    #expect(errorCode { try archive.changes(named: "writer") } == .replaced)
    #expect(errorCode { try reader.changes(named: "reader") } == .replaced)
    #expect(errorCode { try archive.checkpoint() } == .replaced)
    try? archive.close()
    try? reader.close()
    #expect(files(path) == others)
  }

  @Test(arguments: Fate.allCases)
  func nothingElseIsResumed(fate: Fate) throws {
    let archive = try openArchive(path)
    try archive.insert(Note(id: 2, text: "mine"))
    try archive.suspend()
    try meet(fate, makeArchive)
    let (own, others) = (files(aside), files(path))
    if fate == .moved || fate == .deleted {
      // What is gone is created again, and is the archive's own from then on.
      try archive.resume()
      #expect(try archive.isEmpty && files(aside) == own)
      return try archive.destroy()
    }
    #expect(errorCode { try archive.resume() } == .replaced)
    #expect(archive.isSuspended && files(path) == others)
    if fate == .deletedAndRemade { return }
    // Put back, it is resumed.
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.moveItem(atPath: aside, toPath: path)
    try archive.resume()
    #expect(try archive.element(forID: 2)?.text == "mine")
  }

  @Test func aStoreIsOpenedWhereItWasMovedWhileItIsReadStill() throws {
    let reader: Archive<Note>
    do {
      let archive = try openArchive(path)
      try archive.insert(Note(id: 1, text: "mine"))
      try archive.checkpoint()
      reader = try openArchive(path, isReadOnly: true)
      try archive.close()
    }
    try FileManager.default.moveItem(atPath: path, toPath: aside)
    let archive = try openArchive(aside)
    try archive.upsert(Note(id: 2, text: "more"))
    try archive.checkpoint()
    #expect(try archive.count == 2)
    #expect(try reader.element(forID: 1)?.text == "mine")
  }

  // MARK: - Another process

  @Test func aProcessThatGoesElsewhereUsesItsOwnStores() throws {
    let process = try Process.run(
      builtProducts.appendingPathComponent("TopLevelMoving"), arguments: [directory.url.path])
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 0)
  }
}
