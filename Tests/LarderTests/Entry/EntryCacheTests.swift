// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// What is stored comes back, all values of one version. After SwiftyCache's
/// testEmptyCache, testWriteAndReadEntry, testReadAndWriteEntryAcrossCacheOpenAndClose,
/// testReadAndWriteEntryWithoutProperClose, testSetPartialDataForKey,
/// testPartiallySetNewKeyIsRemoveInJournal, testRemoveAbsentElement,
/// testExplicitRemoveAppliedToDiskImmediately, testEmptyJournalBody, the rebuilding of its
/// journal under repeated reads and edits, with reopening and without; and DiskLruCache's
/// updateExistingEntryWithTooFewValuesReusesPreviousValues and createNewEntryWithTooFewValuesFails.
struct EntryCacheTests {
  private let place: EntryPlace

  init() throws { place = try EntryPlace() }

  @Test func anEmptyCacheIsEmptyAndReopens() throws {
    for _ in 0..<2 {
      let cache = try place.open()
      #expect(try cache.count == 0)
      #expect(try cache.size == 0)
      #expect(try cache.isEmpty)
      #expect(try cache.keys() == [])
      #expect(try cache.snapshot(forKey: "a") == nil)
      #expect(try !cache.contains("a"))
      try cache.close()
    }
  }

  @Test func allValuesOfAnEntryComeBack() throws {
    let cache = try place.open()
    try cache.set("k1", "ABC", "DE")
    for _ in 0..<2 {
      let snapshot = try #require(try cache.snapshot(forKey: "k1"))
      #expect(snapshot.valueCount == 2)
      #expect(try snapshot.string(at: 0) == "ABC")
      #expect(try snapshot.string(at: 1) == "DE")
      #expect(try snapshot.length(at: 0) == 3)
      #expect(try snapshot.length(at: 1) == 2)
      #expect(try snapshot.values == [Data("ABC".utf8), Data("DE".utf8)])
      #expect(try cache.contains("k1"))
      try cache.checkpoint()
    }
  }

  @Test(arguments: [1, 2, 3, 17, 4096])
  func anEntryHasAsManyValuesAsTheCacheSays(count: Int) throws {
    let values = (0..<count).map { Data("value \($0)".utf8) }
    do {
      let cache = try place.open(values: count)
      try cache.setValues(values, forKey: "a")
      #expect(try cache.snapshot(forKey: "a")?.values == values)
      for wrong in [count - 1, count + 1] {
        let code = errorCode {
          try cache.setValues([Data](repeating: Data(), count: wrong), forKey: "a")
        }
        #expect(code == .invalidArgument)
      }
    }
    let cache = try place.open(values: count)
    #expect(try cache.snapshot(forKey: "a")?.values == values)
    #expect(try cache.size.bytes == values.reduce(0) { $0 + $1.count })
  }

  @Test func whatWasStoredIsThereForTheNextInstance() throws {
    let cache = try place.open()
    try cache.set("k1", "A", "B")
    try cache.close()
    #expect(try place.open().texts("k1") == ["A", "B"])
  }

  @Test func whatAKilledProcessStoredIsThere() throws {
    let cache = try place.open()
    try cache.set("k1", "A", "B")
    try cache.set("k2", "C", "D")
    try cache.remove(forKey: "k1")
    let other = try place.open(at: place.afterKill())
    #expect(try other.texts("k1") == nil)
    #expect(try other.texts("k2") == ["C", "D"])
    try other.set("k3", "E", "F")
    #expect(try other.keys() == ["k2", "k3"])
  }

  @Test func storingTwiceReplacesTheFirst() throws {
    let cache = try place.open()
    try cache.set("a", "a long first value", "b")
    let first = try #require(try cache.snapshot(forKey: "a"))
    try cache.set("a", "C", "")
    #expect(try cache.texts("a") == ["C", ""])
    #expect(try cache.size == 1)
    #expect(try cache.count == 1)
    let version = try #require(try cache.snapshot(forKey: "a")).version
    #expect(version > first.version)
  }

  @Test func anUpdateLeavesTheOtherValuesAsTheyAre() throws {
    let cache = try place.open(values: 3)
    try cache.set("a", "A", "B", "C")
    try cache.update([1: Data("longer".utf8)], forKey: "a")
    #expect(try cache.texts("a") == ["A", "longer", "C"])
    try cache.checkpoint()
    try cache.update([0: Data(), 2: Data("3".utf8)], forKey: "a")
    #expect(try cache.texts("a") == ["", "longer", "3"])
    #expect(try cache.size == 7)
    try cache.update([:], forKey: "a")
    #expect(try cache.texts("a") == ["", "longer", "3"])
    #expect(try cache.count == 1)
  }

  @Test func anUpdateWantsAnEntry() throws {
    let cache = try place.open()
    #expect(errorCode { try cache.update([0: Data("A".utf8)], forKey: "a") } == .invalidArgument)
    let both = [0: Data("A".utf8), 1: Data("B".utf8)]
    #expect(errorCode { try cache.update(both, forKey: "a") } == .invalidArgument)
    #expect(try cache.isEmpty)
    #expect(try cache.texts("a") == nil)
    try cache.set("a", "A", "B")
    for index in [-1, 2, Int.min, Int.max] {
      #expect(errorCode { try cache.update([index: Data()], forKey: "a") } == .invalidArgument)
    }
    #expect(try cache.texts("a") == ["A", "B"])
  }

  @Test func removingSaysWhetherThereWasOne() throws {
    let cache = try place.open()
    #expect(try !cache.remove(forKey: "a"))
    try cache.set("a", "A", "B")
    try cache.set("b", "A", "B")
    #expect(try cache.remove(forKey: "a"))
    #expect(try !cache.remove(forKey: "a"))
    #expect(try cache.texts("a") == nil)
    #expect(try cache.keys() == ["b"])
    try cache.checkpoint()
    #expect(try cache.remove(forKey: "b", durability: .power))
    #expect(try cache.isEmpty)
    #expect(try cache.size == 0)
  }

  @Test func removeAllLeavesNothingAndTheCacheGoesOn() throws {
    let cache = try place.open()
    for number in 0..<50 { try cache.set("k\(number)", "A", "B") }
    try cache.checkpoint()
    try cache.removeAll()
    #expect(try cache.isEmpty)
    #expect(try cache.size == 0)
    #expect(try cache.texts("k7") == nil)
    try cache.set("k7", "C", "D")
    #expect(try cache.keys() == ["k7"])
  }

  @Test func emptyValuesAreValues() throws {
    let cache = try place.open { $0.inlineThreshold = 0 }
    try cache.set("a", "", "")
    for _ in 0..<2 {
      #expect(try cache.texts("a") == ["", ""])
      #expect(try cache.contains("a"))
      #expect(try cache.size == 0)
      #expect(try cache.count == 1)
      try cache.checkpoint()
    }
  }

  @Test(arguments: [0, 100, 1 << 20])
  func aValueOfAnySizeComesBack(threshold: Int) throws {
    let cache = try place.open(values: 3) { $0.inlineThreshold = threshold }
    for size in [0, 1, 13, 14, 15, 99, 4095, 4096, 4097, 20_000, 300_000] {
      let values = [entryBytes(size), entryBytes(size / 3, seed: 2), entryBytes(7, seed: 3)]
      try cache.setValues(values, forKey: "a")
      #expect(try cache.snapshot(forKey: "a")?.values == values)
      try cache.checkpoint()
      let snapshot = try #require(try cache.snapshot(forKey: "a"))
      for index in 0..<3 {
        #expect(try snapshot.data(at: index) == values[index])
        #expect(try snapshot.data(at: index).startIndex == 0)
        #expect(try snapshot.withBytes(at: index) { Data($0) } == values[index])
      }
      #expect(try cache.size.bytes == values.reduce(0) { $0 + $1.count })
    }
  }

  @Test func valuesOf30MiBComeBack() throws {
    // More than what is put together in memory.
    let values = [entryBytes(20 << 20), entryBytes(10 << 20, seed: 2)]
    let cache = try place.open()
    try cache.setValues(values, forKey: "a")
    #expect(try cache.snapshot(forKey: "a")?.values == values)
    try cache.update([1: Data("small".utf8)], forKey: "a")
    let snapshot = try #require(try cache.snapshot(forKey: "a"))
    #expect(try snapshot.data(at: 0) == values[0])
    #expect(try snapshot.string(at: 1) == "small")
    #expect(try place.names.allSatisfy { !$0.hasPrefix("spool") })
  }

  @Test func ordersAndLimitsOfLists() throws {
    let cache = try place.open { $0.tracksUse = true }
    for key in ["c", "a", "d", "b"] { try cache.set(key, key, "12") }
    try cache.checkpoint()
    #expect(try cache.keys() == ["a", "b", "c", "d"])
    #expect(try cache.keys(order: .byKeyDescending, limit: 2) == ["d", "c"])
    #expect(try cache.keys(order: .leastRecentFirst) == ["c", "a", "d", "b"])
    _ = try cache.texts("a")
    try cache.checkpoint()
    #expect(try cache.keys(order: .mostRecentFirst) == ["a", "b", "d", "c"])
    #expect(try cache.keys(limit: 0) == [])
    #expect(try cache.keys(limit: -1) == [])
    #expect(try cache.infos().map(\.lengths) == [[1, 2], [1, 2], [1, 2], [1, 2]])
    let info = try #require(try cache.info(forKey: "d"))
    #expect(info.key == "d" && info.size == 3 && info.expires == nil)
    #expect(info.version == (try cache.snapshot(forKey: "d")?.version))
    #expect(info.written == place.clock.date)
    #expect(try cache.info(forKey: "e") == nil)
  }

  @Test func numbersAndAnyCodableAreKeys() throws {
    struct Point: Codable, Hashable { var x: Double, y: Double }
    let numbers = try EntryCache<Int>(
      at: .path(place.path), valueCount: 1, configuration: place.configuration)
    for key in [5, -1, Int.max, 0] { try numbers.setValues([Data([1])], forKey: key) }
    #expect(try numbers.keys() == [-1, 0, 5, Int.max])
    let points = try EntryCache<Point>(
      at: .path(place.directory.file("points").path), valueCount: 1)
    try points.setValues([Data([1])], forKey: Point(x: 1, y: 2))
    #expect(try points.snapshot(forKey: Point(x: 1, y: 2)) != nil)
    #expect(try points.snapshot(forKey: Point(x: 2, y: 1)) == nil)
  }

  @Test func theDescriptionNamesTypeFormAndPath() throws {
    let cache = try place.open()
    #expect(cache.description.hasPrefix("<EntryCache<String>: 0x"))
    #expect(cache.description.hasSuffix("(2 values, version 100: \(place.path))"))
    #expect(cache.valueCount == 2 && cache.version == 100 && !cache.isReadOnly)
    #expect(cache.keyRule == .any && cache.durability == .process)
    #expect(cache.directoryURL.path == place.path)
  }

  @Test func thousandsOfReadsAndEditsNeedNoRoom() throws {
    let cache = try place.open { $0.sizeLimit = 1.megabytes }
    try cache.set("a", "A", "A")
    try cache.set("b", "B", "B")
    for _ in 0..<5 {
      for _ in 0..<1000 {
        #expect(try cache.texts("a") == ["A", "A"])
        try cache.set("b", "B", "B")
      }
      try cache.checkpoint()
    }
    #expect(try cache.texts("b") == ["B", "B"])
    #expect(try cache.count == 2)
    #expect(try cache.statistics.dataSize < 1 << 20)
    #expect(try cache.verify().isIntact)
  }

  @Test func readsAndEditsGoOnOverManyOpenings() throws {
    for round in 0..<30 {
      let cache = try place.open()
      if round > 0 { #expect(try cache.texts("a") == ["\(round - 1)", "x"]) }
      try cache.set("a", "\(round)", "x")
      try cache.close()
    }
    #expect(try place.open().texts("a") == ["29", "x"])
  }
}
