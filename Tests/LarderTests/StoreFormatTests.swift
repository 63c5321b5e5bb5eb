// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// What the page "File formats" says of the store, held to what a `DiskCache` writes.
@Suite("The page on file formats: the store") struct StoreFormatTests {
  private let directory: TemporaryDirectory
  private let folder: URL
  private let page = FileFormatPage()

  init() throws {
    directory = try TemporaryDirectory()
    folder = directory.file("cache")
  }

  private func open() throws -> DiskCache<String, Data> {
    var configuration = DiskCacheConfiguration<String, Data>()
    configuration.inlineThreshold = 1000
    // Everything stays in the journal until it is flushed here.
    configuration.flushInterval = .zero
    configuration.journalCapacity = 1 << 20
    return try DiskCache(path: folder.path, coder: .data, configuration: configuration)
  }

  private func file(_ name: String) -> URL { folder.appendingPathComponent(name) }

  @Test func aReaderWrittenFromThePageFindsEveryWriteInTheJournal() throws {
    let cache = try open()
    let long = Data((0..<5000).map { UInt8(truncatingIfNeeded: $0) })
    try cache.set(Data("value".utf8), forKey: "key", extendedData: Data("more".utf8))
    try cache.set(Data(), forKey: "")
    try cache.set(long, forKey: "long")
    try cache.remove(forKey: "key")

    let journal = try RingImage(file("journal"), page: page)
    let format = try journal.number(.fixed, "content_format")
    #expect(format >> 48 == 0x4A4C)
    let base = format & 0xFFFF_FFFF_FFFF
    let messages = try journal.records().map { try Message($0, page) }
    #expect(Set(messages.map(\.storeID)).count == 1)
    #expect(messages.map(\.kind) == [1, 1, 3, 1, 1])

    let first = try #require(try messages[0].ops.first)
    let record = try StoreRecord(first.bytes, page)
    #expect(try record.number("record_bytes") == UInt64(first.bytes.count))
    #expect(first.kind == 1)
    #expect(record.key == Data("key".utf8))
    #expect(record.extended == Data("more".utf8))
    #expect(record.rest == Data("value".utf8))
    #expect(try record.number("sequence") == base + messages[0].number)
    #expect(try record.number("flags") & 4 == 0)
    let written = Double(try record.number("written_ns")) / 1e9
    #expect(abs(written - Date().timeIntervalSince1970) < 3600)

    let empty = try StoreRecord(try #require(try messages[1].ops.first).bytes, page)
    #expect(empty.key.isEmpty && empty.rest.isEmpty)

    let spilled = try StoreRecord(try #require(try messages[3].ops.first).bytes, page)
    #expect(try spilled.number("flags") & 4 == 4)
    let reference = spilled.rest
    #expect(reference.count == 24)
    #expect(little(reference, 0, 8) == 5000)
    #expect(little(reference, 20, 4) == CRC32C.of(long))
    let number = little(reference, 8, 8)
    let epoch = little(reference, 16, 4)
    #expect(little(messages[2].rest, 0, 8) == number)
    #expect(little(messages[2].rest, 8, 4) == epoch)
    let name = "spill/\(hexadecimal(epoch, 8))/\(hexadecimal(number, 16))"
    #expect(try Data(contentsOf: file(name)) == long)

    let removal = try #require(try messages[4].ops.first)
    #expect(removal.kind == 2 && removal.bytes == Data("key".utf8))
    try cache.close()
  }

  @Test func metaRecordAndEntriesLieInTheTreeAsThePageSays() throws {
    let cache = try open()
    for number in 0..<10 { try cache.set(Data(count: number), forKey: "key \(number)") }
    try cache.flush()
    let tree = try Data(contentsOf: file("data.mdb"))
    let journal = try RingImage(file("journal"), page: page)
    let base = try journal.number(.fixed, "content_format") & 0xFFFF_FFFF_FFFF

    let metas = try places(of: "LARDERST", in: tree).map { try Meta(tree, at: $0, page) }
      .filter(\.isIntact)
    let newest = try #require(
      try metas.max { try $0.number("transaction") < $1.number("transaction") })
    #expect(try newest.number("version") == 1)
    #expect(try newest.number("count") == 10)
    #expect(try newest.number("bytes") == 45)
    #expect(try newest.number("applied") == base + 10)
    #expect(try newest.bytes("content_format") == Data("data\0\0\0\0".utf8))
    #expect(try newest.number("spill_epoch") == 0)
    #expect(try newest.number("page_bytes") == 4096)

    var found: Set<Data> = []
    for place in places(of: "LREC", in: tree) {
      // A record's own key says how far in front of it LMDB's key begins.
      let head = Fields(tree, at: place, .storeRecord, page)
      let length = Int(try head.number("key_bytes"))
      let key = tree[place + 48..<place + 48 + length]
      let inFront = Data(tree[place - length - 1..<place])
      #expect(inFront == Data([0x10]) + key)
      found.insert(Data(key))
    }
    #expect(found == Set((0..<10).map { Data("key \($0)".utf8) }))
    try cache.close()
  }

  @Test func everyFieldOfTheStoresStructsIsOnThePage() throws {
    let structs: [(String, String, FileFormatPage.Section)] = [
      ("record.c", "record_head", .storeRecord), ("meta.c", "meta_layout", .meta),
    ]
    for (file, name, section) in structs {
      let text = Documentation.page("Sources/CLarderStore/\(file)").text
      let inCode = try FileFormatTests.fields(of: name, in: text)
      #expect(inCode.count > 10, "\(name)")
      #expect(inCode == page.fields[section], "\(name)")
    }
    #expect(page.fields[.message]?.count == 3)
  }

  private func places(of text: String, in bytes: Data) -> [Int] {
    let wanted = Data(text.utf8)
    var places: [Int] = []
    var start = bytes.startIndex
    while let range = bytes.range(of: wanted, in: start..<bytes.endIndex) {
      places.append(range.lowerBound)
      start = range.upperBound
    }
    return places
  }
}

/// One message of a journal.
private struct Message {
  struct Op {
    let kind: UInt8
    let bytes: Data
  }

  let number: UInt64
  let kind: UInt64
  let storeID: UInt64
  /// What is behind the head.
  let rest: Data
  private let count: UInt64

  init(_ record: RingImage.Record, _ page: FileFormatPage) throws {
    let head = Fields(record.payload, at: 0, .message, page)
    number = record.sequence
    kind = try head.number("kind")
    count = try head.number("count")
    storeID = try head.number("store_id")
    rest = Data(record.payload.dropFirst(16))
  }

  var ops: [Op] {
    get throws {
      var ops: [Op] = []
      var offset = 0
      while offset < rest.count {
        let length = Int(little(rest, offset, 4))
        ops.append(
          Op(kind: rest[offset + 4], bytes: Data(rest[offset + 8..<offset + 8 + length])))
        offset += 8 + (length + 7) / 8 * 8
      }
      guard ops.count == count else {
        throw RingImage.Contradiction(text: "It says \(count) ops.", position: 0)
      }
      return ops
    }
  }
}

/// A record of a store, taken apart.
private struct StoreRecord {
  let key: Data
  let extended: Data
  /// The value, or the reference to its file.
  let rest: Data
  private let head: Fields

  init(_ bytes: Data, _ page: FileFormatPage) throws {
    let head = Fields(bytes, at: 0, .storeRecord, page)
    guard try head.bytes("magic") == Data("LREC".utf8),
      try head.number("crc") == CRC32C.of(Data(bytes.dropFirst(8)))
    else { throw RingImage.Contradiction(text: "It is no record.", position: 0) }
    let flags = try head.number("flags")
    // Each of three times and numbers is there if its bit says so.
    var start = 48 + 8 * (flags & 0b10011).nonzeroBitCount
    func part(_ name: String) throws -> Data {
      let length = Int(try head.number(name))
      start += length
      return Data(bytes[start - length..<start])
    }
    key = try part("key_bytes")
    extended = try part("extended_bytes")
    _ = try part("indexes_bytes")
    rest = Data(bytes[start...])
    self.head = head
  }

  func number(_ name: String) throws -> UInt64 { try head.number(name) }
}

/// The meta record.
private struct Meta {
  private let fields: Fields
  let isIntact: Bool

  init(_ bytes: Data, at place: Int, _ page: FileFormatPage) throws {
    fields = Fields(bytes, at: place, .meta, page)
    guard place + 112 <= bytes.count else {
      isIntact = false
      return
    }
    isIntact = try fields.number("crc") == CRC32C.of(Data(bytes[place + 12..<place + 112]))
  }

  func number(_ name: String) throws -> UInt64 { try fields.number(name) }
  func bytes(_ name: String) throws -> Data { try fields.bytes(name) }
}

/// The fields that one of the page's tables names, in bytes.
private struct Fields {
  private let data: Data
  private let place: Int
  private let section: FileFormatPage.Section
  private let page: FileFormatPage

  init(_ data: Data, at place: Int, _ section: FileFormatPage.Section, _ page: FileFormatPage) {
    self.data = data
    self.place = place
    self.section = section
    self.page = page
  }

  func bytes(_ name: String) throws -> Data {
    guard let field = page.fields[section]?[name] else {
      throw RingImage.Contradiction(text: "There is no \(name).", position: 0)
    }
    let start = place + field.offset
    guard start + field.bytes <= data.count else {
      throw RingImage.Contradiction(text: "It ends before \(name).", position: start)
    }
    return Data(data[start..<start + field.bytes])
  }

  func number(_ name: String) throws -> UInt64 {
    try bytes(name).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}

private func little(_ data: Data, _ offset: Int, _ count: Int) -> UInt64 {
  data.dropFirst(offset).prefix(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
}

private func hexadecimal(_ value: UInt64, _ digits: Int) -> String {
  let text = String(value, radix: 16)
  return String(repeating: "0", count: digits - text.count) + text
}
