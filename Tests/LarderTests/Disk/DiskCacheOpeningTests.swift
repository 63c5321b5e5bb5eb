// SPDX-License-Identifier: MIT

import CLarder
import CLarderStore
import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// Opening, and what opening refuses. After RECache's initFailsOnEmptyPath, initSQLite,
/// initFile, initMixed, initCreatesDirectories, initWithEmptyPathFails,
/// initWithTooLongPathFails, tunablesSmoke.
struct DiskCacheOpeningTests {
  private let place: DiskPlace

  init() throws { place = try DiskPlace() }

  private func code(path: String) -> LarderError.Code? {
    errorCode { try DiskCache<String, Data>(at: .path(path)) }
  }

  @Test func anEmptyPathIsRefused() {
    #expect(code(path: "") == .invalidArgument)
  }

  @Test func aPathWithANULIsRefused() {
    #expect(code(path: place.path + "\0x") == .invalidArgument)
  }

  @Test func aPathThatIsTooLongIsRefused() {
    let failure = error {
      try DiskCache<String, Data>(at: .path("/" + String(repeating: "x/", count: 4000)))
    }
    #expect(failure?.code == .io)
    #expect(failure?.errno == ENAMETOOLONG)
  }

  @Test(arguments: ["", ".", "..", "a/b", "a\0b", String(repeating: "n", count: 256)])
  func aNameThatLeadsElsewhereIsRefused(name: String) {
    #expect(errorCode { try DiskCache<String, Data>(at: .named(name)) } == .invalidArgument)
  }

  @Test func byNameItLiesInTheCachesFolder() throws {
    let name = "larder-test-\(UUID().uuidString)"
    let cache = try DiskCache<String, Data>(at: .named(name))
    defer { try? FileManager.default.removeItem(at: cache.directoryURL) }
    let caches = try FileManager.default.url(
      for: .cachesDirectory, in: .userDomainMask, appropriateFor: nil, create: false)
    let folder = caches.appendingPathComponent(DiskFolder.program).appendingPathComponent(name)
    #expect(cache.directoryURL.path == folder.path)
    #expect(cache.name == name)
    try cache.set(Data([1]), forKey: "a")
    #expect(try cache.value(forKey: "a") == Data([1]))
  }

  @Test func theFolderAndItsFilesAreMade() throws {
    let cache = try place.openData { $0.inlineThreshold = 0 }
    try cache.set(Data([1]), forKey: "a")
    try cache.checkpoint()
    let names = try FileManager.default.contentsOfDirectory(atPath: place.path)
    #expect(Set(names).isSuperset(of: ["lock", "log", "data.mdb", "lock.mdb"]))
  }

  @Test func aFileInPlaceOfTheFolderIsLeftAlone() throws {
    try Data("mine".utf8).write(to: place.url)
    #expect(code(path: place.path) != nil)
    #expect(try Data(contentsOf: place.url) == Data("mine".utf8))
  }

  @Test func aFolderOfSomethingElseIsLeftAlone() throws {
    try FileManager.default.createDirectory(at: place.url, withIntermediateDirectories: false)
    let file = place.url.appendingPathComponent("data.mdb")
    try Data("mine, and not a database of anything".utf8).write(to: file)
    #expect(code(path: place.path) != nil)
    #expect(try Data(contentsOf: file) == Data("mine, and not a database of anything".utf8))
  }

  /// Those of LMDB 1.0 have eight more bytes of head, behind their number.
  @Test(arguments: [0, 8]) func pagesOfAnotherLMDBAreRefusedByName(added: Int) throws {
    try place.openText().close()
    let file = place.url.appendingPathComponent("data.mdb")
    var bytes = try Data(contentsOf: file)
    for page in [0, 4096] {
      let rest = bytes[page + 8..<page + 4096 - added]
      bytes.replaceSubrange(page + 8..<page + 4096, with: Data(count: added) + rest)
      bytes[page + 20 + added] = 3
    }
    try bytes.write(to: file)
    let failure = error { try place.openText() }
    #expect(failure?.code == .incompatibleVersion)
    let message = try #require(failure?.message)
    #expect(message.contains("data version 3") && message.contains("LMDB 0.9"))
    #expect(try Data(contentsOf: file) == bytes)
  }

  @Test func anotherLMDBLibraryIsRefusedByName() throws {
    var detail = larder_store_detail()
    detail.part = LARDER_STORE_PART_DATA
    detail.version = 1 << 24 | 2 << 16 | 3
    detail.version_of = LARDER_STORE_VERSION_OF_LMDB
    let reason = StoreFailure.reason(
      Int32(LARDER_EVERSION), detail: detail, asked: larder_store_options())
    #expect(reason?.contains("version 1.2.3,") == true && reason?.contains("LMDB 0.9") == true)
  }

  @Test func aLaterLarderIsNamed() throws {
    var detail = larder_store_detail()
    detail.part = LARDER_STORE_PART_JOURNAL
    detail.version = 7
    let reason = StoreFailure.reason(
      Int32(LARDER_EVERSION), detail: detail, asked: larder_store_options())
    #expect(reason?.contains("its log has format version 7,") == true)
  }

  @Test func aMissingIndexIsNamedAndRebuilt() throws {
    let data = place.url.appendingPathComponent("data.mdb")
    try { try place.openText().fill(1...10) }()
    try FileManager.default.removeItem(at: data)
    let failure = error { try place.openText() }
    #expect(failure?.code == .damaged)
    let message = try #require(failure?.message)
    #expect(message.contains("its file data.mdb is missing;") && message.contains("rebuild"))
    _ = try DiskCache<Int, String>.rebuild(at: .path(place.path))
    #expect(try place.openText().value(forKey: 7) == "7")
  }

  /// What cleaning left is newer than the index that was put back, and says so.
  @Test func anOlderIndexIsRefusedByNameAndRebuilt() throws {
    let data = place.url.appendingPathComponent("data.mdb")
    // A handle that was closed still knows the index, so it has to go.
    try { try place.openText().fill(1...2_000) }()
    let older = try Data(contentsOf: data)
    try {
      let changed = try place.openText()
      for round in 1...3 {
        for key in 1...2_000 { try changed.set("value \(round)", forKey: key) }
        try changed.checkpoint()
      }
    }()
    try DiskCache<Int, String>.compact(at: .path(place.path))
    try older.write(to: data)
    let failure = error { try place.openText() }
    #expect(failure?.code == .damaged)
    let message = try #require(failure?.message)
    #expect(message.contains("data.mdb is older than its file log/0000"))
    #expect(message.contains("rebuild"))
    #expect(try Data(contentsOf: data) == older)
    _ = try DiskCache<Int, String>.rebuild(at: .path(place.path))
    let rebuilt = try place.openText()
    #expect(try rebuilt.value(forKey: 1_234) == "value 3")
    #expect(try rebuilt.count == 2_000)
  }

  @Test func aSecondCacheForWritingIsBusyAndNamesTheProcess() throws {
    let first = try place.openText()
    try first.fill(1...3)
    let failure = error { try place.openText() }
    #expect(failure?.code == .busy)
    #expect(
      failure?.message.contains("process \(ProcessInfo.processInfo.processIdentifier)") == true)
    try first.removeAll()
    try first.set("still mine", forKey: 1)
    try first.close()
    let second = try place.openText()
    #expect(try second.value(forKey: 1) == "still mine")
    #expect(try second.count == 1)
  }

  @Test func theFolderIsFreeWhenTheCacheIsGone() throws {
    for round in 0..<3 {
      let cache = try place.openText()
      try cache.set("\(round)", forKey: round)
      #expect(try cache.count == round + 1)
    }
  }

  @Test func closedIsClosed() throws {
    let cache = try place.openText()
    try cache.set("one", forKey: 1)
    try cache.close()
    try cache.close()
    #expect(errorCode { try cache.value(forKey: 1) } == .closed)
    #expect(errorCode { try cache.set("two", forKey: 2) } == .closed)
    #expect(errorCode { try cache.remove(forKey: 1) } == .closed)
    #expect(errorCode { try cache.removeAll() } == .closed)
    #expect(errorCode { try cache.contains(1) } == .closed)
    #expect(errorCode { try cache.keys() } == .closed)
    #expect(errorCode { try cache.batch { _ in } } == .closed)
    #expect(errorCode { try cache.count } == .closed)
    #expect(errorCode { try cache.checkpoint() } == .closed)
    #expect(errorCode { try cache.sync() } == .closed)
    #expect(errorCode { try cache.trim(toCount: 0) } == .closed)
    #expect(errorCode { try cache.removeExpired() } == .closed)
    #expect(errorCode { try cache.verify() } == .closed)
    #expect(errorCode { try cache.statistics } == .closed)
    cache.countLimit = 5
    #expect(cache.countLimit == 5)
  }

  @Test func valuesOfAnotherCoderAreRefusedAndSayWhich() throws {
    do { try place.openText().set("one", forKey: 1) }
    let failure = error { try place.open(Int.self, coder: Coder<Int>.cbor) }
    #expect(failure?.code == .configurationMismatch)
    #expect(failure?.message.contains("\"utf8\"") == true)
    #expect(failure?.message.contains("\"cbor\"") == true)
    #expect(try place.openText().value(forKey: 1) == "one")
  }

  @Test func keysOfAnotherTypeAreAnErrorAndNoCrash() throws {
    do { try place.openText().set("one", forKey: 1) }
    let failure = error { try place.open(UUID.self, coder: .string) }
    #expect(failure?.code == .configurationMismatch)
    #expect(failure?.message.contains("UUID") == true)
    #expect(try place.openText().value(forKey: 1) == "one")
  }

  @Test(arguments: [0, 1, 63, 65_535] as [UInt64])
  func aJournalThatIsTooSmallIsRefused(bytes: UInt64) throws {
    let failure = error { try place.openText { $0.journalCapacity = bytes } }
    #expect(failure?.code == .invalidArgument)
    #expect(failure?.message.contains("65536") == true)
  }

  @Test func otherSettingsThanLastTimeAreFine() throws {
    do {
      let cache = try place.openData { $0.inlineThreshold = 100 }
      try cache.set(Data(count: 100), forKey: "short")
      try cache.set(Data(count: 101), forKey: "long")
    }
    let cache = try place.openData {
      $0.inlineThreshold = 1000
      $0.journalCapacity = 2 << 20
      $0.countLimit = 10
    }
    #expect(try cache.value(forKey: "short") == Data(count: 100))
    #expect(try cache.value(forKey: "long") == Data(count: 101))
  }

  @Test func everySettingCanBeReadAndSet() throws {
    let cache = try place.openText {
      $0.countLimit = 10
      $0.sizeLimit = 20
      $0.expiration = .days(1)
      $0.freeDiskSpaceLimit = 30
      $0.inlineThreshold = 40
      $0.durability = .power
    }
    #expect(cache.countLimit == 10 && cache.sizeLimit == 20 && cache.expiration == .days(1))
    #expect(cache.freeDiskSpaceLimit == 30 && cache.inlineThreshold == 40)
    #expect(cache.durability == .power && !cache.isReadOnly)
    cache.countLimit = -1
    cache.sizeLimit = 21
    cache.expiration = .never
    cache.freeDiskSpaceLimit = 0
    #expect(cache.countLimit == 0 && cache.sizeLimit == 21)
    #expect(cache.expiration == .never && cache.freeDiskSpaceLimit == 0)
    try cache.set("power", forKey: 1)
    #expect(try cache.statistics.syncedVersion == cache.statistics.lastVersion)
  }

  // MARK: - Reading only

  @Test func aReaderSeesWhatTheWriterWroteAndWrites() throws {
    let writer = try place.openText()
    try writer.fill(1...3)
    let reader = try place.openText { $0.isReadOnly = true }
    #expect(reader.isReadOnly)
    #expect(try reader.keys() == [1, 2, 3])
    try writer.set("four", forKey: 4)
    try writer.remove(forKey: 1)
    #expect(try reader.value(forKey: 4) == "four")
    #expect(try reader.value(forKey: 1) == nil)
    try writer.checkpoint()
    #expect(try reader.value(forKey: 4) == "four")
    #expect(try reader.keys() == [2, 3, 4])
    #expect(try reader.count == 3)
    #expect(try reader.statistics.writerProcess == Int(ProcessInfo.processInfo.processIdentifier))
    try writer.close()
    #expect(try reader.keys() == [2, 3, 4])
  }

  @Test func aReaderRefusesToWrite() throws {
    do { try place.openText().fill(1...3) }
    let reader = try place.openText { $0.isReadOnly = true }
    #expect(errorCode { try reader.set("x", forKey: 1) } == .readOnly)
    #expect(errorCode { try reader.remove(forKey: 1) } == .readOnly)
    #expect(errorCode { try reader.removeAll() } == .readOnly)
    #expect(errorCode { try reader.batch { _ in } } == .readOnly)
    #expect(errorCode { try reader.trim(toCount: 0) } == .readOnly)
    #expect(errorCode { try reader.removeExpired() } == .readOnly)
    #expect(try reader.keys() == [1, 2, 3])
  }

  @Test func aReaderWantsACacheThatIsThere() throws {
    let failure = error { try place.openText { $0.isReadOnly = true } }
    #expect(failure?.code == .io)
    #expect(failure?.errno == ENOENT)
    #expect(try place.directory.names == [])
  }

  @Test func aReaderHasAnExpirationOfItsOwn() throws {
    let writer = try place.openText()
    try writer.fill(1...3)
    try writer.checkpoint()
    let reader = try place.openText {
      $0.isReadOnly = true
      $0.expiration = .seconds(60)
    }
    place.clock.advance(60)
    #expect(try reader.value(forKey: 1) == nil)
    #expect(try writer.value(forKey: 1) == "1")
    reader.expiration = .seconds(61)
    #expect(try reader.value(forKey: 1) == "1")
  }
}
