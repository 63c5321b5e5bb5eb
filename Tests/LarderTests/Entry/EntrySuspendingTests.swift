// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// Entries of a cache that is suspended, and what was open on them.
struct EntrySuspendingTests {
  private let place: EntryPlace

  init() throws { place = try EntryPlace() }

  private func visit<R>(_ body: (EntryCache<String>) throws -> R) throws -> R {
    let visitor = try place.open()
    let result = try body(visitor)
    try visitor.close()
    return result
  }

  @Test func whileItIsSuspendedOthersWriteAndNothingIsHeld() throws {
    let cache = try place.open()
    try cache.set("a", "1", "2")
    #expect(errorCode { try visit { _ in } } == .busy)
    try cache.suspend()
    #expect(cache.isSuspended && filesHeld(under: place.url) == [])
    #expect(errorCode { try cache.snapshot(forKey: "a") } == .suspended)
    #expect(errorCode { try cache.set("a", "1", "2") } == .suspended)
    #expect(errorCode { try cache.edit("a") } == .suspended)
    #expect(errorCode { try cache.remove(forKey: "a") } == .suspended)
    #expect(errorCode { try cache.keys() } == .suspended)
    try visit { try $0.set("a", "3", "4") }
    try cache.resume()
    #expect(try cache.texts("a") == ["3", "4"])
    #expect(try cache.verify().isIntact)
  }

  @Test func snapshotsStayGood() throws {
    let cache = try place.open()
    let long = entryBytes(100_000)
    try cache.setValues([long, Data("2".utf8)], forKey: "a")
    let snapshot = try #require(try cache.snapshot(forKey: "a"))
    try cache.suspend()
    #expect(try snapshot.data(at: 0) == long)
    try visit { try $0.set("a", "3", "4") }
    try cache.resume()
    #expect(try snapshot.data(at: 0) == long)
    // It is not what the entry is now.
    #expect(try cache.edit(snapshot) == nil)
  }

  @Test func editorsGoOn() throws {
    let cache = try place.open()
    try cache.set("a", "1", "2")
    let editor = try cache.editor("a")
    try editor.set("new", at: 0)
    try cache.suspend()
    try cache.resume()
    #expect(try cache.edit("a") == nil)
    try editor.commit()
    #expect(try cache.texts("a") == ["new", "2"])
  }

  @Test func aLongValueThatIsBeingWrittenGoesOn() throws {
    let cache = try place.open()
    let bytes = entryBytes(600_000)
    let editor = try cache.editor("a")
    let writer = try editor.writer(at: 0)
    try writer.write(bytes.prefix(400_000))
    try editor.set("2", at: 1)
    try cache.suspend()
    try cache.resume()
    try writer.write(bytes.dropFirst(400_000))
    try editor.commit()
    #expect(try cache.snapshot(forKey: "a")?.data(at: 0) == bytes)
  }

  @Test func anEditOfAnEntryThatOthersChangedMeanwhileFails() throws {
    let cache = try place.open()
    try cache.set("a", "1", "2")
    let editor = try cache.editor("a")
    try editor.set("new", at: 0)
    try cache.suspend()
    try visit { try $0.set("a", "3", "4") }
    try cache.resume()
    // It would mix values of two entries.
    #expect(errorCode { try editor.commit() } == .invalidArgument)
    #expect(try cache.texts("a") == ["3", "4"])
  }

  @Test func aCommitThatFailsMeanwhileEndsTheEdit() throws {
    let cache = try place.open()
    let editor = try cache.editor("a")
    try editor.set("1", at: 0)
    try editor.set("2", at: 1)
    try cache.suspend()
    #expect(errorCode { try editor.commit() } == .suspended)
    try cache.resume()
    #expect(try cache.texts("a") == nil)
    #expect(try cache.edit("a") != nil)
  }

  @Test func callsThatWaitGoOn() async throws {
    let cache = try await EntryCache<String>.opening { [place] in try place.open() }
    try await cache.suspend(calls: .wait)
    async let set: Void = cache.setValues([Data("1".utf8), Data("2".utf8)], forKey: "a")
    try await cache.resume()
    try await set
    #expect(try await cache.snapshot(forKey: "a")?.string(at: 0) == "1")
  }

  @Test func aSuspendedCacheIsClosedForGood() throws {
    let cache = try place.open()
    try cache.set("a", "1", "2")
    try cache.suspend()
    try cache.close()
    #expect(errorCode { try cache.snapshot(forKey: "a") } == .closed)
    #expect(errorCode { try cache.resume() } == .closed)
    #expect(try visit { try $0.count } == 1)
  }

  @Test func aCacheThatBeganAfreshIsResumedAsWhatItIs() throws {
    let old = try place.open(version: 1)
    try old.set("a", "1", "2")
    try old.close()
    let cache = try place.open(version: 2)
    try cache.set("b", "1", "2")
    try cache.suspend()
    try cache.resume()
    #expect(try cache.texts("b") == ["1", "2"])
  }
}
