// SPDX-License-Identifier: MIT
import CLarder
import CLarderStore
import Foundation
import LarderTestSupport
import Testing

/// What a damaged journal costs, and what an exchanged file is told by.
@Suite("Store: damage")
struct StoreDamageTests {
  let directory: TemporaryDirectory
  let url: URL
  let copy: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("store")
    copy = directory.file("copy")
  }

  /// Flips a bit of the first place in the file that holds the bytes.
  private func damage(_ name: String, at bytes: [UInt8]) throws {
    let file = copy.appendingPathComponent(name)
    var data = try Data(contentsOf: file)
    let range = try #require(data.range(of: Data(bytes)))
    data[range.lowerBound] ^= 1
    try data.write(to: file)
  }

  @Test(arguments: [0, 1, 2])
  func aDamagedMessageOfTheJournalCostsItAndWhatFollows(intact: Int) throws {
    let store = try Store(url)
    try store.put([1], [1])
    try store.flush()
    for number in 0..<intact { try store.put([2, UInt8(number)], [2]) }
    try store.put([3], "to be damaged".bytes)
    try FileManager.default.copyItem(at: url, to: copy)
    try damage("journal", at: "to be damaged".bytes)
    let opened = try Store(copy)
    #expect(try opened.get([1])?.value == [1])
    #expect(try opened.get([3]) == nil)
    #expect(try opened.totals.count == UInt64(intact + 1))
    var report = larder_store_report()
    try check(larder_store_recovery(opened.pointer, &report))
    #expect(report.journal_lost > 0)
    #expect(opened.isSound)
    try opened.put([3], [3])
    opened.close()
    #expect(try Store(copy).get([3])?.value == [3])
  }

  @Test func anOlderTreeBesideANewerJournalIsRefused() throws {
    let store = try Store(url)
    try store.put([1], [1])
    try store.flush()
    try FileManager.default.copyItem(at: url, to: copy)
    try store.put([2], [2])
    try store.flush()
    store.close()
    let data = url.appendingPathComponent("data.mdb")
    try FileManager.default.removeItem(at: data)
    try FileManager.default.copyItem(at: copy.appendingPathComponent("data.mdb"), to: data)
    #expect(status { try Store(url) } == Int(LARDER_EDAMAGED))
  }

  @Test func aTreeWithoutItsHeadsIsDamagedAndNotForeign() throws {
    let store = try Store(url)
    try store.put([1], [1])
    try store.flush()
    store.close()
    let file = url.appendingPathComponent("data.mdb")
    var data = try Data(contentsOf: file)
    data.resetBytes(in: 0..<8192)
    try data.write(to: file)
    #expect(status { try Store(url) } == Int(LARDER_EDAMAGED))
    var report = larder_store_report()
    try check(larder_store_salvage(url.path, copy.path, nil, nil, nil, &report))
    #expect(try Store(copy).get([1])?.value == [1])
  }

  /// The damaged record says that it is newer than anything.
  @Test func aDamagedNumberDoesNotOutdateWhatTheJournalHas() throws {
    let store = try Store(url)
    try store.put([1], "first".bytes)
    try store.flush()
    try store.put([1], "second".bytes)
    try FileManager.default.copyItem(at: url, to: copy)
    let file = copy.appendingPathComponent("data.mdb")
    var data = try Data(contentsOf: file)
    let value = try #require(data.range(of: Data("first".utf8)))
    let record = try #require(
      data.range(of: Data("LREC".utf8), options: .backwards, in: 0..<value.lowerBound))
    data[record.lowerBound + 15] ^= 1
    try data.write(to: file)
    let salvaged = directory.file("salvaged")
    var report = larder_store_report()
    try check(larder_store_salvage(copy.path, salvaged.path, nil, nil, nil, &report))
    #expect(try Store(salvaged).get([1])?.value == "second".bytes)
  }

  /// The older head is sound, and calls pages free that the newest transaction wrote to: nothing in
  /// its place tells that there was one, only a page elsewhere.
  @Test(arguments: [0, 1])
  func salvageDoesNotTakeAnOlderHeadForTheNewest(head: Int) throws {
    let store = try Store(url)
    for round in 0..<9 {
      for key in 0..<200 { try store.put([UInt8(key)], Self.value(key, round)) }
      try store.flush()
    }
    store.close()
    let file = url.appendingPathComponent("data.mdb")
    var data = try Data(contentsOf: file)
    var newest = (page: 0, transaction: UInt64(0))
    for page in 2..<data.count / 4096 {
      let bytes = data[page * 4096..<(page + 1) * 4096]
      guard let meta = bytes.range(of: Data("LARDERST".utf8))?.lowerBound else { continue }
      let transaction = bytes[meta + 16..<meta + 24]
      let number = transaction.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      if number > newest.transaction { newest = (page, number) }
    }
    let moved = data[newest.page * 4096..<(newest.page + 1) * 4096]
    let other = data[head * 4096..<(head + 1) * 4096]
    data.replaceSubrange(newest.page * 4096..<(newest.page + 1) * 4096, with: other)
    data.replaceSubrange(head * 4096..<(head + 1) * 4096, with: moved)
    try data.write(to: file)

    var report = larder_store_report()
    try check(larder_store_salvage(url.path, copy.path, nil, nil, nil, &report))
    let salvaged = try Store(copy)
    for key in 0..<200 where moved.range(of: Data(Self.value(key, 8))) == nil {
      #expect(try salvaged.get([UInt8(key)])?.value == Self.value(key, 8), "key \(key)")
    }
  }

  private static func value(_ key: Int, _ round: Int) -> [UInt8] {
    Array("value of \(key) in round \(round), which is a little longer than some others".utf8)
  }
}
