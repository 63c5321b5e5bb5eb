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
    // Nothing is in the index until it is flushed here.
    configuration.checkpointInterval = .zero
    configuration.journalCapacity = 1 << 20
    return try DiskCache(at: .path(folder.path), coder: .data, configuration: configuration)
  }

  private func file(_ name: String) -> URL { folder.appendingPathComponent(name) }

  @Test func aReaderWrittenFromThePageFindsEveryWriteInTheLog() throws {
    let cache = try open()
    let long = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0) })
    try cache.set(Data("value".utf8), forKey: "key", extendedData: Data("more".utf8))
    try cache.set(Data(), forKey: "")
    try cache.set(long, forKey: "long")
    try cache.batch { batch in
      try batch.remove(forKey: "key")
      try batch.set(Data([7]), forKey: "last")
    }
    try cache.removeAll()

    var (records, number, name) = ([StoreRecord](), UInt64(1), "log/00000001.seg")
    while number > 0 {
      let segment = try StoreSegment(try Data(contentsOf: file(name)), page)
      #expect(try segment.number("number") == number && segment.number("kind") == 1)
      let found = try segment.records()
      records += found.filter { $0.kind != 4 }
      number = try found.last { $0.kind == 4 }?.number("minor") ?? 0
      name = "log/\(hexadecimal(number, 8)).seg"
    }
    #expect(records.map(\.kind) == [1, 1, 1, 2, 1, 3])
    #expect(try records.map { try $0.number("sequence") } == [1, 2, 3, 4, 4, 5])
    #expect(try records.map { try $0.number("minor") } == [0, 0, 0, 0, 1, 0])
    #expect(try records.map { try $0.number("flags") & 32 } == [0, 0, 0, 32, 0, 0])

    #expect(records[0].key == Data("key".utf8) && records[0].value == Data("value".utf8))
    #expect(records[0].extended == Data("more".utf8))
    let written = Double(try records[0].number("written_ns")) / 1e9
    #expect(abs(written - Date().timeIntervalSince1970) < 3600)
    #expect(records[1].key.isEmpty && records[1].value.isEmpty && records[1].extended.isEmpty)
    #expect(records[2].key == Data("long".utf8) && records[2].value == long)
    #expect(records[3].key == Data("key".utf8) && records[3].value.isEmpty)
    #expect(records[4].key == Data("last".utf8) && records[4].value == Data([7]))
    try cache.close()
  }

  @Test func metaRecordAndRowsLieInTheTreeAsThePageSays() throws {
    let cache = try open()
    for number in 0..<10 {
      // The last ones are too long to lie in the index too.
      try cache.set(Data(repeating: 9, count: 16 * number), forKey: "key \(number)")
    }
    try cache.checkpoint()
    let tree = try Data(contentsOf: file("data.mdb"))
    let metas = try places(of: "LARDERST", in: tree).map { try Meta(tree, at: $0, page) }
      .filter(\.isIntact)
    let newest = try #require(
      try metas.max { try $0.number("transaction") < $1.number("transaction") })
    #expect(try newest.number("version") == 3)
    #expect(try newest.number("count") == 10)
    #expect(try newest.number("bytes") == 16 * 45)
    #expect(try newest.number("applied") == 10)
    #expect(try newest.bytes("content_format") == Data("data\0\0\0\0".utf8))
    #expect(try newest.number("cleared") == 0 && newest.number("has_order") == 0)
    #expect(try newest.number("page_bytes") == 4096)

    let segment = try StoreSegment(try Data(contentsOf: file("log/00000001.seg")), page)
    #expect(try segment.number("store_id") == newest.number("store_id"))
    let records = try segment.records()
    #expect(try newest.number("end_segment") == 1)
    let last = try #require(records.last)
    let end = UInt64(last.offset + (last.bytes.count + 7) / 8 * 8)
    #expect(try newest.number("end_offset") == end)
    for (number, record) in records.enumerated() {
      // Behind the key of the tree is the row.
      let key = Data([0x10]) + record.key
      let rows = places(of: key, in: tree).map { Fields(tree, at: $0 + key.count, .row, page) }
      let row = try #require(try rows.first { try $0.number("sequence") == UInt64(number) + 1 })
      #expect(try row.number("segment") == 1)
      #expect(try row.number("offset") == UInt64(record.offset) / 8)
      #expect(try row.number("value_bytes") == UInt64(16 * number))
      #expect(try row.number("minor_and_flags") == record.number("flags"))
      #expect(row.rest.starts(with: record.bytes) == (16 * number <= 64), "\(number)")
    }
    try cache.close()
  }

  @Test func everyFieldOfTheStoresStructsIsOnThePage() throws {
    let structs: [(String, String, FileFormatPage.Section)] = [
      ("format/record.c", "record_head", .storeRecord), ("format/record.c", "row_head", .row),
      ("format/meta.h", "store_meta", .meta), ("log/segment.c", "segment_head", .segment),
    ]
    for (file, name, section) in structs {
      let text = Documentation.page("Sources/CLarderStore/\(file)").text
      // The one member that is not in the file: where the log goes on, once more.
      // The one that is a struct itself has two rows on the page.
      let inFile = text.replacing("    location end;\n", with: "").replacing(
        "    segment_epoch epoch;\n", with: "    uint32_t epoch;\n    uint32_t epoch_before;\n")
      let inCode = try FileFormatTests.fields(of: name, in: inFile)
      let named = inCode.filter { $0.key != "zero" && $0.key != "reserved" }
      #expect(named.count > 4, "\(name)")
      #expect(named == page.fields[section], "\(name)")
      let zeros = Set(inCode.filter { named[$0.key] == nil }.values)
      #expect(zeros == Set(page.zeros[section] ?? []), "\(name)")
    }
  }

  @Test(arguments: ["store-1", "store-1-unclosed"])
  func aStoreOfTheFirstVersionIsRefusedAndLeftAlone(name: String) throws {
    let fixture = Documentation.top.appendingPathComponent("Tests/Torture/fixtures/\(name)")
    try FileManager.default.copyItem(at: fixture, to: folder)
    for isReadOnly in [false, true] {
      var configuration = DiskCacheConfiguration<Data, Data>()
      configuration.isReadOnly = isReadOnly
      let coder = Coder<Data>(format: "", encode: { $0 }, decode: { $0 })
      let failure = error {
        try DiskCache(
          at: .path(folder.path), coder: coder, keyCoder: .data, configuration: configuration)
      }
      #expect(failure?.code == .incompatibleVersion)
      #expect(failure?.message.contains("Larder 0.1") == true, "\(failure?.message ?? "none")")
    }
    let target = directory.file("rescued").path
    let failure = error {
      try DiskCache<Data, Data>.salvage(from: .path(folder.path), to: .path(target))
    }
    #expect(failure?.code == .incompatibleVersion)
    for file in ["data.mdb", "journal", "spill/00000000/0000000000000000"] {
      #expect(
        FileManager.default.contentsEqual(
          atPath: fixture.appendingPathComponent(file).path, andPath: self.file(file).path))
    }
    #expect(!FileManager.default.fileExists(atPath: self.file("log").path))
  }

  private func places(of text: String, in bytes: Data) -> [Int] {
    places(of: Data(text.utf8), in: bytes)
  }

  private func places(of wanted: Data, in bytes: Data) -> [Int] {
    var places: [Int] = []
    var start = bytes.startIndex
    while let range = bytes.range(of: wanted, in: start..<bytes.endIndex) {
      places.append(range.lowerBound)
      start = range.upperBound
    }
    return places
  }
}

/// A segment of the log, taken apart.
private struct StoreSegment {
  private let bytes: Data
  private let head: Fields
  private let page: FileFormatPage

  init(_ bytes: Data, _ page: FileFormatPage) throws {
    let head = Fields(bytes, at: 0, .segment, page)
    guard try ["LARDSEG1", "LARDNEW1"].map({ Data($0.utf8) }).contains(head.bytes("magic")),
      try head.number("crc") == CRC32C.of(Data(bytes[12..<64])),
      try head.number("capacity") == UInt64(bytes.count)
    else { throw RingImage.Contradiction(text: "It is no segment.", position: 0) }
    self.bytes = bytes
    self.head = head
    self.page = page
  }

  func number(_ name: String) throws -> UInt64 { try head.number(name) }

  func records() throws -> [StoreRecord] {
    var records: [StoreRecord] = []
    var offset = 64
    while offset + 36 <= bytes.count {
      let length = Int(little(bytes, offset, 4))
      if length == 0 { break }
      records.append(try StoreRecord(Data(bytes[offset..<offset + length]), at: offset, page))
      offset += (length + 7) / 8 * 8
    }
    return records
  }
}

/// A record of a store, taken apart.
private struct StoreRecord {
  let bytes: Data
  /// In its segment.
  let offset: Int
  let kind: UInt64
  let key: Data
  let extended: Data
  let value: Data
  private let head: Fields

  init(_ bytes: Data, at offset: Int, _ page: FileFormatPage) throws {
    let head = Fields(bytes, at: 0, .storeRecord, page)
    guard try head.number("crc") == CRC32C.of(Data(bytes.dropFirst(8))) else {
      throw RingImage.Contradiction(text: "It is no record.", position: offset)
    }
    let flags = try head.number("flags")
    var (lengths, start) = ((0, 0), 36)
    if flags & 4 != 0 {
      lengths = (Int(little(bytes, 36, 4)), Int(little(bytes, 40, 4)))
      start += 8
    }
    // Each of three times and numbers is there if its bit says so.
    start += 8 * (flags & 0b10011).nonzeroBitCount
    func part(_ length: Int) -> Data {
      start += length
      return Data(bytes[start - length..<start])
    }
    key = part(Int(try head.number("key_bytes")))
    extended = part(lengths.0)
    _ = part(lengths.1)
    value = Data(bytes[start...])
    kind = try head.number("kind")
    self.bytes = bytes
    self.offset = offset
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
    guard place + 128 <= bytes.count else {
      isIntact = false
      return
    }
    isIntact = try fields.number("crc") == CRC32C.of(Data(bytes[place + 12..<place + 128]))
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

  /// What is behind them.
  var rest: Data {
    let ends = page.fields[section]?.values.map { $0.offset + $0.bytes } ?? []
    return data.dropFirst(place + (ends.max() ?? 0))
  }
}

private func little(_ data: Data, _ offset: Int, _ count: Int) -> UInt64 {
  data.dropFirst(offset).prefix(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
}

private func hexadecimal(_ value: UInt64, _ digits: Int) -> String {
  let text = String(value, radix: 16)
  return String(repeating: "0", count: digits - text.count) + text
}
