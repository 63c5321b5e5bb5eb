// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// What the page "File formats" says of entries and archives, held to what they write.
@Suite("The page on file formats: entries and archives") struct EntryFormatTests {
  private let directory: TemporaryDirectory
  private let folder: URL
  private let page = FileFormatPage()

  init() throws {
    directory = try TemporaryDirectory()
    folder = directory.file("folder")
  }

  /// The number in the newest meta record of a closed store.
  private func contentFormat() throws -> UInt64 {
    let tree = try Data(contentsOf: folder.appendingPathComponent("data.mdb"))
    var newest: (transaction: UInt64, format: UInt64)?
    var rest = 0..<tree.count
    while let place = tree.range(of: Data("LARDERST".utf8), in: rest)?.lowerBound {
      rest = place + 1..<tree.count
      let transaction = try number(tree, .meta, "transaction", at: place)
      if transaction >= newest?.transaction ?? 0 {
        newest = (transaction, try number(tree, .meta, "content_format", at: place))
      }
    }
    return try #require(newest).format
  }

  private func number(
    _ bytes: Data, _ section: FileFormatPage.Section, _ name: String, at base: Int = 0
  ) throws -> UInt64 {
    let field = try #require(page.fields[section]?[name])
    return little(bytes, base + field.offset, field.bytes)
  }

  private func little(_ bytes: Data, _ offset: Int, _ count: Int) -> UInt64 {
    bytes.dropFirst(offset).prefix(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The records as a cache has them that does not ask what they are.
  private func records() throws -> DiskCache<Data, Data> {
    let coder = Coder<Data>(format: "", encode: { $0 }, decode: { $0 })
    return try DiskCache(at: .path(folder.path), coder: coder, keyCoder: .data)
  }

  /// FNV-1a, of 32 bits.
  private func hash(_ text: String) -> UInt32 {
    text.utf8.reduce(0x811C_9DC5) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
  }

  @Test func anEntryIsItsValuesBehindEachOtherAndAHead() throws {
    let pages = try EntryCache<String>(at: .path(folder.path), valueCount: 3, version: 9)
    try pages.setValues([Data("one".utf8), Data(), Data("three".utf8)], forKey: "key")
    try pages.setValues([Data(count: 7), Data(count: 50_000), Data()], forKey: "long")
    try pages.close()
    #expect(try contentFormat() == 0x454C << 48 | 3 << 32 | 9)

    let cache = try records()
    let (value, found) = try #require(try cache.valueWithExtendedData(forKey: Data("key".utf8)))
    let head = try #require(found)
    #expect(value == Data("onethree".utf8))
    #expect(try number(head, .entryHead, "form") == 1)
    #expect(try number(head, .entryHead, "count") == 3)
    let start = try #require(page.fields[.entryHead]?["length"])
    #expect(head.count == start.offset + 3 * start.bytes)
    #expect((0..<3).map { little(head, start.offset + 8 * $0, 8) } == [3, 0, 5])
    for zero in try #require(page.zeros[.entryHead]) {
      #expect(little(head, zero.offset, zero.bytes) == 0)
    }
    let long = try #require(try cache.info(forKey: Data("long".utf8)))
    #expect(long.size == 50_007)
    try cache.close()
  }

  private struct Item: Codable, Identifiable, Sendable {
    var id: String
    var rank: Int
    var title: String?
  }

  @Test func anArchivesNumberStandsForItsCoderAndItsIndexes() throws {
    let items = try Archive<Item>(
      at: .path(folder.path),
      indexes: [ArchiveIndex("title", \.title), ArchiveIndex("rank", \.rank)])
    try items.upsert(Item(id: "a", rank: 7, title: "A"))
    try items.checkpoint()
    try items.close()
    let coder = UInt64((hash("cbor") >> 16 ^ hash("cbor")) & 0xFFFF)
    let declarations = "\"rank\" 0 .rank:Int\n\"title\" 0 .title:Optional<String>"
    let indexes = UInt64(hash(declarations) >> 8)
    #expect(try contentFormat() == 0x414C << 48 | coder << 32 | indexes << 8)

    // The rows of the indexes lie in the tree as the page says: 30, index, value, key.
    let tree = try Data(contentsOf: folder.appendingPathComponent("data.mdb"))
    let rank = hash("rank") >> 16 ^ hash("rank")
    let title = hash("title") >> 16 ^ hash("title")
    let rows: [(UInt32, [UInt8])] = [
      (rank, [0x80, 0, 0, 0, 0, 0, 0, 7]), (title, [1, UInt8(ascii: "A")]),
    ]
    for (index, value) in rows {
      let escaped = value.flatMap { $0 == 0 ? [0, 0xFF] : [$0] }
      let number = [UInt8(truncatingIfNeeded: index >> 8), UInt8(truncatingIfNeeded: index)]
      let row = Data([0x30] + number + escaped + [0, 1, UInt8(ascii: "a")])
      #expect(tree.range(of: row) != nil)
    }
    let cache = try records()
    let stored = try cache.value(forKey: Data("a".utf8))
    #expect(try stored.map { try Coder<Item>.cbor.decode($0).rank } == 7)
    try cache.close()
  }
}
