// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Files that others changed or deleted cost the entries that they hit, and no others.
/// After SwiftyCache's testFileDeletedExternally, testRemoveHandlesMissingFile,
/// testAggressiveClearingHandlesReadWriteRemoveKeyAndClose,
/// testUsingNSOutputStreamAfterFileDeleted, testJournalLines and
/// testOpenWithTruncatedLineWillNotDiscardThatLine (there one bad line wiped everything, and
/// a torn one was believed); DiskLruCache's aggressiveClearingHandlesWrite, Edit,
/// PartialEdit and Read, openWithTruncatedLineDiscardsThatLine.
struct EntryDamageTests {
  private let place: EntryPlace

  init() throws { place = try EntryPlace() }

  private func open() throws -> EntryCache<String> { try place.open { $0.inlineThreshold = 10 } }

  /// Three entries, of which "a" and "b" have files.
  private func fill(_ cache: EntryCache<String>) throws {
    try cache.setValues([entryBytes(500), entryBytes(500, seed: 2)], forKey: "a")
    try cache.setValues([entryBytes(500, seed: 3), entryBytes(500, seed: 4)], forKey: "b")
    try cache.set("c", "C", "D")
    try cache.flush()
  }

  private func file(of key: UInt64) throws -> URL {
    let bytes = entryBytes(500, seed: key) + entryBytes(500, seed: key + 1)
    return try #require(try place.spilledFiles.first { try Data(contentsOf: $0) == bytes })
  }

  private func edit(_ file: URL, _ change: (inout Data) -> Void) throws {
    var bytes = try Data(contentsOf: file)
    change(&bytes)
    let handle = try FileHandle(forWritingTo: file)
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: bytes)
    try handle.close()
  }

  private func expectOthers(_ cache: EntryCache<String>) throws {
    #expect(try cache.snapshot(forKey: "b")?.data(at: 1) == entryBytes(500, seed: 4))
    #expect(try cache.texts("c") == ["C", "D"])
  }

  @Test(arguments: [nil, 0, 1, 500, 999])
  func aFileThatIsGoneOrCutIsAMissOfItsEntry(left: Int?) throws {
    let cache = try open()
    try fill(cache)
    let file = try file(of: 1)
    if let left {
      try edit(file) { $0 = $0.prefix(left) }
    } else {
      try FileManager.default.removeItem(at: file)
    }
    #expect(try cache.snapshot(forKey: "a") == nil)
    #expect(try cache.snapshot(forKey: "a", values: [0]) == nil)
    #expect(try cache.statistics.damaged >= 2)
    #expect(try !cache.verify().isIntact)
    try expectOthers(cache)
    // It can be removed, and stored again.
    #expect(try cache.remove(forKey: "a"))
    #expect(try !cache.remove(forKey: "a"))
    #expect(try cache.verify().isIntact)
    try cache.set("a", "A", "B")
    #expect(try cache.texts("a") == ["A", "B"])
  }

  @Test(arguments: [0, 1, 499, 500, 999])
  func aByteThatFlippedIsAMissOfItsEntry(offset: Int) throws {
    let cache = try open()
    try fill(cache)
    try edit(try file(of: 1)) { $0[offset] ^= 1 }
    #expect(try cache.snapshot(forKey: "a") == nil)
    try expectOthers(cache)
  }

  @Test func whatIsMissingOfADamagedEntryIsNotMadeUp() throws {
    let cache = try open()
    try fill(cache)
    try FileManager.default.removeItem(at: try file(of: 1))
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
    let data = place.url.appendingPathComponent("data.mdb")
    let whole = try Data(contentsOf: data)
    for _ in 0..<60 {
      let offset = Int.random(in: 0..<whole.count, using: &generator)
      try edit(data) { $0[offset] ^= UInt8.random(in: 1 ... .max, using: &generator) }
      // Refusing to open is fine; another entry's values are not.
      if let cache = try? open() {
        for key in keys {
          guard let texts = try cache.texts(key) else { continue }
          #expect(texts == [key, "x"], "seed \(generator.seed), offset \(offset)")
        }
        try? cache.close()
      }
      try edit(data) { $0 = whole }
    }
    let cache = try open()
    for key in keys { #expect(try cache.texts(key) == [key, "x"]) }
  }

  @Test func aTornJournalCostsItsEndAndNothingBefore() throws {
    let cache = try open()
    try fill(cache)
    try cache.set("whole", "A", "B")
    try cache.set("d", "EFGHI", "JKLM")
    let copy = try place.afterKill()
    let journal = URL(fileURLWithPath: copy).appendingPathComponent("journal")
    try edit(journal) { bytes in
      if let found = bytes.range(of: Data("EFGHIJKLM".utf8)) { bytes[found.lowerBound] ^= 1 }
    }
    let other = try place.open(at: copy) { $0.inlineThreshold = 10 }
    #expect(try other.texts("d") == nil)
    #expect(try other.texts("whole") == ["A", "B"])
    try expectOthers(other)
    #expect(try other.snapshot(forKey: "a")?.data(at: 0) == entryBytes(500))
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
      let cache = try DiskCache<String, Data>(path: place.path, coder: any)
      for (number, head) in heads.enumerated() {
        try cache.set(Data("ABC".utf8), forKey: "foreign \(number)", extendedData: head)
      }
    }
    let cache = try place.open()
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
    // What lay in a file is gone, and new files cannot be made; no call does more than fail.
    #expect(try cache.snapshot(forKey: "a") == nil)
    let large = [entryBytes(500), entryBytes(500)]
    #expect(errorCode { try cache.setValues(large, forKey: "d") } != nil)
    #expect(try cache.remove(forKey: "a"))
    try? editor.commit()
    try? cache.set("c", "A", "B")
    _ = try? cache.texts("c")
    try? cache.update([0: Data()], forKey: "c")
    try? cache.flush()
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
    let spill = place.url.appendingPathComponent("spill")
    let moved = place.url.appendingPathComponent("moved")
    try FileManager.default.moveItem(at: spill, to: moved)
    let large = [entryBytes(500, seed: 7), entryBytes(500, seed: 8)]
    try Data().write(to: spill)
    #expect(errorCode { try cache.setValues(large, forKey: "d") } == .io)
    try cache.set("e", "E", "F")
    #expect(try cache.texts("e") == ["E", "F"])
    #expect(try cache.snapshot(forKey: "d") == nil)
    try FileManager.default.removeItem(at: spill)
    try FileManager.default.moveItem(at: moved, to: spill)
    try cache.setValues(large, forKey: "d")
    try cache.flush()
    #expect(try cache.snapshot(forKey: "d")?.values == large)
    try expectOthers(cache)
    #expect(try cache.verify().isIntact)
  }
}
