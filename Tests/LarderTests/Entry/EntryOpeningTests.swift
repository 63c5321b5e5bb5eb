// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Opening, starting afresh, and what is refused. After SwiftyCache's testValidateKey,
/// testInvalidJournalHeaders, testOpenCreatesDirectoryIfNecessary; DiskLruCache's
/// constructorDoesNotAllowZeroCacheSize and ZeroValuesPerEntry, keyWithSpaceNotPermitted and
/// the like; its users' wish to be rid of the limits of keys, and two caches in one folder,
/// of which each ruined the other's.
struct EntryOpeningTests {
  private let place: EntryPlace

  init() throws { place = try EntryPlace() }

  @Test(arguments: [Int.min, -1, 0, 4097, 65_536, Int.max])
  func aNumberOfValuesOutOfRangeIsRefused(count: Int) throws {
    #expect(errorCode { try place.open(values: count) } == .invalidArgument)
    #expect(try place.directory.names == [])
  }

  @Test(arguments: [Int.min, -1, Int(UInt32.max) + 1, Int.max])
  func aVersionOutOfRangeIsRefused(version: Int) throws {
    #expect(errorCode { try place.open(version: version) } == .invalidArgument)
    #expect(try place.directory.names == [])
  }

  @Test(arguments: [0, 1, Int(UInt32.max)])
  func aVersionInRangeIsKept(version: Int) throws {
    for _ in 0..<2 {
      let cache = try place.open(version: version)
      #expect(cache.version == version)
      if try cache.isEmpty { try cache.set("a", "A", "B") }
      #expect(try cache.texts("a") == ["A", "B"])
    }
  }

  @Test(arguments: [Int.min, -1, 0])
  func aCacheThatCouldKeepNothingIsRefused(limit: Int) throws {
    #expect(
      errorCode { try place.open { $0.sizeLimit = DataSize(bytes: limit) } } == .invalidArgument)
    #expect(try place.directory.names == [])
  }

  @Test(arguments: [(2, 101), (2, 99), (2, 0), (1, 100), (3, 100), (4096, 7)])
  func anotherVersionOrNumberOfValuesStartsAfresh(values: Int, version: Int) throws {
    do {
      let cache = try place.open { $0.inlineThreshold = 10 }
      try cache.setValues([entryBytes(50_000), entryBytes(100)], forKey: "large")
      for number in 0..<20 { try cache.set("k\(number)", "A", "B") }
    }
    do {
      let cache = try place.open(values: values, version: version)
      #expect(try cache.isEmpty)
      #expect(try cache.size == 0)
      #expect(try cache.snapshot(forKey: "k1") == nil)
      try cache.setValues([Data](repeating: Data("new".utf8), count: values), forKey: "k1")
      try cache.checkpoint()
      #expect(try cache.statistics.liveSize < 50_000)
    }
    let cache = try place.open(values: values, version: version)
    #expect(try cache.keys() == ["k1"])
    #expect(try cache.verify().isIntact)
  }

  @Test func theSameVersionKeepsEverything() throws {
    for round in 0..<3 {
      let cache = try place.open()
      #expect(try cache.count == round)
      try cache.set("k\(round)", "A", "B")
    }
  }

  @Test func startingAfreshLeavesWhatIsNotTheCaches() throws {
    do { try place.open().set("a", "A", "B") }
    let foreign = place.url.appendingPathComponent("notes.txt")
    try Data("mine".utf8).write(to: foreign)
    #expect(try place.open(version: 101).isEmpty)
    #expect(try Data(contentsOf: foreign) == Data("mine".utf8))
  }

  @Test func aStoreOfAnotherKindIsLeftAlone() throws {
    do {
      let cache = try DiskCache<String, String>(at: .path(place.path))
      try cache.set("one", forKey: "a")
    }
    let failure = error { try place.open() }
    #expect(failure?.code == .configurationMismatch)
    #expect(failure?.message.contains(place.path) == true)
    #expect(try DiskCache<String, String>(at: .path(place.path)).value(forKey: "a") == "one")
  }

  @Test func aStoreThatDoesNotSayItsKindIsLeftAlone() throws {
    let coder = Coder<Data>(encode: { $0 }, decode: { $0 })
    do {
      let cache = try DiskCache<String, Data>(at: .path(place.path), coder: coder)
      try cache.set(Data([1]), forKey: "a")
    }
    #expect(errorCode { try place.open() } == .configurationMismatch)
    let cache = try DiskCache<String, Data>(at: .path(place.path), coder: coder)
    #expect(try cache.value(forKey: "a") == Data([1]))
  }

  @Test(arguments: ["abcdefEL", "abcdefgh", "!!!!!!EL"])
  func aCodersNameIsNeverTakenForEntries(format: String) throws {
    let coder = Coder<Data>(format: format, encode: { $0 }, decode: { $0 })
    do {
      let cache = try DiskCache<String, Data>(at: .path(place.path), coder: coder)
      try cache.set(Data([1]), forKey: "a")
    }
    #expect(errorCode { try place.open() } == .configurationMismatch)
    let cache = try DiskCache<String, Data>(at: .path(place.path), coder: coder)
    #expect(try cache.value(forKey: "a") == Data([1]))
  }

  @Test func aDiskCacheDoesNotTakeEntriesForValues() throws {
    do { try place.open().set("a", "A", "B") }
    let code = errorCode { try DiskCache<String, Data>(at: .path(place.path)) }
    #expect(code == .configurationMismatch)
    #expect(try place.open().texts("a") == ["A", "B"])
  }

  @Test func aFolderOfSomethingElseIsLeftAlone() throws {
    try FileManager.default.createDirectory(at: place.url, withIntermediateDirectories: false)
    let file = place.url.appendingPathComponent("data.mdb")
    try Data("mine, and no database of anything".utf8).write(to: file)
    #expect(error { try place.open() } != nil)
    #expect(try Data(contentsOf: file) == Data("mine, and no database of anything".utf8))
  }

  @Test func aSecondCacheForWritingIsBusyAndLosesNothing() throws {
    let first = try place.open()
    try first.set("a", "A", "B")
    #expect(errorCode { try place.open() } == .busy)
    #expect(errorCode { try place.open(version: 101) } == .busy)
    #expect(try first.texts("a") == ["A", "B"])
    try first.close()
    #expect(try place.open().texts("a") == ["A", "B"])
  }

  @Test func byNameItLiesInTheCachesFolder() throws {
    let name = "larder-test-\(UUID().uuidString)"
    let cache = try EntryCache<String>(at: .named(name), valueCount: 2)
    #expect(cache.directoryURL.lastPathComponent == name)
    try cache.set("a", "A", "B")
    try cache.destroy()
    #expect(!FileManager.default.fileExists(atPath: cache.path))
    #expect(
      errorCode { try EntryCache<String>(at: .named("a/b"), valueCount: 2) } == .invalidArgument)
  }

  // MARK: - Keys

  static let odd = ["", "\0", "a\0b", "a b", "a/b", "../../x", "ключ", "a\nb", "a\r", "😀", "A.b"]

  @Test func anyTextIsAKeyUnlessARuleForbidsIt() throws {
    let cache = try place.open()
    for key in Self.odd { try cache.set(key, key, "x") }
    try cache.checkpoint()
    for key in Self.odd { #expect(try cache.texts(key) == [key, "x"]) }
    #expect(try cache.count == Self.odd.count)
    #expect(try place.directory.names == ["entries"])
    let long = String(repeating: "k", count: 65_536)
    try cache.set(long, "A", "B")
    #expect(try cache.texts(long) == ["A", "B"])
    #expect(errorCode { try cache.set(long + "k", "A", "B") } == .tooLarge)
  }

  @Test(arguments: [EntryKeyRule.diskLruCache, .swiftyCache])
  func aRuleRefusesKeysInEveryCall(rule: EntryKeyRule) throws {
    let cache = try place.open { $0.keyRule = rule }
    let long = String(repeating: "k", count: 121)
    let refused = Self.odd + [long] + (rule == .diskLruCache ? ["A", "aZ"] : [])
    for key in refused {
      #expect(errorCode { try cache.set(key, "A", "B") } == .invalidArgument)
      #expect(errorCode { try cache.update([0: Data()], forKey: key) } == .invalidArgument)
      #expect(errorCode { try cache.snapshot(forKey: key) } == .invalidArgument)
      #expect(errorCode { try cache.contains(key) } == .invalidArgument)
      #expect(errorCode { try cache.info(forKey: key) } == .invalidArgument)
      #expect(errorCode { try cache.edit(key) } == .invalidArgument)
      #expect(errorCode { try cache.remove(forKey: key) } == .invalidArgument)
    }
    #expect(try cache.isEmpty)
    let allowed = ["a", "0", "_", "-", "has_ok-123", String(long.dropFirst())]
    for key in allowed + (rule == .swiftyCache ? ["A", "Aa1"] : []) {
      try cache.set(key, key, "x")
      #expect(try cache.texts(key) == [key, "x"])
      #expect(try cache.remove(forKey: key))
    }
  }

  // MARK: - Reading only

  @Test func aReaderSeesWhatTheWriterWrites() throws {
    let writer = try place.open()
    try writer.set("a", "A", "B")
    let reader = try place.open { $0.isReadOnly = true }
    #expect(reader.isReadOnly)
    #expect(try reader.texts("a") == ["A", "B"])
    try writer.update([0: Data("C".utf8)], forKey: "a")
    #expect(try reader.texts("a") == ["C", "B"])
    #expect(errorCode { try reader.set("a", "A", "B") } == .readOnly)
    #expect(errorCode { try reader.update([0: Data()], forKey: "a") } == .readOnly)
    #expect(errorCode { try reader.remove(forKey: "a") } == .readOnly)
    #expect(errorCode { try reader.removeAll() } == .readOnly)
    #expect(errorCode { try reader.edit("a") } == .readOnly)
    #expect(errorCode { try reader.destroy() } == .readOnly)
    let snapshot = try #require(try reader.snapshot(forKey: "a"))
    #expect(errorCode { try snapshot.edit() } == .readOnly)
    try reader.close()
    #expect(try writer.texts("a") == ["C", "B"])
  }

  @Test func aReaderNoticesThatTheCacheGotAnotherForm() throws {
    do { try place.open().set("a", "A", "B") }
    for (values, version) in [(2, 101), (3, 101)] {
      let old = try place.open { $0.isReadOnly = true }
      let snapshot = try old.snapshot(forKey: "a")
      let next = try place.open(values: values, version: version)
      for isEmpty in [true, false] {
        if !isEmpty {
          try next.setValues((0..<values).map { _ in Data("C".utf8) }, forKey: "a")
        }
        #expect(errorCode { try old.snapshot(forKey: "a") } == .configurationMismatch)
        #expect(errorCode { try old.snapshot(forKey: "b") } == .configurationMismatch)
        #expect(errorCode { try old.contains("a") } == .configurationMismatch)
        #expect(errorCode { try old.keys() } == .configurationMismatch)
        #expect(errorCode { try place.open { $0.isReadOnly = true } } == .configurationMismatch)
      }
      #expect(try snapshot?.string(at: 0) == "A")
      try old.close()
      try next.close()
      try place.open().set("a", "A", "B")
    }
  }

  @Test func aReaderOfAnotherFormIsRefusedAndNothingChanges() throws {
    do { try place.open().set("a", "A", "B") }
    let failure = error { try place.open(values: 3) { $0.isReadOnly = true } }
    #expect(failure?.code == .configurationMismatch)
    #expect(failure?.message.contains("2 values and version 100") == true)
    #expect(try place.open().texts("a") == ["A", "B"])
  }

  @Test func aReaderWantsACacheThatIsThere() throws {
    #expect(error { try place.open { $0.isReadOnly = true } }?.errno == ENOENT)
    #expect(try place.directory.names == [])
  }
}
