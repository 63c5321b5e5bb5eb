// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// The limit of bytes. After SwiftyCache's testEvictOnInsert,
/// testEvictionHonorsLruFromCurrentSession and FromPreviousSession,
/// testCacheSingleEntryOfSizeGreaterThanMaxSize and SingleValue; DiskLruCache's growMaxSize,
/// shrinkMaxSizeEvicts, evictOnUpdate; and its endless loop while the eldest entry was being
/// edited.
struct EntryLimitTests {
  private let place: EntryPlace

  init() throws { place = try EntryPlace() }

  private func open(_ limit: Int) throws -> EntryCache<String> {
    try place.open { $0.sizeLimit = DataSize(bytes: limit) }
  }

  @Test func whatIsTooMuchLeavesWithTheNextFlush() throws {
    let cache = try open(10)
    try cache.set("a", "a", "aaa")
    try cache.set("b", "bb", "bbbb")
    try cache.checkpoint()
    #expect(try cache.size == 10)
    // 12 bytes: the oldest goes.
    try cache.set("c", "c", "c")
    try cache.checkpoint()
    #expect(try cache.size == 8)
    #expect(try cache.keys() == ["b", "c"])
    try cache.set("d", "d", "d")
    try cache.checkpoint()
    #expect(try cache.size == 10)
    #expect(try cache.keys() == ["b", "c", "d"])
    // 18 bytes: two go.
    try cache.set("e", "eeee", "eeee")
    try cache.checkpoint()
    #expect(try cache.keys() == ["d", "e"])
    #expect(try cache.size == 10)
    #expect(try cache.statistics.evicted == 3)
  }

  @Test func anUpdateThatIsTooMuchEvicts() throws {
    let cache = try open(10)
    try cache.set("a", "a", "aa")
    try cache.set("b", "b", "bb")
    try cache.set("c", "c", "cc")
    try cache.checkpoint()
    #expect(try cache.size == 9)
    try cache.set("b", "b", "bbbb")
    try cache.checkpoint()
    #expect(try cache.size == 8)
    #expect(try cache.keys() == ["b", "c"])
  }

  @Test(arguments: [false, true])
  func theLeastRecentlyUsedLeavesFirst(reopens: Bool) throws {
    var cache = try open(10)
    for key in ["a", "b", "c", "d", "e"] { try cache.set(key, key, key) }
    _ = try cache.snapshot(forKey: "b")
    // What leaves no trace.
    _ = try cache.contains("a")
    _ = try cache.info(forKey: "a")
    _ = try cache.keys()
    if reopens {
      try cache.close()
      cache = try open(10)
    }
    try cache.set("f", "f", "f")
    try cache.set("g", "g", "g")
    try cache.checkpoint()
    #expect(try cache.size == 10)
    #expect(try cache.keys() == ["b", "d", "e", "f", "g"].sorted())
    #expect(try cache.texts("a") == nil)
    #expect(try cache.texts("c") == nil)
  }

  @Test(arguments: [("aaaaa", "aaaaaa"), ("aaaaaaaaaaa", "a")])
  func anEntryAboveTheLimitIsStoredAndThenEvicted(first: String, second: String) throws {
    let cache = try open(10)
    try cache.set("a", first, second)
    #expect(try cache.texts("a") == [first, second])
    try cache.checkpoint()
    #expect(try cache.texts("a") == nil)
    #expect(try cache.isEmpty)
    #expect(try cache.size == 0)
  }

  @Test func theLimitCanGrow() throws {
    let cache = try open(10)
    try cache.set("a", "a", "aaa")
    try cache.set("b", "bb", "bbbb")
    try cache.checkpoint()
    cache.sizeLimit = 20
    #expect(cache.sizeLimit == 20)
    try cache.set("c", "c", "c")
    try cache.checkpoint()
    #expect(try cache.size == 12)
    #expect(try cache.keys() == ["a", "b", "c"])
  }

  @Test(arguments: [(20, 3), (12, 3), (11, 2), (8, 2), (7, 1), (1, 0), (0, 0), (-1, 0)])
  func aSmallerLimitEvicts(limit: Int, kept: Int) throws {
    let cache = try open(20)
    try cache.set("a", "a", "aaa")
    try cache.set("b", "bb", "bbbb")
    try cache.set("c", "c", "c")
    try cache.checkpoint()
    cache.sizeLimit = DataSize(bytes: limit)
    #expect(cache.sizeLimit?.bytes == limit)
    try cache.checkpoint()
    #expect(try cache.keys() == ["a", "b", "c"].suffix(kept))
  }

  @Test func aLimitOfEntriesHolds() throws {
    let cache = try place.open { $0.countLimit = 3 }
    for number in 0..<10 { try cache.set("\(number)", "A", "B") }
    try cache.checkpoint()
    #expect(try cache.keys() == ["7", "8", "9"])
    cache.countLimit = 1
    try cache.checkpoint()
    #expect(try cache.keys() == ["9"])
  }

  @Test func theEldestEntryMayBeEditedMeanwhile() throws {
    let cache = try open(10)
    try cache.set("a", "aa", "aa")
    let editor = try cache.editor("a")
    try cache.set("b", "bbbb", "bbbb")
    try cache.checkpoint()
    #expect(try cache.keys() == ["b"])
    try editor.set("cc", at: 0)
    try editor.set("c", at: 1)
    try editor.commit()
    try cache.checkpoint()
    #expect(try cache.keys() == ["a"])
    #expect(try cache.texts("a") == ["cc", "c"])
  }

  @Test func limitsHoldForValuesInTheLog() throws {
    let cache = try place.open {
      $0.inlineThreshold = 10
      $0.sizeLimit = 1000
    }
    for number in 0..<10 {
      try cache.setValues([entryBytes(100), entryBytes(100)], forKey: "\(number)")
    }
    try cache.checkpoint()
    try cache.checkpoint()
    #expect(try cache.keys() == ["5", "6", "7", "8", "9"])
    #expect(try cache.statistics.liveSize < 2000)
  }

  @Test func theAgeIsCountedFromTheWriting() throws {
    let cache = try place.open { $0.expiration = .seconds(10) }
    try cache.set("a", "A", "B")
    place.clock.advance(9)
    #expect(try cache.texts("a") == ["A", "B"])
    place.clock.advance(1)
    #expect(try cache.texts("a") == nil)
    cache.expiration = .seconds(11)
    #expect(cache.expiration == .seconds(11))
    #expect(try cache.texts("a") == ["A", "B"])
    #expect(try cache.info(forKey: "a")?.expires == place.clock.date + 1)
    place.clock.advance(1)
    try cache.checkpoint()
    #expect(try cache.keys() == [])
  }

  @Test func figuresAreRightBeforeTheFirstCheckpoint() throws {
    let cache = try place.open()
    for number in 0..<100 {
      try cache.setValues([Data("h".utf8), Data(count: 100)], forKey: "k\(number)")
    }
    for number in 0..<50 { #expect(try cache.remove(forKey: "k\(number)")) }
    #expect(try !cache.remove(forKey: "k0"))
    for number in 50..<60 { try cache.update([0: Data("x".utf8)], forKey: "k\(number)") }
    for number in 60..<70 {
      let editor = try #require(try cache.edit("k\(number)"))
      try editor.set("z", at: 0)
      try editor.commit()
    }
    for number in 0..<100 { _ = try cache.snapshot(forKey: "k\(number)") }
    for isFlushed in [false, true] {
      let statistics = try cache.statistics
      #expect(statistics.written == 120 && statistics.removed == 50, "flushed: \(isFlushed)")
      #expect(statistics.hits == 50 && statistics.misses == 50)
      #expect(statistics.count == 50 && statistics.size == 50 * 101)
      #expect(try cache.count == 50 && cache.size.bytes == 50 * 101)
      try cache.checkpoint()
    }
  }
}
