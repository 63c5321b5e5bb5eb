// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Bytes that changed and files that are gone cost the entries that they hit, and no
/// others.
/// After SwiftyCache's testFileDeletedExternally, testRemoveHandlesMissingFile,
/// testAggressiveClearingHandlesReadWriteRemoveKeyAndClose,
/// testUsingNSOutputStreamAfterFileDeleted, testJournalLines and
/// testOpenWithTruncatedLineWillNotDiscardThatLine (there one bad line wiped everything, and
/// a torn one was believed); DiskLruCache's aggressiveClearingHandlesWrite, Edit,
/// PartialEdit and Read, openWithTruncatedLineDiscardsThatLine.
struct EntryDamageTests {
  private let place: EntryPlace

  init() throws { place = try EntryPlace() }

  /// A cache whose usual segments are as small as they can be.
  private func open() throws -> EntryCache<String> {
    try place.open {
      $0.inlineThreshold = 10
      $0.tuning?.segmentSizes = 1024...1024
      $0.readingDamage = .asMiss
    }
  }

  /// Three entries, of which "a" and "b" have segments of their own.
  private func fill(_ cache: EntryCache<String>) throws {
    try cache.setValues([entryBytes(5000), entryBytes(5000, seed: 2)], forKey: "a")
    try cache.setValues([entryBytes(5000, seed: 3), entryBytes(5000, seed: 4)], forKey: "b")
    try cache.set("c", "C", "D")
    try cache.checkpoint()
  }

  /// The values of "a".
  private let a = entryBytes(5000) + entryBytes(5000, seed: 2)

  private func expectOthers(_ cache: EntryCache<String>) throws {
    #expect(try cache.snapshot(forKey: "b")?.data(at: 1) == entryBytes(5000, seed: 4))
    #expect(try cache.texts("c") == ["C", "D"])
  }

  @Test func anIndexThatIsGoneIsMadeAnew() throws {
    do {
      let cache = try open()
      try fill(cache)
      try cache.close()
    }
    let path = place.url.path
    try FileManager.default.removeItem(atPath: path + "/data.mdb")
    let report = try DiskCache<String, Data>.rebuild(at: .path(path))
    #expect(report.intact == 3)
    do {
      let cache = try open()
      #expect(try cache.snapshot(forKey: "a")?.data(at: 0) == entryBytes(5000))
      try expectOthers(cache)
      try cache.close()
    }
    // From now on it says again what it holds.
    #expect(throws: LarderError.self) { try DiskCache<String, Data>(at: .path(path)) }
  }

  @Test(arguments: [nil, 0, 1, 64, 5000])
  func aSegmentThatIsGoneOrCutIsAMissOfItsEntry(left: Int?) throws {
    do { try fill(try open()) }
    let segment = try #require(try place.log.segments(with: a).first)
    if let left {
      try Data(contentsOf: segment).prefix(left).write(to: segment)
    } else {
      try FileManager.default.removeItem(at: segment)
    }
    let cache = try open()
    #expect(try cache.snapshot(forKey: "a") == nil)
    #expect(try cache.snapshot(forKey: "a", values: [0]) == nil)
    #expect(try cache.statistics.damaged >= 2)
    #expect(try !cache.verify().isIntact)
    try expectOthers(cache)
    // It can be removed, and stored again.
    #expect(try cache.remove(forKey: "a"))
    #expect(try !cache.remove(forKey: "a"))
    try cache.checkpoint()
    #expect(try cache.verify().isIntact)
    try cache.set("a", "A", "B")
    #expect(try cache.texts("a") == ["A", "B"])
  }

  @Test(arguments: [0, 1, 4999, 5000, 9999])
  func aByteThatFlippedIsAMissOfItsEntry(offset: Int) throws {
    let cache = try open()
    try fill(cache)
    #expect(try place.log.flip(a, at: offset) == 1)
    #expect(try cache.snapshot(forKey: "a") == nil)
    try expectOthers(cache)
  }

  @Test func damageIsAnErrorUnlessItIsToBeAMiss() throws {
    do {
      let cache = try open()
      try fill(cache)
      try cache.close()
    }
    #expect(try place.log.flip(a) == 1)
    let cache = try place.open()
    let reads: [(String, () throws -> Void)] = [
      ("snapshot", { _ = try cache.snapshot(forKey: "a") }),
      ("some values", { _ = try cache.snapshot(forKey: "a", values: [0]) }),
      ("info", { _ = try cache.info(forKey: "a") }),
      ("contains", { _ = try cache.contains("a") }),
      ("keys", { _ = try cache.keys() }),
      ("infos", { _ = try cache.infos(order: .leastRecentFirst) }),
      ("an edit", { _ = try cache.editor("a").data(at: 0) }),
    ]
    for (name, read) in reads {
      let failure = #expect(throws: LarderError.self, "\(name)") { try read() }
      #expect(failure?.code == .damaged, "\(name)")
    }
    let message = #expect(throws: LarderError.self) { try cache.keys() }?.message ?? ""
    #expect(message.contains("with the key \"a\" is damaged"), "\(message)")
    #expect(try cache.keys(order: .byKey, limit: 0) == [])
    try expectOthers(cache)
    #expect(try cache.remove(forKey: "a"))
    #expect(try cache.keys() == ["b", "c"] && cache.infos().map(\.key) == ["b", "c"])
  }

  @Test func whatIsMissingOfADamagedEntryIsNotMadeUp() throws {
    let cache = try open()
    try fill(cache)
    #expect(try place.log.flip(a) == 1)
    #expect(errorCode { try cache.update([0: Data("A".utf8)], forKey: "a") } == .damaged)
    let some = try cache.editor("a")
    #expect(try some.data(at: 0) == nil)
    try some.set("A", at: 0)
    #expect(errorCode { try some.commit() } == .damaged)
    #expect(try cache.snapshot(forKey: "a") == nil)
    let all = try cache.editor("a")
    try all.set("A", at: 0)
    try all.set("B", at: 1)
    try all.commit()
    #expect(try cache.texts("a") == ["A", "B"])
    try expectOthers(cache)
  }

  @Test func aDamagedRecordIsAMissOfItsEntryWhereverItIsHit() throws {
    var generator = SeededGenerator(seed: 31)
    let keys = (0..<20).map { "key-\($0)" }
    do {
      let cache = try open()
      for key in keys { try cache.set(key, key, "x") }
    }
    let whole = place.directory.file("whole")
    try FileManager.default.moveItem(at: place.url, to: whole)
    for round in 0..<120 {
      try FileManager.default.copyItem(at: whole, to: place.url)
      var file = place.url.appendingPathComponent("data.mdb")
      if round % 2 == 1 {
        file = try #require(try place.log.segments.randomElement(using: &generator))
      }
      var bytes = try Data(contentsOf: file)
      let offset = Int.random(in: 0..<bytes.count, using: &generator)
      bytes[offset] ^= UInt8.random(in: 1 ... .max, using: &generator)
      try bytes.write(to: file)
      // Refusing to open is fine; another entry's values are not.
      if let cache = try? open() {
        for key in keys {
          guard let texts = try cache.texts(key) else { continue }
          #expect(texts == [key, "x"], "seed \(generator.seed), offset \(offset)")
        }
        try? cache.close()
      }
      try FileManager.default.removeItem(at: place.url)
    }
    try FileManager.default.moveItem(at: whole, to: place.url)
    let cache = try open()
    for key in keys { #expect(try cache.texts(key) == [key, "x"]) }
  }

  @Test func aTornLogCostsItsEndAndNothingBefore() throws {
    let cache = try open()
    try fill(cache)
    try cache.set("whole", "A", "B")
    try cache.set("d", "EFGHI", "JKLM")
    let copy = try place.afterKill()
    let log = StoreLog(URL(fileURLWithPath: copy))
    #expect(try log.flip(Data("EFGHIJKLM".utf8)) == 1)
    // What is torn at its end was never written.
    let other = try place.open(at: copy) { $0.inlineThreshold = 10 }
    #expect(try other.texts("d") == nil)
    #expect(try other.texts("whole") == ["A", "B"])
    try expectOthers(other)
    #expect(try other.snapshot(forKey: "a")?.data(at: 0) == entryBytes(5000))
  }

  @Test func anEntryThatIsNoneIsAMissAndCounted() throws {
    // A cache of anything can write to any folder.
    do { try place.open().set("a", "A", "B") }
    let heads: [Data] = [
      Data(), Data([1, 0, 2, 0, 0, 0, 0, 0]),
      Data([2, 0, 2, 0, 0, 0, 0, 0] + [3, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, 0]),
      Data([1, 0, 2, 0, 0, 0, 0, 0] + [4, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, 0]),
      Data([1, 0, 2, 0, 0, 0, 0, 0] + [1, 0, 0, 0, 0, 0, 0, 0] + [1, 0, 0, 0, 0, 0, 0, 0]),
      Data([1, 0, 2, 0, 0, 0, 0, 0] + [UInt8](repeating: 255, count: 16)),
    ]
    do {
      let any = Coder<Data>(encode: { $0 }, decode: { $0 })
      let cache = try DiskCache<String, Data>(at: .path(place.path), coder: any)
      for (number, head) in heads.enumerated() {
        try cache.set(Data("ABC".utf8), forKey: "foreign \(number)", extendedData: head)
      }
    }
    do {
      let cache = try place.open()
      #expect(errorCode { try cache.snapshot(forKey: "foreign 0") } == .damaged)
      #expect(errorCode { try cache.info(forKey: "foreign 0") } == .damaged)
      #expect(errorCode { try cache.infos() } == .damaged)
      try cache.close()
    }
    let cache = try place.open { $0.readingDamage = .asMiss }
    for number in heads.indices {
      #expect(try cache.snapshot(forKey: "foreign \(number)") == nil)
      #expect(try cache.info(forKey: "foreign \(number)") == nil)
    }
    #expect(try cache.statistics.damaged == heads.count)
    #expect(try cache.texts("a") == ["A", "B"])
    #expect(try cache.infos().map(\.key) == ["a"])
    let report = try cache.verify()
    #expect(!report.isIntact && report.damaged == heads.count)
    for number in heads.indices { #expect(try cache.remove(forKey: "foreign \(number)")) }
    #expect(try cache.verify().isIntact)
  }

  @Test func aFolderThatIsDeletedUnderTheCacheIsSurvived() throws {
    let cache = try open()
    try fill(cache)
    let editor = try cache.editor("c")
    try editor.set("E", at: 0)
    try FileManager.default.removeItem(at: place.url)
    // New segments cannot be made; no call does more than fail.
    _ = try? cache.snapshot(forKey: "a")
    let large = [entryBytes(50_000), entryBytes(50_000)]
    #expect(errorCode { try cache.setValues(large, forKey: "d") } != nil)
    #expect(try cache.remove(forKey: "a"))
    try? editor.commit()
    try? cache.set("c", "A", "B")
    _ = try? cache.texts("c")
    try? cache.update([0: Data()], forKey: "c")
    try? cache.checkpoint()
    try? cache.close()
    #expect(cache.isClosed)
    #expect(try place.directory.names == [])
    // And the folder is as good as new.
    let next = try open()
    #expect(try next.isEmpty)
    try fill(next)
    try expectOthers(next)
  }

  @Test func aFailureIsToldToItsOwnCallAndToNoOther() throws {
    let cache = try open()
    try fill(cache)
    // No segment can be made there.
    let log = place.url.appendingPathComponent("log")
    let away = place.url.appendingPathComponent("away")
    try FileManager.default.moveItem(at: log, to: away)
    let large = [entryBytes(50_000, seed: 7), entryBytes(50_000, seed: 8)]
    #expect(errorCode { try cache.setValues(large, forKey: "d") } == .replaced)
    try cache.set("e", "E", "F")
    #expect(try cache.texts("e") == ["E", "F"])
    #expect(try cache.snapshot(forKey: "d") == nil)
    try FileManager.default.moveItem(at: away, to: log)
    try cache.setValues(large, forKey: "d")
    try cache.checkpoint()
    #expect(try cache.snapshot(forKey: "d")?.values == large)
    try expectOthers(cache)
    #expect(try cache.verify().isIntact)
  }
}
