// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Closing and deleting. After SwiftyCache's testCacheDelete (which took files that were not
/// its own), testAggressiveClearingHandlesDelete; and the crash when its last reference
/// died on its own queue.
struct EntryDeletingTests {
  private let place: EntryPlace

  init() throws { place = try EntryPlace() }

  @Test func closedIsClosed() throws {
    let cache = try place.open()
    try cache.set("a", "A", "B")
    #expect(!cache.isClosed)
    try cache.close()
    try cache.close()
    #expect(cache.isClosed)
    #expect(errorCode { try cache.snapshot(forKey: "a") } == .closed)
    #expect(errorCode { try cache.snapshot(forKey: "a", values: [0]) } == .closed)
    #expect(errorCode { try cache.set("a", "C", "D") } == .closed)
    #expect(errorCode { try cache.update([0: Data()], forKey: "a") } == .closed)
    #expect(errorCode { try cache.edit("a") } == .closed)
    #expect(errorCode { try cache.remove(forKey: "a") } == .closed)
    #expect(errorCode { try cache.removeAll() } == .closed)
    #expect(errorCode { try cache.contains("a") } == .closed)
    #expect(errorCode { try cache.keys() } == .closed)
    #expect(errorCode { try cache.infos() } == .closed)
    #expect(errorCode { try cache.info(forKey: "a") } == .closed)
    #expect(errorCode { try cache.count } == .closed)
    #expect(errorCode { try cache.size } == .closed)
    #expect(errorCode { try cache.checkpoint() } == .closed)
    #expect(errorCode { try cache.sync() } == .closed)
    #expect(errorCode { try cache.verify() } == .closed)
    #expect(errorCode { try cache.recovery } == .closed)
    #expect(errorCode { try cache.statistics } == .closed)
    cache.sizeLimit = 5
    #expect(cache.sizeLimit == 5)
    #expect(try place.open().texts("a") == ["A", "B"])
  }

  @Test func deletingTakesTheFolder() throws {
    let cache = try place.open { $0.inlineThreshold = 10 }
    try cache.setValues([entryBytes(100), entryBytes(100)], forKey: "a")
    try cache.checkpoint()
    try cache.set("b", "A", "B")
    let editor = try cache.editor("b")
    try cache.destroy()
    #expect(cache.isClosed)
    #expect(try place.directory.names == [])
    #expect(errorCode { try editor.commit() } == .closed)
    #expect(errorCode { try cache.set("a", "A", "B") } == .closed)
    try cache.destroy()
    let next = try place.open()
    #expect(try next.isEmpty)
    try next.set("c", "A", "B")
    #expect(try next.texts("c") == ["A", "B"])
  }

  @Test func deletingLeavesWhatIsNotTheCaches() throws {
    let cache = try place.open { $0.inlineThreshold = 0 }
    try cache.set("a", "A", "B")
    let foreign = place.url.appendingPathComponent("notes.txt")
    let folder = place.url.appendingPathComponent("photos")
    try Data("mine".utf8).write(to: foreign)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    try cache.destroy()
    #expect(try place.names == ["notes.txt", "photos"])
    #expect(try Data(contentsOf: foreign) == Data("mine".utf8))
  }

  @Test func deletingAfterClosingIsFineUnlessSomebodyElseHasIt() throws {
    let first = try place.open()
    try first.set("a", "A", "B")
    try first.close()
    let second = try place.open()
    #expect(errorCode { try first.destroy() } == .busy)
    #expect(try second.texts("a") == ["A", "B"])
    try second.set("b", "A", "B")
    try second.close()
    #expect(try place.open().keys() == ["a", "b"])
    try first.destroy()
    #expect(try place.directory.names == [])
  }

  @Test func deletingWhatIsGoneIsFine() throws {
    let cache = try place.open()
    try cache.set("a", "A", "B")
    try FileManager.default.removeItem(at: place.url)
    try cache.destroy()
    #expect(cache.isClosed)
    #expect(try place.directory.names == [])
  }

  @Test func aReaderFindsNothingInACacheThatWasDeleted() throws {
    let cache = try place.open()
    try cache.set("a", "A", "B")
    try cache.checkpoint()
    let reader = try place.open { $0.isReadOnly = true }
    #expect(try reader.texts("a") == ["A", "B"])
    try cache.destroy()
    #expect(try reader.texts("a") == nil)
    #expect(try reader.keys() == [])
  }

  @Test func theLastReferenceMayDieAnywhere() async throws {
    for round in 0..<20 {
      // A thread of the cache's own may have the last reference to it, and ends it a little
      // later: so each round has a folder.
      let path = place.directory.file("\(round)").path
      var cache: EntryCache<Int>? = try EntryCache(at: .path(path), valueCount: 2)
      let written = Task { [cache] in
        try await cache?.setValues([Data("A".utf8), Data()], forKey: round)
      }
      let read = Task { [cache] in try await cache?.snapshot(forKey: round) }
      let edited = Task { [cache] in try await cache?.edit(round + 1)?.set("A", at: 0) }
      cache = nil
      try await written.value
      _ = try await read.value
      try await edited.value
    }
  }

  @Test func openingIsDoneOnAnotherThread() async throws {
    let path = place.path
    let cache = try await EntryCache<Int>.opening { try EntryCache(at: .path(path), valueCount: 1) }
    #expect(cache.valueCount == 1)
  }
}
