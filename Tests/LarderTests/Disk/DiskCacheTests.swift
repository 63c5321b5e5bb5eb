// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// What is stored comes back, whatever it is. After RECache's DiskCache tests
/// codableRoundtrip, codableBinaryPlistRoundtrip, dataTransformer, missReturnsNil,
/// setNilRemoves, remove, removeAll, intKeyRoundtrip, persistsAcrossInstances,
/// descriptionIncludesPath and Name; and its KVStorage tests saveAndGet, getValue,
/// removeSingleKey, removeMultipleKeys, removeAllThenSaveAgain, itemExistsForKey,
/// getItemsCount, getItemsSize, emptyKey, emptyValue, nonExistentKey, saveKeyTwiceUpdates,
/// getMultipleItems, getEmptyKeyArray.
struct DiskCacheTests {
  private let place: DiskPlace

  init() throws { place = try DiskPlace() }

  @Test(arguments: [Coder<DiskPage>.cbor, .binaryPlist, .json()])
  func aCodableValueComesBackEqual(coder: Coder<DiskPage>) throws {
    let cache = try place.open(String.self, coder: coder)
    try cache.set(.sample, forKey: "page")
    #expect(try cache.value(forKey: "page") == .sample)
    try cache.checkpoint()
    #expect(try cache.value(forKey: "page") == .sample)
  }

  @Test func bytesAreStoredAsTheyAre() throws {
    let cache = try place.openData()
    let bytes = Data((0...255).map { UInt8($0) })
    try cache.set(bytes, forKey: "bytes")
    #expect(try cache.value(forKey: "bytes") == bytes)
    try cache.withValueBytes(forKey: "bytes") { #expect(Data($0) == bytes) }
  }

  @Test func aMissIsNilAndNoError() throws {
    let cache = try place.openData()
    #expect(try cache.value(forKey: "none") == nil)
    #expect(try cache.peek(forKey: "none") == nil)
    #expect(try cache.mappedValue(forKey: "none") == nil)
    #expect(try cache.withValueBytes(forKey: "none") { _ in true } == nil)
    #expect(try cache.valueWithExtendedData(forKey: "none") == nil)
    #expect(try cache.extendedData(forKey: "none") == nil)
    #expect(try cache.info(forKey: "none") == nil)
    #expect(try cache.versionedValue(forKey: "none") == nil)
    #expect(try !cache.contains("none"))
  }

  @Test func settingNilRemoves() throws {
    let cache = try place.openText()
    try cache.set("one", forKey: 1)
    try cache.set(nil, forKey: 1)
    #expect(try cache.value(forKey: 1) == nil)
    #expect(try cache.isEmpty)
  }

  @Test func removingTakesTheOneAndLeavesTheOthers() throws {
    let cache = try place.openText()
    try cache.fill(1...3)
    try cache.remove(forKey: 2)
    try cache.remove(forKey: 99)
    #expect(try cache.keys() == [1, 3])
    #expect(try cache.count == 2)
  }

  @Test func removingManyKeysTakesAllOfThem() throws {
    let cache = try place.openText()
    try cache.fill(1...5)
    try cache.remove(forKeys: [1, 3, 5, 7])
    #expect(try cache.keys() == [2, 4])
    try cache.remove(forKeys: [])
    #expect(try cache.keys() == [2, 4])
  }

  @Test func removeAllLeavesNothingAndTheCacheGoesOn() throws {
    let cache = try place.openText()
    try cache.fill(1...100)
    try cache.checkpoint()
    try cache.fill(101...110)
    try cache.removeAll()
    #expect(try cache.isEmpty)
    #expect(try cache.size == 0)
    #expect(try cache.keys() == [])
    #expect(try cache.value(forKey: 7) == nil)
    try cache.set("again", forKey: 7)
    try cache.checkpoint()
    #expect(try cache.value(forKey: 7) == "again")
    #expect(try cache.keys() == [7])
  }

  @Test func storingTwiceReplacesTheFirst() throws {
    let cache = try place.openText()
    try cache.set("a long first value", forKey: 1)
    try cache.set("second", forKey: 1)
    #expect(try cache.value(forKey: 1) == "second")
    #expect(try cache.count == 1)
    #expect(try cache.size == 6)
  }

  @Test func countAndCostAreThoseOfTheEntries() throws {
    let cache = try place.openData()
    for size in 0...20 { try cache.set(Data(count: size), forKey: "\(size)") }
    #expect(try cache.count == 21)
    #expect(try cache.size == 210)
    try cache.checkpoint()
    #expect(try cache.count == 21)
    #expect(try cache.size == 210)
    try cache.remove(forKey: "20")
    #expect(try cache.size == 190)
  }

  @Test func anEmptyValueIsAValue() throws {
    let cache = try place.openData()
    try cache.set(Data(), forKey: "empty")
    #expect(try cache.value(forKey: "empty") == Data())
    #expect(try cache.contains("empty"))
    try cache.checkpoint()
    #expect(try cache.value(forKey: "empty") == Data())
    #expect(try cache.mappedValue(forKey: "empty") == Data())
  }

  @Test(arguments: ["", "\0", "a\0b", "a", "a/b", "../../x", "..", "ключ", "a\nb", " "])
  func anyTextIsAKeyOfItsOwn(key: String) throws {
    let cache = try place.openData()
    let others = ["", "\0", "a\0b", "a", "a/b", "../../x", "..", "ключ", "a\nb", " "]
    for other in others { try cache.set(Data(other.utf8), forKey: other) }
    try cache.checkpoint()
    #expect(try cache.value(forKey: key) == Data(key.utf8))
    try cache.remove(forKey: key)
    #expect(try cache.value(forKey: key) == nil)
    #expect(try cache.count == others.count - 1)
    #expect(try place.directory.names == ["cache"])
  }

  @Test(arguments: [1, 253, 254, 255, 493, 494, 495, 511, 512, 4096, 65_535, 65_536])
  func aKeyOfAnyLengthUpToTheLimitIsDifferentFromItsNeighbour(length: Int) throws {
    let cache = try place.openData()
    let key = String(repeating: "k", count: length - 1)
    try cache.set(Data("a".utf8), forKey: key + "a")
    try cache.set(Data("b".utf8), forKey: key + "b")
    for _ in 0..<2 {
      #expect(try cache.value(forKey: key + "a") == Data("a".utf8))
      #expect(try cache.value(forKey: key + "b") == Data("b".utf8))
      #expect(try Set(cache.keys()) == [key + "a", key + "b"])
      try cache.checkpoint()
    }
  }

  @Test func aKeyAboveTheLimitIsRefusedAndNothingChanges() throws {
    let cache = try place.openData()
    let key = String(repeating: "k", count: 65_537)
    #expect(errorCode { try cache.set(Data([1]), forKey: key) } == .tooLarge)
    #expect(try cache.isEmpty)
  }

  @Test func numbersAreKeysInTheirOrder() throws {
    let cache = try place.openText()
    let keys = [Int.min, -256, -1, 0, 1, 255, 256, Int.max]
    try cache.fill(keys.shuffled())
    #expect(try cache.keys() == keys)
    for key in keys { #expect(try cache.value(forKey: key) == "\(key)") }
  }

  @Test func anyCodableKeyWillDo() throws {
    struct Point: Codable, Hashable { var x: Double, y: [String: Int] }
    let cache = try place.open(Point.self, coder: Coder<Int>.cbor)
    let a = Point(x: 1.5, y: ["a": 1, "b": 2, "c": 3])
    let b = Point(x: 1.5, y: ["a": 1, "b": 2])
    try cache.set(1, forKey: a)
    try cache.set(2, forKey: b)
    #expect(try cache.value(forKey: Point(x: 1.5, y: ["c": 3, "b": 2, "a": 1])) == 1)
    #expect(try cache.value(forKey: b) == 2)
    #expect(try Set(cache.keys()) == [a, b])
  }

  @Test func whatWasStoredIsThereForTheNextInstance() throws {
    var cache: DiskCache<String, DiskPage>? = try place.open(String.self, coder: .cbor)
    try cache?.set(.sample, forKey: "page", extendedData: Data("etag".utf8))
    try cache?.close()
    cache = nil
    let next = try place.open(String.self, coder: Coder<DiskPage>.cbor)
    #expect(try next.value(forKey: "page") == .sample)
    #expect(try next.extendedData(forKey: "page") == Data("etag".utf8))
    #expect(try next.count == 1)
  }

  @Test func aCacheThatNobodyClosedIsThereForTheNextInstance() throws {
    do {
      let cache = try place.openText()
      try cache.fill(1...10)
    }
    let next = try place.openText()
    #expect(try next.keys() == Array(1...10))
  }

  @Test func manyKeysAreReadAndStoredTogether() throws {
    let cache = try place.openText()
    try cache.set([1: "a", 2: "b", 3: "c"])
    #expect(try cache.values(forKeys: [1, 3, 5]) == [1: "a", 3: "c"])
    #expect(try cache.values(forKeys: []) == [:])
  }

  @Test func theDescriptionNamesTypeNameAndPath() throws {
    let cache = try place.openText { $0.name = "numbers" }
    #expect(cache.description.hasPrefix("<DiskCache<Int, String>: 0x"))
    #expect(cache.description.hasSuffix("(numbers: \(place.path))"))
    cache.name = "others"
    #expect(cache.name == "others")
    #expect(cache.directoryURL.path == place.path)
  }

  @Test func theNameIsTheFoldersUnlessOneIsGiven() throws {
    #expect(try place.openText().name == "cache")
  }

  @Test func aCoderThatFailsChangesNothing() throws {
    struct Refusal: Error {}
    let coder = Coder<Int>(
      encode: { if $0 < 0 { throw Refusal() } else { Data([UInt8($0)]) } },
      decode: { if $0 == Data([9]) { throw Refusal() } else { Int($0[$0.startIndex]) } })
    let cache = try place.open(Int.self, coder: coder)
    try cache.set(1, forKey: 1)
    let failure = error { try cache.set(-1, forKey: 1) }
    #expect(failure?.code == .encoding)
    #expect(failure?.cause is Refusal)
    #expect(try cache.value(forKey: 1) == 1)
    try cache.set(9, forKey: 9)
    #expect(errorCode { try cache.value(forKey: 9) } == .decoding)
    #expect(try cache.value(forKey: 1) == 1)
  }

  @Test func aReadWritesNothing() throws {
    let cache = try place.openText { $0.countLimit = 100 }
    try cache.fill(1...10)
    try cache.checkpoint()
    let before = try cache.statistics
    for _ in 0..<50 { for key in 1...10 { _ = try cache.value(forKey: key) } }
    let after = try cache.statistics
    #expect(after.lastVersion == before.lastVersion)
    #expect(after.journalSize == before.journalSize)
    #expect(after.checkpoints == before.checkpoints)
    #expect(after.hits - before.hits == 500)
  }
}
