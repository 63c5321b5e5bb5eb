// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// One consistent version of an entry, for as long as one likes. After SwiftyCache's
/// testExistingSnapshotStillValidAfterEntryEvicted and the reading of chosen values;
/// DiskLruCache's readAndWriteOverlapsMaintainConsistency and
/// readingTheSameStreamMultipleTimes.
struct EntrySnapshotTests {
  private let place: EntryPlace

  init() throws { place = try EntryPlace() }

  private let large = entryBytes(50_000)

  @Test(arguments: [0, 1 << 20])
  func aSnapshotOutlivesEverything(threshold: Int) throws {
    var cache: EntryCache<String>? = try place.open {
      $0.inlineThreshold = threshold
      $0.journalCapacity = 8 << 20
    }
    try cache?.setValues([Data("A".utf8), large], forKey: "a")
    try cache?.checkpoint()
    let snapshot = try #require(try cache?.snapshot(forKey: "a"))
    let value = try snapshot.data(at: 1)
    func check() throws {
      #expect(try snapshot.string(at: 0) == "A")
      #expect(try snapshot.data(at: 1) == large)
      #expect(value == large)
      #expect(try drain(snapshot.inputStream(at: 1)) == large)
    }
    try check()
    try cache?.set("a", "other", "values")
    try cache?.checkpoint()
    try check()
    try cache?.remove(forKey: "a")
    try cache?.checkpoint()
    try check()
    try cache?.destroy()
    cache = nil
    try check()
    #expect(errorCode { try snapshot.edit() } == .closed)
  }

  @Test func aSnapshotOutlivesEviction() throws {
    let cache = try place.open { $0.sizeLimit = 10 }
    try cache.set("a", "aa", "aaa")
    let snapshot = try #require(try cache.snapshot(forKey: "a"))
    try cache.set("b", "bb", "bbb")
    try cache.set("c", "cc", "ccc")
    try cache.checkpoint()
    #expect(try cache.texts("a") == nil)
    #expect(try snapshot.string(at: 0) == "aa")
    #expect(try snapshot.string(at: 1) == "aaa")
  }

  @Test func aDataOutlivesItsSnapshot() throws {
    let cache = try place.open { $0.inlineThreshold = 1 << 20 }
    try cache.setValues([large, entryBytes(9000, seed: 2)], forKey: "a")
    var snapshot = try cache.snapshot(forKey: "a")
    let values = try #require(try snapshot?.values)
    snapshot = nil
    try cache.removeAll()
    #expect(values == [large, entryBytes(9000, seed: 2)])
  }

  @Test func aSnapshotDoesNotKeepItsCacheOpen() throws {
    var cache: EntryCache<String>? = try place.open()
    try cache?.set("a", "A", "B")
    let snapshot = try #require(try cache?.snapshot(forKey: "a"))
    cache = nil
    let next = try place.open()
    #expect(try next.texts("a") == ["A", "B"])
    #expect(try snapshot.string(at: 1) == "B")
    #expect(errorCode { try snapshot.edit() } == .closed)
  }

  @Test(arguments: [0, 1 << 20])
  func onlyTheChosenValuesAreRead(threshold: Int) throws {
    let cache = try place.open(values: 4) { $0.inlineThreshold = threshold }
    try cache.set("a", "A", "BB", "CCC", "DDDD")
    let snapshot = try #require(try cache.snapshot(forKey: "a", values: [3, 1, 3]))
    #expect(try snapshot.string(at: 1) == "BB")
    #expect(try snapshot.string(at: 3) == "DDDD")
    for index in [0, 2] {
      #expect(errorCode { try snapshot.data(at: index) } == .invalidArgument)
      #expect(errorCode { try snapshot.string(at: index) } == .invalidArgument)
      #expect(errorCode { try snapshot.inputStream(at: index) } == .invalidArgument)
      #expect(errorCode { try snapshot.withBytes(at: index) { _ in } } == .invalidArgument)
      #expect(try snapshot.length(at: index) == index + 1)
    }
    #expect(errorCode { try snapshot.values } == .invalidArgument)
    #expect(snapshot.valueCount == 4)
    #expect(try cache.snapshot(forKey: "a", values: 0..<4)?.values.count == 4)
    #expect(try cache.snapshot(forKey: "a", values: [])?.length(at: 0) == 1)
    #expect(try cache.snapshot(forKey: "b", values: [0]) == nil)
  }

  @Test(arguments: [-1, 2, Int.min, Int.max])
  func thereIsNoOtherValue(index: Int) throws {
    let cache = try place.open()
    try cache.set("a", "A", "B")
    let snapshot = try #require(try cache.snapshot(forKey: "a"))
    #expect(errorCode { try snapshot.data(at: index) } == .invalidArgument)
    #expect(errorCode { try snapshot.length(at: index) } == .invalidArgument)
    #expect(errorCode { try cache.snapshot(forKey: "a", values: [index]) } == .invalidArgument)
  }

  @Test func aValueIsTextInItsEncoding() throws {
    let cache = try place.open()
    let text = "größe — 😀"
    try cache.setValues(
      [Data(text.utf8), try #require("größe".data(using: .isoLatin1))], forKey: "a")
    let snapshot = try #require(try cache.snapshot(forKey: "a"))
    #expect(try snapshot.string(at: 0) == text)
    #expect(try snapshot.string(at: 1) == nil)
    #expect(try snapshot.string(at: 1, encoding: .isoLatin1) == "größe")
  }

  @Test func aStreamIsReadAsOftenAsOneLikes() throws {
    let cache = try place.open()
    try cache.set("a", "AAAA", "")
    let snapshot = try #require(try cache.snapshot(forKey: "a"))
    for _ in 0..<3 {
      #expect(try drain(snapshot.inputStream(at: 0)) == Data("AAAA".utf8))
      #expect(try drain(snapshot.inputStream(at: 1)) == Data())
    }
  }

  @Test func aReaderMeetsOneVersionWhileAnotherIsCommitted() throws {
    let cache = try place.open { $0.inlineThreshold = 10 }
    try cache.setValues([Data("AAaa".utf8), entryBytes(100)], forKey: "a")
    let before = try #require(try cache.snapshot(forKey: "a"))
    let stream = try before.inputStream(at: 0)
    stream.open()
    var buffer = [UInt8](repeating: 0, count: 2)
    #expect(stream.read(&buffer, maxLength: 2) == 2)
    let editor = try cache.editor("a")
    try editor.set("CCcc", at: 0)
    #expect(try cache.texts("a")?[0] == "AAaa")
    try editor.commit()
    #expect(try cache.texts("a")?[0] == "CCcc")
    #expect(stream.read(&buffer, maxLength: 2) == 2)
    #expect(buffer == Array("aa".utf8))
    stream.close()
    #expect(try before.data(at: 1) == entryBytes(100))
    #expect(try #require(try cache.snapshot(forKey: "a")).version > before.version)
  }
}
