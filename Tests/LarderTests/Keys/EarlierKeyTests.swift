// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// What earlier versions stored under keys as they were given is neither lost nor hidden.
struct EarlierKeyTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.url.path + "/a" }

  init() throws { directory = try TemporaryDirectory() }

  /// A store as earlier versions left it.
  private func write<Key: Codable & Hashable & Sendable>(_ entries: [(Key, Int)]) throws {
    let cache = try DiskCache<Key, Int>(at: .path(path), coder: .cbor, keyCoder: .asGiven)
    for (key, value) in entries { try cache.set(value, forKey: key) }
    try cache.close()
  }

  private func openCache<Key: Codable & Hashable & Sendable>(
    _ type: Key.Type, isReadOnly: Bool = false
  ) throws -> DiskCache<Key, Int> {
    var configuration = DiskCacheConfiguration<Key, Int>()
    configuration.isReadOnly = isReadOnly
    return try DiskCache(at: .path(path), configuration: configuration)
  }

  @Test(arguments: ["é", "e\u{301}"], [false, true])
  func anEntryIsFoundByEachForm(_ key: String, isReadOnly: Bool) throws {
    try write([("e\u{301}", 7), ("x", 8)])
    let cache = try openCache(String.self, isReadOnly: isReadOnly)
    #expect(try cache.value(forKey: key) == 7)
    #expect(try cache.peek(forKey: key) == 7)
    #expect(try cache.contains(key))
    #expect(try cache.info(forKey: key)?.version == cache.versionedValue(forKey: key)?.version)
    #expect(try cache.keys().contains(key) && cache.count == 2)
    #expect(try cache.value(forKey: "é\u{323}") == nil)
  }

  @Test func aFormThatIsNeitherIsFoundByItself() throws {
    try write([("ée\u{301}", 1)])
    let cache = try openCache(String.self)
    #expect(try cache.value(forKey: "ée\u{301}") == 1)
    for key in try cache.keys() { #expect(try cache.value(forKey: key) == 1) }
  }

  @Test(arguments: ["é", "e\u{301}"]) func aWriteReplacesIt(_ key: String) throws {
    try write([("e\u{301}", 7)])
    let cache = try openCache(String.self)
    try cache.set(8, forKey: key)
    #expect(try cache.count == 1 && cache.value(forKey: "é") == 8)
    try cache.remove(forKey: "é")
    #expect(try cache.value(forKey: "e\u{301}") == nil && cache.isEmpty)
  }

  @Test(arguments: ["é", "e\u{301}"]) func aRemovalRemovesIt(_ key: String) throws {
    try write([("e\u{301}", 7), ("é", 8)])
    let cache = try openCache(String.self)
    #expect(try cache.count == 2 && cache.value(forKey: key) == 8)
    try cache.remove(forKey: key)
    #expect(try cache.isEmpty && cache.value(forKey: "e\u{301}") == nil)
  }

  @Test(arguments: ["é", "e\u{301}"]) func transactionsSeeIt(_ key: String) throws {
    try write([("e\u{301}", 7)])
    let cache = try openCache(String.self)
    let version = try #require(try cache.versionedValue(forKey: key)?.version)
    #expect(try !cache.compareAndSet(9, forKey: key, version: nil))
    #expect(try !cache.compareAndSet(9, forKey: key, version: version + 1))
    #expect(try cache.compareAndSet(9, forKey: key, version: version))
    try cache.update(forKey: key) { $0 = ($0 ?? 0) + 1 }
    #expect(try cache.value(forKey: "é") == 10 && cache.count == 1)
    try cache.batch { try $0.remove(forKey: key) }
    #expect(try cache.isEmpty)
  }

  @Test func selectionsShowIt() throws {
    try write([("e\u{301}a", 1), ("e\u{301}b", 2), ("éc", 3), ("f", 4)])
    let cache = try openCache(String.self)
    for prefix in ["é", "e\u{301}"] {
      #expect(try Set(cache.keys(.prefix(prefix))) == ["éa", "éb", "éc"])
      #expect(try cache.keys(.prefix(prefix), limit: 2).count == 2)
      #expect(try Set(cache.keys(.range("\(prefix)a"..."\(prefix)b"))) == ["éa", "éb"])
      #expect(try Set(cache.keys(.range("\(prefix)b"...))) == ["éb", "éc"])
      #expect(try cache.entries(.prefix(prefix), order: .byKeyDescending).count == 3)
    }
    #expect(try cache.removeAll(.prefix("é")) { $0.key == "e\u{301}a" } == 1)
    #expect(try cache.remove(prefix: "é") == 2)
    #expect(try cache.keys() == ["f"])
  }

  @Test func hiddenTextsAndZerosAreFound() throws {
    let written = HiddenKey(
      part: .place(x: 0, y: -0), name: .init(rawValue: "e\u{301}"), words: [:])
    try write([(written, 3)])
    let cache = try openCache(HiddenKey.self)
    #expect(try cache.value(forKey: written) == 3)
    var key = written
    key.name = .init(rawValue: "é")
    #expect(try cache.value(forKey: key) == 3)
    try cache.set(4, forKey: key)
    #expect(try cache.count == 1 && cache.value(forKey: written) == 4)
  }

  @Test func numbersAndURLsThatWereCBORAreRefusedAndOpenAsThat() throws {
    try write([(-0.0, 1), (1.0, 2)])
    #expect(error { try openCache(Double.self) }?.code == .configurationMismatch)
    let numbers = try DiskCache<Double, Int>(at: .path(path), coder: .cbor, keyCoder: .codable)
    #expect(try numbers.value(forKey: 0) == 1 && numbers.value(forKey: 1) == 2)
    try numbers.close()
    try FileManager.default.removeItem(atPath: path)
    let url = try #require(URL(string: "https://a.example/b"))
    try write([(url, 3)])
    #expect(error { try openCache(URL.self) }?.code == .configurationMismatch)
    let urls = try DiskCache<URL, Int>(at: .path(path), coder: .cbor, keyCoder: .codable)
    #expect(try urls.value(forKey: url) == 3)
  }

  @Test func anArchiveOfSuchNumbersIsMigrated() throws {
    struct Reading: Codable, Identifiable, Equatable { var id: Double, name: String }
    let reading = Reading(id: 1.5, name: "a")
    let archive = try Archive<Reading>(at: .path(path))
    try archive.upsert(reading)
    try archive.close()
    let coder = Coder<Data>(format: "", encode: { $0 }, decode: { $0 })
    let raw = try DiskCache<Data, Data>(at: .path(path), coder: coder, keyCoder: .data)
    let key = try KeyCoder.double.encode(1.5)
    let bytes = try #require(try raw.value(forKey: key))
    try raw.set(bytes, forKey: KeyCoder<Double>.codable.encode(1.5))
    try raw.remove(forKey: key)
    try raw.close()
    #expect(error { try Archive<Reading>(at: .path(path)) }?.code == .configurationMismatch)
    let same = ArchiveMigration(from: 1, Reading.self) { $0 as Reading }
    let schema = ArchiveSchema<Reading>(version: 2, migrations: [same])
    let migrated = try Archive<Reading>(at: .path(path), schema: schema)
    #expect(try migrated.element(forID: 1.5) == reading && migrated.verify().isIntact)
  }

  @Test func aValueTooLargeForABatchReplacesItToo() throws {
    let raw = try DiskCache<String, Data>(at: .path(path), coder: .data, keyCoder: .asGiven)
    try raw.set(Data([1]), forKey: "e\u{301}")
    try raw.close()
    var configuration = DiskCacheConfiguration<String, Data>()
    configuration.journalCapacity = 64 << 10
    let cache = try DiskCache<String, Data>(at: .path(path), configuration: configuration)
    try cache.set(Data(count: 100_000), forKey: "é")
    #expect(try cache.count == 1 && cache.value(forKey: "e\u{301}")?.count == 100_000)
  }

  @Test(arguments: ["é", "e\u{301}"]) func entriesOfSeveralValues(_ key: String) throws {
    let earlier = try EntryCache<String>(at: .path(path), valueCount: 1, keyCoder: .asGiven)
    try earlier.setValues([Data([1])], forKey: "e\u{301}")
    try earlier.close()
    let cache = try EntryCache<String>(at: .path(path), valueCount: 1)
    let snapshot = try #require(try cache.snapshot(forKey: key))
    #expect(try snapshot.data(at: 0) == Data([1]))
    let editor = try #require(try snapshot.edit())
    #expect(try cache.edit("é") == nil, "one key, one editor")
    try editor.set(Data([2]), at: 0)
    try editor.commit()
    #expect(try cache.count == 1 && cache.snapshot(forKey: "é")?.data(at: 0) == Data([2]))
    try cache.update([0: Data([3])], forKey: "e\u{301}")
    #expect(try cache.remove(forKey: key))
    #expect(try cache.isEmpty)
  }

  @Test(arguments: ["é", "e\u{301}"]) func elements(_ key: String) throws {
    struct Word: Codable, Identifiable, Equatable { var id: String, number: Int }
    let archive = try Archive<Word>(at: .path(path))
    try archive.upsert(Word(id: "é", number: 1))
    try archive.close()
    // Under the key as it was given, which any coder's cache can be opened with.
    let coder = Coder<Data>(format: "", encode: { $0 }, decode: { $0 })
    let raw = try DiskCache<Data, Data>(at: .path(path), coder: coder, keyCoder: .data)
    let bytes = try #require(try raw.value(forKey: Data("é".utf8)))
    try raw.set(bytes, forKey: Data("e\u{301}".utf8))
    try raw.remove(forKey: Data("é".utf8))
    try raw.close()

    let words = try Archive<Word>(at: .path(path))
    #expect(try words.element(forID: key)?.number == 1 && words.contains(id: key))
    #expect(try words.element(forID: key)?.number == 1, "from memory")
    try words.upsert(Word(id: key, number: 2))
    #expect(try words.elements() == [Word(id: "é", number: 2)])
    try words.delete(id: "é")
    #expect(try words.elements().isEmpty)
  }
}
