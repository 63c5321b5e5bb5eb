// SPDX-License-Identifier: MIT
import CLarder
import CLarderStore
import Foundation
import LarderTestSupport
import Testing

/// The bytes of a store, version 1. What these tests hold never changes: files outlive programs.
@Suite("Store: the file formats")
struct StoreFormatTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("store")
  }

  // MARK: - Written

  private func little<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { [UInt8]($0) }
  }

  /// A record as the documentation describes it.
  private func record(
    sequence: UInt64, flags: UInt8, written: Int64, times: [Int64], cost: UInt64?, key: [UInt8],
    extended: [UInt8], index: (UInt16, [UInt8])?, value: [UInt8]
  ) -> [UInt8] {
    let indexes = index.map { little($0.0) + little(UInt16($0.1.count)) + $0.1 } ?? []
    var tail = times.flatMap { little($0) } + (cost.map { little($0) } ?? [])
    tail += key + extended + indexes + value
    var head = little(sequence) + little(UInt32(0)) + [flags, index == nil ? 0 : 1]
    head += little(UInt16(0)) + little(written)
    head += little(UInt32(key.count)) + little(UInt32(extended.count))
    head += little(UInt32(indexes.count)) + little(UInt32(48 + tail.count))
    let body = head + tail
    return "LREC".bytes + little(larder_crc32c(0, body, body.count)) + body
  }

  @Test func anEntryIsTheSameRecordInTheJournalAndInTheTree() throws {
    let clock = StoreClock(1_700_000_000_000_000_000)
    let store = try Store(url, clock: clock)
    try store.put("key".bytes, "value".bytes, extended: "more".bytes, indexes: [(7, [1, 2])]) {
      $0.expires_ns = clock.now + 10
      $0.idle_ns = 20
      $0.cost = 30
    }
    try store.put("k".bytes, [])
    let full = record(
      sequence: 1, flags: 1 | 2 | 16, written: clock.now, times: [clock.now + 10, 20], cost: 30,
      key: "key".bytes, extended: "more".bytes, index: (7, [1, 2]), value: "value".bytes)
    let empty = record(
      sequence: 2, flags: 0, written: clock.now, times: [], cost: nil, key: "k".bytes,
      extended: [], index: nil, value: [])
    for (name, flushes) in [("journal", false), ("data.mdb", true)] {
      if flushes { try store.flush() }
      let bytes = try Data(contentsOf: url.appendingPathComponent(name))
      #expect(bytes.range(of: Data(full)) != nil, "\(name)")
      #expect(bytes.range(of: Data(empty)) != nil, "\(name)")
    }
  }

  @Test func aLongValueIsAReferenceToItsFile() throws {
    let clock = StoreClock(5)
    let store = try Store(url, clock: clock) { $0.inline_threshold_bytes = 3 }
    try store.put([1], "long".bytes)
    let value = "long".bytes
    let reference =
      little(UInt64(4)) + little(UInt64(0)) + little(UInt32(0))
      + little(larder_crc32c(0, value, value.count))
    let wanted = record(
      sequence: 2, flags: 4, written: 5, times: [], cost: nil, key: [1], extended: [], index: nil,
      value: reference)
    let journal = try Data(contentsOf: url.appendingPathComponent("journal"))
    #expect(journal.range(of: Data(wanted)) != nil)
    let file = url.appendingPathComponent("spill/00000000/0000000000000000")
    #expect(try [UInt8](Data(contentsOf: file)) == value)
  }

  @Test func whatAStoreKnowsOfItselfHasItsPlace() throws {
    let clock = StoreClock(77)
    let store = try Store(url, clock: clock) { $0.content_format = 0x0102_0304 }
    try store.put([1], [1, 2, 3])
    try store.flush()
    let data = try Data(contentsOf: url.appendingPathComponent("data.mdb"))
    let range = try #require(data.range(of: Data("LARDERST".utf8), options: .backwards))
    let meta = [UInt8](data[range.lowerBound..<range.lowerBound + 112])
    func integer<T: FixedWidthInteger>(_ offset: Int, _: T.Type) -> T {
      meta.withUnsafeBytes { T(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: T.self)) }
    }
    #expect(
      integer(8, UInt32.self)
        == Array(meta[12...]).withUnsafeBytes {
          larder_crc32c(0, $0.baseAddress!, $0.count)
        })
    #expect(integer(12, UInt32.self) == 1)  // Version.
    #expect(integer(24, UInt64.self) == 1)  // Applied.
    #expect(integer(32, UInt64.self) == 1 && integer(40, UInt64.self) == 3)
    #expect(integer(48, UInt64.self) == 0x0102_0304)
    #expect(integer(56, Int64.self) == 77)
    #expect(integer(84, UInt32.self) == 4096)
  }

  // MARK: - Read

  /// Two folders that version 1 made: one closed, one as a killed process leaves it.
  static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Torture/fixtures")

  @Test(arguments: ["store-1", "store-1-unclosed"])
  func aFolderOfVersion1IsRead(name: String) throws {
    try FileManager.default.copyItem(at: Self.fixtures.appendingPathComponent(name), to: url)
    for flags in [LARDER_STORE_READ_ONLY, LARDER_STORE_HOST_MAINTENANCE] {
      let store = try Store(url, clock: StoreClock(2000)) { $0.flags = UInt32(flags) }
      let apple = try #require(try store.get("apple".bytes))
      #expect(apple.value == "red".bytes && apple.extended == "a fruit".bytes)
      #expect(apple.written == 1000 && apple.expires == 9000 && apple.cost == 5)
      #expect(try store.get("gone".bytes) == nil)
      #expect(try store.get([])?.value == "under the empty key".bytes)
      let long = [UInt8](repeating: 0x6B, count: 700)
      #expect(try store.get(long)?.value == "under a long key".bytes)
      let spilled = try #require(try store.get("large".bytes))
      #expect(spilled.isSpilled && spilled.value == [UInt8](repeating: 0x4C, count: 5000))
      #expect(
        try store.keys {
          $0.order = LARDER_STORE_BY_INDEX; $0.index = 3
        }
          == ["pear".bytes, "apple".bytes])
      #expect(try store.totals.count == 5)
      #expect(store.isSound)
    }
  }
}
