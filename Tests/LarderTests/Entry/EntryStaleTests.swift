// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Edits that begin with what was read. After DiskLruCache's editSameVersion,
/// editSnapshotAfterChangeAborted, editSnapshotAfterChangeCommitted, editSinceEvicted and
/// editSinceEvictedAndRecreated.
struct EntryStaleTests {
  private let cache: EntryCache<String>
  private let place: EntryPlace

  init() throws {
    place = try EntryPlace()
    cache = try place.open()
    try cache.set("a", "A", "B")
  }

  private func read() throws -> EntrySnapshot { try #require(try cache.snapshot(forKey: "a")) }

  @Test func theSameVersionCanBeEdited() throws {
    let snapshot = try read()
    let editor = try #require(try snapshot.edit())
    #expect(try editor.string(at: 0) == "A")
    try editor.set("C", at: 1)
    try editor.commit()
    #expect(try cache.texts("a") == ["A", "C"])
    let other = try #require(try cache.edit(try read()))
    try other.set("D", at: 0)
    try other.commit()
    #expect(try cache.texts("a") == ["D", "C"])
  }

  @Test func aChangeThatWasAbortedIsNone() throws {
    let snapshot = try read()
    let aborted = try cache.editor("a")
    try aborted.set("C", at: 0)
    #expect(try snapshot.edit() == nil)
    try aborted.abort()
    let editor = try #require(try snapshot.edit())
    try editor.set("D", at: 0)
    try editor.commit()
    #expect(try cache.texts("a") == ["D", "B"])
  }

  @Test func whatWasCommittedSinceIsNotOverwritten() throws {
    let snapshot = try read()
    try cache.set("a", "A", "B")
    #expect(try snapshot.edit() == nil)
    #expect(try cache.edit(snapshot) == nil)
    try cache.checkpoint()
    #expect(try snapshot.edit() == nil)
    // And the key is free.
    #expect(try cache.edit("a") != nil)
  }

  @Test func anEntryThatWasEvictedOrRemovedIsNotEdited() throws {
    let snapshot = try read()
    cache.countLimit = 0
    try cache.checkpoint()
    cache.countLimit = .max
    #expect(try snapshot.edit() == nil)
    try cache.set("a", "A", "B")
    #expect(try snapshot.edit() == nil)
    let next = try read()
    try cache.remove(forKey: "a")
    #expect(try next.edit() == nil)
  }

  @Test func aSnapshotOfSomeValuesIsEditedLikeAWholeOne() throws {
    let snapshot = try #require(try cache.snapshot(forKey: "a", values: [1]))
    let editor = try #require(try snapshot.edit())
    #expect(try editor.string(at: 0) == "A")
    try editor.set("C", at: 1)
    try editor.commit()
    #expect(try cache.texts("a") == ["A", "C"])
  }

  @Test func aSnapshotOfAnotherCacheIsRefused() throws {
    let other = try place.open(at: place.directory.file("other").path)
    try other.set("a", "A", "B")
    let foreign = try #require(try other.snapshot(forKey: "a"))
    #expect(errorCode { try cache.edit(foreign) } == .invalidArgument)
  }

  @Test func aSnapshotOfAClosedCacheIsNotEdited() throws {
    let snapshot = try read()
    try cache.close()
    #expect(errorCode { try snapshot.edit() } == .closed)
    #expect(errorCode { try cache.edit(snapshot) } == .closed)
    let next = try place.open()
    #expect(errorCode { try next.edit(snapshot) } == .invalidArgument)
  }
}
