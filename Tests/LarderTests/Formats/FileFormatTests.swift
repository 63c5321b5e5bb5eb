// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// The page "File formats" is normative: a reader that knows only the page reads what Larder wrote.
@Suite("The page on file formats") struct FileFormatTests {
  private let directory: TemporaryDirectory
  private let file: URL
  private let page = FileFormatPage()

  init() throws {
    directory = try TemporaryDirectory()
    file = directory.file("a.larder")
  }

  @Test func everyFieldOfAClosedFileIsWhereThePageSays() throws {
    do {
      let log = try MessageLog(
        at: .url(file), capacity: 4100, whenFull: .overwriteOldest, coder: .data)
      for number in 1...5 { try log.append(Data("message \(number)".utf8)) }
      try log.consumer(named: "reader").acknowledge(through: 2)
      try log.remove(through: 1)
      try log.close(durability: .power)
    }
    let log = try MessageLog(readingFrom: .url(file), coder: .data)
    let image = try RingImage(file, page: page)

    #expect(try image.bytes(.fixed, "magic") == Data("LARDRING".utf8))
    #expect(try image.number(.fixed, "version") == 2)
    #expect(try image.number(.fixed, "flags") == 1)
    #expect(try image.number(.fixed, "capacity_bytes") == 4100)
    #expect(image.bytes.count == 4100)
    #expect(try image.number(.fixed, "data_offset") == 320 + 64 * 8)
    #expect(try image.number(.fixed, "data_bytes") == (4100 - 832 - 64) / 8 * 8)
    #expect(try image.bytes(.fixed, "content_format") == Data("data\0\0\0\0".utf8))
    let created = Double(try image.number(.fixed, "created_ns")) / 1e9
    #expect(abs(created - (try log.statistics.created.timeIntervalSince1970)) < 1e-3)
    #expect(try image.number(.fixed, "crc") == CRC32C.of(image.bytes(0, 60)))
    #expect(image.bytes(4100 - 64, 64) == image.bytes(0, 64))

    let oldest = try image.number(.state, "oldest")
    #expect(oldest == 32)
    #expect(try image.number(.state, "oldest_copy") == oldest)
    #expect(try image.published() == (newest: 5, end: 5 * 32))
    #expect(try image.number(.state, "count") == 4)
    let synced = RingImage.Tag(try image.number(.floor, "synced"))
    #expect(synced.sequence == 5)
    #expect(synced.generation >= 1)
    #expect(RingImage.Tag(try image.number(.floor, "syncing")) == synced)
    #expect(try image.number(.state, "epoch") % 2 == 0)
    var state = image.bytes(64, 256)
    state.replaceSubrange(60..<64, with: Data(count: 4))
    #expect(try image.number(.state, "closed_crc") == CRC32C.of(state))
    #expect(try image.number(.floor, "bell_word") == 0)
    #expect(try image.number(.floor, "bell_epoch") == 0)

    #expect(try image.number(.opened, "removed") == 1)
    #expect(try image.number(.opened, "lost") == 0)
    #expect(try image.number(.opened, "writer_pid") == 0)
    let floor = try image.number(.floor, "next_floor")
    #expect(floor >= 6)
    #expect(try image.number(.floor, "next_complement") == ~floor)
    #expect(try image.number(.floor, "removed_through") == 1)
    #expect(try image.number(.floor, "removed_complement") == ~1)

    #expect(try image.bytes(.cursor, "name", at: 320) == Data("reader".utf8) + Data(count: 26))
    #expect(try image.number(.cursor, "name_length", at: 320) == 6)
    #expect(
      try image.number(.cursor, "name_crc", at: 320) == CRC32C.of(image.bytes(320, 36)))
    #expect(try image.number(.cursor, "acknowledged", at: 320) == 2)
    #expect(try image.number(.cursor, "complement", at: 320) == ~2)

    for section in [FileFormatPage.Section.fixed, .state, .opened, .floor, .session, .cursor] {
      for field in page.zeros[section] ?? [] {
        let place = field.offset + (section == .cursor ? 320 : 0)
        #expect(image.bytes(place, field.bytes) == Data(count: field.bytes), "\(place)")
      }
    }
  }

  @Test func aReaderWrittenFromThePageFindsEveryMessageOfAWrappedRing() throws {
    var generator = SeededGenerator(seed: 1)
    let log = try MessageLog(
      at: .url(file), capacity: 2048 + 896, whenFull: .overwriteOldest, coder: .data)
    for round in 0..<40 {
      for _ in 0..<Int.random(in: 0...40, using: &generator) {
        let length = Int.random(in: 0...200, using: &generator)
        try log.append(generator.bytes(length))
      }
      let entries = Array(log.entries)
      let found = try RingImage(file, page: page).records()
      let note = Comment("round \(round), seed \(generator.seed)")
      #expect(found.map(\.sequence) == entries.map(\.sequence), note)
      #expect(try found.map(\.payload) == entries.map { try $0.message }, note)
    }
    #expect(try log.statistics.wraps > 10)
  }

  @Test func aRecordNamesTheLastSyncThatWasCompletedBeforeIt() throws {
    var configuration = MessageLogConfiguration()
    configuration.syncInterval = nil
    let log = try MessageLog(
      at: .url(file), capacity: 4096, whenFull: .refuse, coder: .data,
      configuration: configuration)
    for _ in 1...3 {
      try log.append(Data())
      try log.sync()
    }
    try log.append(Data())
    let image = try RingImage(file, page: page)
    #expect(try image.records().map(\.tag.generation) == [0, 1, 2, 3])
    let synced = RingImage.Tag(try image.number(.floor, "synced"))
    #expect(synced.sequence == 3)
    #expect(synced.generation == 3)
  }

  @Test func aRecordBehindNumbersThatWereGivenUpSaysSo() throws {
    do {
      let log = try MessageLog(
        at: .url(file), capacity: 4096, whenFull: .refuse, coder: .data)
      for _ in 1...5 { try log.append(Data("payload!".utf8)) }
    }
    let image = try RingImage(file, page: page)
    var bytes = image.bytes
    // Somewhere in the payload of message 3.
    bytes[Int(try image.number(.fixed, "data_offset")) + 2 * 24 + 20] ^= 1
    try bytes.write(to: file)

    let rescued = directory.file("b.larder")
    let report = try MessageLog<Data>.salvage(from: .url(file), to: .url(rescued))
    #expect(report.lost == 1)
    let records = try RingImage(rescued, page: page).records()
    #expect(records.map(\.sequence) == [1, 2, 4, 5])
    #expect(records.map(\.tag.isAfterGap) == [false, false, true, false])
  }

  @Test func everyFieldOfTheCHeaderIsOnThePage() throws {
    let header = Documentation.page("Sources/CLarder/ring/layout.h")
    let structs: [(String, FileFormatPage.Section, base: Int)] = [
      ("ring_fixed", .fixed, 0), ("ring_state", .state, 64), ("ring_opened", .opened, 128),
      ("ring_floor", .floor, 192), ("ring_session", .session, 256),
      ("ring_cursor_slot", .cursor, 0), ("record_head", .record, 0),
    ]
    let without: Set = ["reserved", "zero", "published"]
    for (name, section, base) in structs {
      let onPage = page.fields[section] ?? [:]
      let inHeader = try Self.fields(of: name, in: header.text)
      #expect(inHeader.count >= 3, "\(name)")
      for (field, place) in inHeader where !without.contains(field) {
        let expected = FileFormatPage.Field(offset: base + place.offset, bytes: place.bytes)
        #expect(onPage[field] == expected, "\(name).\(field)")
      }
      for field in onPage.keys where !field.hasSuffix("_0") && !field.hasSuffix("_1") {
        #expect(inHeader[field] != nil, "\(name) has no \(field)")
      }
    }
  }

  /// The fields of a C struct whose members follow each other without padding.
  static func fields(
    of name: String, in header: String
  ) throws -> [String: FileFormatPage.Field] {
    let sizes = [
      "char": 1, "uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "uint64_t": 8, "int64_t": 8,
      "ring_publication": 16,
    ]
    let start = try #require(header.range(of: "typedef struct \(name) {\n"))
    let body = header[start.upperBound...].prefix { $0 != "}" }
    var fields: [String: FileFormatPage.Field] = [:]
    var offset = 0
    for line in body.split(separator: "\n") {
      let member = /\s+(?:_Atomic )?(\w+) (\w+)(?:\[(\d+)\])?;/
      guard let match = line.wholeMatch(of: member) else { continue }
      if match.1 == "ring_bell" {
        // Beside those of the others, its fields would be of any thing.
        for (field, place) in try Self.fields(of: "ring_bell", in: header) {
          fields["\(match.2)_\(field)"] = FileFormatPage.Field(
            offset: offset + place.offset, bytes: place.bytes)
        }
        offset += 8
        continue
      }
      let size = try #require(sizes[String(match.1)], "\(line)")
      let bytes = size * (match.3.flatMap { Int($0) } ?? 1)
      fields[String(match.2)] = FileFormatPage.Field(offset: offset, bytes: bytes)
      offset += bytes
    }
    return fields
  }
}
