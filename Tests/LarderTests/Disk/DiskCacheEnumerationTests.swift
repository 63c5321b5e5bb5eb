// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Lists of entries. After KVStorage's getItemInfo, getMultipleItemsSQLite, getItemInfos,
/// getItemValues, getUpdatesAccessTime, removeItemsLargerThanSize,
/// removeItemsEarlierThanTime; the wish of YYCache's users for all keys and values.
struct DiskCacheEnumerationTests {
  private let place: DiskPlace

  init() throws { place = try DiskPlace() }

  @Test func everythingIsListedByKeyWhereverItIs() throws {
    let cache = try place.openText()
    try cache.fill((1...50).reversed())
    try cache.checkpoint()
    try cache.fill(51...60)
    try cache.remove(forKey: 10)
    try cache.set("changed", forKey: 20)
    let keys = (1...60).filter { $0 != 10 }
    #expect(try cache.keys() == keys)
    #expect(try cache.keys(order: .byKeyDescending) == keys.reversed())
    #expect(try cache.infos().map(\.key) == keys)
    let entries = try cache.entries()
    #expect(entries.map(\.key) == keys)
    #expect(entries.map(\.value) == keys.map { $0 == 20 ? "changed" : "\($0)" })
    try cache.checkpoint()
    #expect(try cache.entries() == entries)
  }

  @Test(arguments: [(Int.min, 0), (-1, 0), (0, 0), (1, 1), (9, 9), (10, 10), (11, 10), (.max, 10)])
  func aLimitIsKept(limit: Int, count: Int) throws {
    let cache = try place.openText()
    try cache.fill(1...10)
    #expect(try cache.keys(limit: limit) == Array((1...10).prefix(count)))
    #expect(try cache.infos(limit: limit).count == count)
    #expect(try cache.entries(order: .byKeyDescending, limit: limit).count == count)
  }

  @Test func rangesHaveTheBoundsThatTheySay() throws {
    let cache = try place.openText()
    try cache.fill(-5...5)
    for _ in 0..<2 {
      #expect(try cache.keys(.range(-2..<3)) == [-2, -1, 0, 1, 2])
      #expect(try cache.keys(.range(-2...3)) == [-2, -1, 0, 1, 2, 3])
      #expect(try cache.keys(.range(3...)) == [3, 4, 5])
      #expect(try cache.keys(.range(..<(-3))) == [-5, -4])
      #expect(try cache.keys(.range(...(-3))) == [-5, -4, -3])
      #expect(try cache.keys(.range(2..<2)) == [])
      #expect(try cache.keys(.range(100...)) == [])
      #expect(try cache.keys(.range(1...3), order: .byKeyDescending) == [3, 2, 1])
      #expect(try cache.keys(.range(1...), limit: 2) == [1, 2])
      try cache.checkpoint()
    }
  }

  /// The index has only the beginning of keys that are longer.
  @Test(arguments: [480, 490, 494, 495, 600])
  func rangesOfLongKeysHaveTheBoundsThatTheySay(shared: Int) throws {
    let cache = try place.open(String.self, coder: .string) { $0.inlineThreshold = 0 }
    var random = SeededGenerator(seed: UInt64(shared))
    let keys = (0..<200).map { number in
      String(repeating: "a", count: shared) + String(format: "%03d", number)
        + String(repeating: "z", count: Int.random(in: 0...20, using: &random))
    }
    for key in keys.shuffled(using: &random) { try cache.set("", forKey: key) }
    for round in 0..<40 {
      if round == 20 { try cache.checkpoint() }
      // Some bounds are keys, some lie between them, and some before and behind all.
      let bounds = (0..<2).map { _ in
        String(keys.randomElement(using: &random)!.dropLast(Int.random(in: 0...8, using: &random)))
      }.sorted()
      let expected = keys.filter { (bounds[0]..<bounds[1]).contains($0) }
      let range = DiskCacheSelection.range(bounds[0]..<bounds[1])
      #expect(try cache.keys(range).sorted() == expected)
      #expect(try cache.keys(range, order: .byKeyDescending).sorted() == expected)
      #expect(try cache.infos(range).count == expected.count)
      let closed = keys.filter { (bounds[0]...bounds[1]).contains($0) }
      #expect(try cache.keys(.range(bounds[0]...bounds[1])).sorted() == closed)
      #expect(try cache.keys(.range(bounds[1]...)).sorted() == keys.filter { $0 >= bounds[1] })
    }
    try cache.removeAll(.range(keys[50]..<keys[150])) { _ in true }
    #expect(try cache.keys().sorted() == Array(keys[..<50] + keys[150...]))
  }

  @Test func prefixesFindWhatBeginsLikeThem() throws {
    let cache = try place.openData()
    let keys = ["", "a", "ab", "abc", "a\u{7F}", "b", "ba", "\u{10FFFF}", "\u{10FFFF}x"]
    for key in keys { try cache.set(Data(key.utf8), forKey: key) }
    for _ in 0..<2 {
      #expect(try cache.keys(.prefix("")) == keys)
      #expect(try cache.keys(.prefix("a")) == ["a", "ab", "abc", "a\u{7F}"])
      #expect(try cache.keys(.prefix("ab")) == ["ab", "abc"])
      #expect(try cache.keys(.prefix("\u{10FFFF}")) == ["\u{10FFFF}", "\u{10FFFF}x"])
      #expect(try cache.keys(.prefix("c")) == [])
      try cache.checkpoint()
    }
  }

  @Test func aPrefixOfAllOnesFindsItsEntries() throws {
    let cache = try place.open(Data.self, coder: .data)
    let keys = [Data([0xFE]), Data([0xFF]), Data([0xFF, 0xFF]), Data([0xFF, 0xFF, 0])]
    for key in keys { try cache.set(key, forKey: key) }
    try cache.checkpoint()
    #expect(try cache.keys(.prefix(Data([0xFF]))) == Array(keys.dropFirst()))
    #expect(try cache.keys(.prefix(Data([0xFF, 0xFF]))) == Array(keys.dropFirst(2)))
  }

  @Test(arguments: [true, false])
  func removingByPrefixTakesWhatBeginsLikeIt(isFlushed: Bool) throws {
    let cache = try place.openData()
    for key in ["user/1", "user/2", "user", "users/1", "z"] { try cache.set(Data(), forKey: key) }
    if isFlushed { try cache.checkpoint() }
    #expect(try cache.remove(prefix: "user/") == 2)
    #expect(try cache.keys() == ["user", "users/1", "z"])
    #expect(try cache.remove(prefix: "nobody") == 0)
    #expect(try cache.remove(prefix: "") == 3)
    #expect(try cache.isEmpty)
  }

  @Test func removingByPrefixTakesThousands() throws {
    let cache = try place.openData()
    try cache.batch { batch in
      for number in 0..<3000 { try batch.set(Data(), forKey: "a\(number)") }
      try batch.set(Data(), forKey: "b")
    }
    #expect(try cache.remove(prefix: "a") == 3000)
    #expect(try cache.keys() == ["b"])
  }

  @Test func removingByWhatIsKnownOfAnEntry() throws {
    let cache = try place.openData { $0.inlineThreshold = 50 }
    for size in 0..<1000 {
      try cache.set(Data(count: size % 100), forKey: "\(size)")
      if size == 500 { try cache.checkpoint() }
    }
    #expect(try cache.removeAll { $0.size > Int.max - 1 } == 0)
    #expect(try cache.removeAll { $0.size >= 90 } == 100)
    #expect(try cache.infos().allSatisfy { $0.size < 90 })
    place.clock.advance(10)
    try cache.set(Data(), forKey: "new")
    let now = place.clock.date
    #expect(try cache.removeAll(.prefix("1")) { $0.written < now } == 101)
    #expect(try cache.removeAll { $0.written < now } == 799)
    #expect(try cache.keys() == ["new"])
  }

  @Test func removingLeavesWhatIsWrittenMeanwhile() throws {
    let cache = try place.openText()
    try cache.fill(1...10)
    let removed = try cache.removeAll { info in
      if info.key == 5 { try cache.set("new", forKey: 5) }
      if info.key == 6 { try cache.remove(forKey: 6) }
      return true
    }
    #expect(removed == 8)
    #expect(try cache.entries().map(\.value) == ["new"])
  }

  @Test func whatACoderDoesNotKeepCannotBeAskedFor() throws {
    let numbers = try place.openText()
    try numbers.fill(1...3)
    #expect(errorCode { try numbers.keys(.prefix(1)) } == .invalidArgument)
    #expect(errorCode { try numbers.remove(prefix: 1) } == .invalidArgument)
    #expect(
      errorCode { try numbers.keys(.range(1...2), order: .leastRecentFirst) } == .invalidArgument)
    #expect(try numbers.count == 3)
    let other = try DiskPlace()
    let dates = try other.open(Date.self, coder: Coder<Int>.cbor)
    #expect(
      errorCode { try dates.keys(.range(.distantPast ... .distantFuture)) } == .invalidArgument)
  }

  @Test func theOrderOfUseIsThatOfReadsAndWrites() throws {
    let cache = try place.openText { $0.tracksUse = true }
    try cache.fill(1...5)
    try cache.checkpoint()
    _ = try cache.value(forKey: 2)
    _ = try cache.value(forKey: 1)
    try cache.set("6", forKey: 6)
    _ = try cache.value(forKey: 3)
    _ = try cache.peek(forKey: 5)
    _ = try cache.info(forKey: 5)
    _ = try cache.extendedData(forKey: 5)
    #expect(try cache.keys(order: .leastRecentFirst) == [4, 5, 2, 1, 6, 3])
    #expect(try cache.keys(order: .mostRecentFirst) == [3, 6, 1, 2, 5, 4])
    try cache.checkpoint()
    #expect(try cache.keys(order: .leastRecentFirst) == [4, 5, 2, 1, 6, 3])
    #expect(try cache.entries(order: .mostRecentFirst, limit: 2).map(\.value) == ["3", "6"])
  }

  @Test func withoutTrackingTheOrderIsThatOfWrites() throws {
    let cache = try place.openText()
    try cache.fill([3, 1, 2])
    _ = try cache.value(forKey: 3)
    #expect(try cache.keys(order: .leastRecentFirst) == [3, 1, 2])
  }

  @Test func aWalkSeesTheStateFromItsBeginningAndCanStop() throws {
    let cache = try place.openText()
    try cache.fill(1...5)
    var seen: [Int] = []
    try cache.forEachEntry { entry in
      seen.append(entry.key)
      try cache.set("later", forKey: entry.key + 100)
      try cache.remove(forKey: 4)
      return entry.key < 5
    }
    #expect(seen == [1, 2, 3, 4, 5])
    seen = []
    try cache.forEachEntry(order: .byKeyDescending) { entry in
      seen.append(entry.key)
      return seen.count < 2
    }
    #expect(seen == [105, 104])
    struct Stop: Error {}
    #expect(throws: Stop.self) { try cache.forEachEntry { _ in throw Stop() } }
  }

  @Test func anInfoTellsAllButTheValue() throws {
    let cache = try place.openData { $0.inlineThreshold = 10 }
    try cache.set(Data(count: 10), forKey: "a", extendedData: Data([1]), expiration: .seconds(9))
    place.clock.advance(2)
    try cache.set(Data(count: 11), forKey: "b")
    let a = try #require(try cache.info(forKey: "a"))
    let b = try #require(try cache.info(forKey: "b"))
    #expect(a.key == "a" && a.size == 10 && a.extendedData == Data([1]))
    #expect(a.written == place.clock.date - 2 && a.expires == place.clock.date + 7)
    #expect(b.key == "b" && b.size == 11 && b.extendedData == nil)
    #expect(b.expires == nil && b.version > a.version)
    #expect(try cache.infos() == [a, b])
    try cache.set(Data(), forKey: "a")
    #expect(try #require(try cache.info(forKey: "a")).version > b.version)
  }

  @Test func aListAgreesWithAModel() throws {
    var generator = SeededGenerator(seed: 21)
    let cache = try place.openText()
    var model: [Int: String] = [:]
    for step in 0..<3000 {
      let key = Int.random(in: -50...50, using: &generator)
      switch Int.random(in: 0..<20, using: &generator) {
      case 0: try cache.checkpoint()
      case 1...5:
        try cache.remove(forKey: key)
        model[key] = nil
      default:
        try cache.set("\(step)", forKey: key)
        model[key] = "\(step)"
      }
      if step % 100 == 0 {
        let entries = try cache.entries()
        #expect(entries.map(\.key) == model.keys.sorted(), "seed \(generator.seed)")
        #expect(entries.map(\.value) == model.sorted { $0.key < $1.key }.map(\.value))
        #expect(try cache.count == model.count)
        #expect(try cache.size.bytes == model.values.reduce(0) { $0 + $1.utf8.count })
      }
    }
  }

  /// Lists and feeds that lack an entry would be taken for whole.
  @Test func noListLacksADamagedEntryWithoutAWord() throws {
    let cache = try place.openText()
    try cache.fill(1...9)
    try cache.set("to be damaged", forKey: 10)
    try cache.fill(11...20)
    try cache.checkpoint()
    let bytes = Data("to be damaged".utf8)
    #expect(try place.log.flip(bytes) == 1)
    try StoreLog.flip(bytes, in: URL(fileURLWithPath: place.path + "/data.mdb"))
    let rest = (1...20).filter { $0 != 10 }
    for order in [StoreOrder.byKey, .byKeyDescending, .leastRecentFirst, .mostRecentFirst] {
      for failure in [
        #expect(throws: LarderError.self, performing: { try cache.keys(order: order) }),
        #expect(throws: LarderError.self, performing: { try cache.infos(order: order) }),
        #expect(throws: LarderError.self, performing: { try cache.entries(order: order) }),
      ] {
        #expect(failure?.code == .damaged)
        #expect(failure?.message.contains("with the key 10 is damaged") == true)
      }
      var met: [Int] = []
      let code = errorCode {
        try cache.forEachEntry(order: order) {
          met.append($0.key)
          return true
        }
      }
      #expect(code == .damaged && met.sorted() == rest)
    }
    #expect(try cache.keys(limit: 5) == Array(1...5))
    #expect(try cache.keys(.range(11...)) == Array(11...20))
    var met: [Int] = []
    try cache.forEachEntry {
      met.append($0.key)
      return met.count < 15
    }
    #expect(met.count == 15)
    var told: [Int] = []
    let code = errorCode {
      try cache.changeLog.snapshot { if case .put(let key, _) = $0 { told.append(key) } }
    }
    #expect(code == .damaged)
    #expect(told.sorted() == rest)
    #expect(errorCode { try cache.removeAll { $0.key > 5 } } == .damaged)
    #expect(try cache.count == 6)
    try cache.remove(forKey: 10)
    #expect(try cache.keys() == Array(1...5))
  }

  @Test func aPrefixRemovesWhatIsDamagedToo() throws {
    let cache = try place.openData()
    for key in ["a1", "a2", "b1"] { try cache.set(Data("value of \(key)".utf8), forKey: key) }
    try cache.checkpoint()
    let bytes = Data("value of a1".utf8)
    #expect(try place.log.flip(bytes) == 1)
    try StoreLog.flip(bytes, in: URL(fileURLWithPath: place.path + "/data.mdb"))
    #expect(errorCode { try cache.keys() } == .damaged)
    #expect(try cache.remove(prefix: "a") == 2)
    #expect(try cache.keys() == ["b1"] && cache.count == 1)
  }
}
