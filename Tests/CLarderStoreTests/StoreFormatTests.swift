// SPDX-License-Identifier: MIT
import CLarder
import CLarderStore
import Foundation
import LarderTestSupport
import Testing

/// The bytes of a store, version 3. What these tests hold never changes: files outlive programs.
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
    sequence: UInt64, minor: UInt32 = 0, kind: UInt8 = 1, flags: UInt8 = 0, written: Int64 = 0,
    times: [Int64] = [], cost: UInt64? = nil, refresh: Int64? = nil, key: [UInt8] = [],
    extended: [UInt8] = [],
    index: (UInt16, [UInt8])? = nil, value: [UInt8] = []
  ) -> [UInt8] {
    let indexes = index.map { little($0.0) + little(UInt16($0.1.count)) + $0.1 } ?? []
    var tail: [UInt8] = []
    if !extended.isEmpty || index != nil {
      tail += little(UInt32(extended.count)) + little(UInt32(indexes.count))
    }
    tail += times.flatMap { little($0) } + (cost.map { little($0) } ?? [])
    tail += refresh.map { little($0) } ?? []
    tail += key + extended + indexes + value
    var body = little(sequence) + little(minor) + [kind, flags, index == nil ? 0 : 1, 0]
    body += little(written) + little(UInt32(key.count)) + tail
    return little(UInt32(8 + body.count)) + little(larder_crc32c(0, body, body.count)) + body
  }

  private func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: (8 - bytes.count % 8) % 8)
  }

  private func integer<T: FixedWidthInteger>(_ bytes: [UInt8], _ offset: Int, _: T.Type) -> T {
    bytes.withUnsafeBytes { T(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: T.self)) }
  }

  @Test func anEntryIsTheSameRecordInTheLogAndInTheTree() throws {
    let clock = StoreClock(1_700_000_000_000_000_000)
    let store = try Store(url, clock: clock)
    try store.put("key".bytes, "value".bytes, extended: "more".bytes, indexes: [(7, [1, 2])]) {
      $0.expires_ns = clock.now + 10
      $0.idle_ns = 20
      $0.cost = 30
      $0.refresh_ns = clock.now + 5
      $0.flags = UInt32(LARDER_STORE_OWN_TIMES)
    }
    try store.put("k".bytes, [])
    let full = record(
      sequence: 1, flags: 1 | 2 | 4 | 8 | 16 | 128, written: clock.now,
      times: [clock.now + 10, 20],
      cost: 30, refresh: clock.now + 5, key: "key".bytes, extended: "more".bytes,
      index: (7, [1, 2]), value: "value".bytes)
    let empty = record(sequence: 2, written: clock.now, key: "k".bytes)
    let segment = try Data(contentsOf: #require(try StoreLog(url).segments.first))
    #expect(segment[64...].starts(with: padded(full) + padded(empty) + little(UInt64(0))))
    try store.flush()
    let data = try Data(contentsOf: url.appendingPathComponent("data.mdb"))
    for (bytes, sequence, offset, length, flags) in [
      (full, UInt64(1), 64, 5, UInt32(0xDF)),
      (empty, 2, 64 + padded(full).count, 0, 0),
    ] {
      let row =
        little(sequence) + little(UInt32(1)) + little(UInt32(offset / 8))
        + little(UInt32(length)) + little(flags)
      #expect(data.range(of: Data(row + bytes)) != nil)
    }
  }

  @Test func aLongValueIsInTheLogAlone() throws {
    let store = try Store(url, clock: StoreClock(5)) { $0.inline_threshold_bytes = 3 }
    try store.put([1], "long".bytes)
    try store.flush()
    let wanted = record(sequence: 1, written: 5, key: [1], value: "long".bytes)
    #expect(try StoreLog(url).segments(with: Data(wanted)).count == 1)
    let data = try Data(contentsOf: url.appendingPathComponent("data.mdb"))
    #expect(data.range(of: Data("long".utf8)) == nil)
    let row = little(UInt64(1)) + little(UInt32(1)) + little(UInt32(8)) + little(UInt32(4))
    #expect(data.range(of: Data(row + little(UInt32(0)))) != nil)
  }

  /// All records of a batch have one number, and all but the last say that more follow.
  @Test func batchesRemovalsAndTheEndOfASegmentAreRecords() throws {
    let store = try Store(url, clock: StoreClock(5), tuning: small())
    try store.commit { batch in
      try put([1], [2], in: batch)
      try withBytes([3]) { try check(larder_store_batch_remove(batch, $0)) }
    }
    try store.remove([4])
    try check(larder_store_remove_all(store.pointer, nil, nil))
    let written =
      padded(record(sequence: 1, flags: 32, written: 5, key: [1], value: [2]))
      + padded(record(sequence: 1, minor: 1, kind: 2, key: [3]))
      + padded(record(sequence: 2, kind: 2, key: [4])) + padded(record(sequence: 3, kind: 3))
    try store.put([5], [UInt8](repeating: 6, count: 4096))
    let segments = try StoreLog(url).segments
    #expect(segments.map(\.lastPathComponent) == ["00000001.seg", "00000002.seg"])
    let end = padded(record(sequence: 3, minor: 2, kind: 4)) + little(UInt64(0))
    let first = try Data(contentsOf: segments[0])
    #expect(first[64...].starts(with: written + end))
    let second = try Data(contentsOf: segments[1])
    let value = [UInt8](repeating: 6, count: 4096)
    #expect(
      second[64...].starts(with: record(sequence: 4, written: 5, key: [5], value: value)))
  }

  @Test func aSegmentBeginsWithWhatItIs() throws {
    let store = try Store(url, tuning: small(8192))
    for key in UInt8(0)..<3 { try store.put([key], [UInt8](repeating: key, count: 5000)) }
    let first = try StoreLog(url).segments[0]
    #expect(try Data(contentsOf: first).starts(with: "LARDNEW1".bytes))
    try check(larder_store_sync(store.pointer))
    let data = try Data(contentsOf: url.appendingPathComponent("data.mdb"))
    let meta = try #require(data.range(of: Data("LARDERST".utf8), options: .backwards))
    for (place, segment) in try StoreLog(url).segments.enumerated() {
      let bytes = try [UInt8](Data(contentsOf: segment))
      #expect(bytes.count == 8192)
      let head = [UInt8](bytes[..<64])
      #expect(head.starts(with: (place < 3 ? "LARDSEG1" : "LARDNEW1").bytes))
      #expect(integer(head, 8, UInt32.self) == larder_crc32c(0, Array(head[12...]), 52))
      #expect(integer(head, 12, UInt32.self) == UInt32(place + 1))
      #expect(Array(head[16..<24]) == Array(data[meta.lowerBound + 104..<meta.lowerBound + 112]))
      #expect(integer(head, 24, UInt32.self) == 1 && integer(head, 28, UInt32.self) == 0)
      #expect(integer(head, 32, UInt64.self) == 8192)
      #expect(integer(head, 40, UInt64.self) == UInt64(place + 1))
      #expect(integer(head, 48, UInt64.self) == 0 && integer(head, 56, UInt64.self) == 0)
    }
  }

  @Test func whatAStoreKnowsOfItselfHasItsPlace() throws {
    let clock = StoreClock(77)
    let store = try Store(url, clock: clock) {
      $0.content_format = 0x0102_0304
      $0.flags |= UInt32(LARDER_STORE_TRACK_ACCESS)
    }
    try store.put([1], [1, 2, 3])
    try store.flush()
    let data = try Data(contentsOf: url.appendingPathComponent("data.mdb"))
    let range = try #require(data.range(of: Data("LARDERST".utf8), options: .backwards))
    let meta = [UInt8](data[range.lowerBound..<range.lowerBound + 128])
    #expect(integer(meta, 8, UInt32.self) == larder_crc32c(0, Array(meta[12...]), 116))
    #expect(integer(meta, 12, UInt32.self) == 3)  // Version.
    #expect(integer(meta, 24, UInt64.self) == 1)  // Applied.
    #expect(integer(meta, 32, UInt64.self) == 1 && integer(meta, 40, UInt64.self) == 3)
    #expect(integer(meta, 48, UInt64.self) == 0x0102_0304)
    #expect(integer(meta, 56, Int64.self) == 77)
    #expect(integer(meta, 64, Int64.self) == Int64.max)
    #expect(integer(meta, 72, UInt64.self) == 0)  // Cleared.
    // Where the log goes on: behind a record of 36 + 1 + 3 bytes.
    #expect(integer(meta, 80, UInt32.self) == 1 && integer(meta, 112, UInt64.self) == 64 + 40)
    #expect(integer(meta, 84, UInt32.self) == 4096)
    #expect(integer(meta, 120, UInt32.self) == 2)
    #expect(integer(meta, 124, UInt32.self) == 1)
  }

  // MARK: - Read

  /// Two folders of each version: one closed, one as a killed process leaves it.
  static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Torture/fixtures")

  @Test(arguments: ["store-2", "store-2-unclosed"])
  func aFolderOfThisVersionIsRead(name: String) throws {
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
      let large = try #require(try store.get("large".bytes))
      #expect(large.isInLog && large.value == [UInt8](repeating: 0x4C, count: 5000))
      #expect(
        try store.keys {
          $0.order = LARDER_STORE_BY_INDEX
          $0.index = 3
        } == ["pear".bytes, "apple".bytes])
      #expect(try store.totals.count == 5)
      #expect(store.isSound)
    }
    let salvaged = directory.file("salvaged")
    #expect(try salvage(url, to: salvaged).intact == 5)
  }

  /// Beyond the segments of the first checkpoint there are some of cleaning, and the log goes on.
  @Test(arguments: ["store-2", "store-2-unclosed"])
  func theFixturesHoldSegmentsOfBothKinds(name: String) throws {
    let kinds = try StoreLog(Self.fixtures.appendingPathComponent(name)).segments.map {
      integer(try [UInt8](Data(contentsOf: $0)), 24, UInt32.self)
    }
    #expect(Set(kinds) == [1, 2])
  }

  @Test(arguments: ["store-1", "store-1-unclosed"])
  func aFolderOfVersion1IsRefusedAndLeftAlone(name: String) throws {
    try FileManager.default.copyItem(at: Self.fixtures.appendingPathComponent(name), to: url)
    let data = url.appendingPathComponent("data.mdb")
    let before = try Data(contentsOf: data)
    let folder = try FileManager.default.subpathsOfDirectory(atPath: url.path)
    for flags in [LARDER_STORE_READ_ONLY, LARDER_STORE_EXISTING, LARDER_STORE_HOST_MAINTENANCE] {
      var detail = larder_store_detail()
      let refused = status { try Store(url, detail: &detail) { $0.flags = UInt32(flags) } }
      #expect(refused == Int(LARDER_EVERSION))
      #expect(detail.part == LARDER_STORE_PART_DATA && detail.version == 1)
      #expect(detail.version_of == LARDER_STORE_VERSION_OF_LARDER)
    }
    #expect(try Data(contentsOf: data) == before)
    let kept = try FileManager.default.subpathsOfDirectory(atPath: url.path)
    #expect(Set(folder).isSubset(of: kept) && !kept.contains("log"))
    let salvaged = directory.file("salvaged")
    #expect(status { try salvage(url, to: salvaged) } == Int(LARDER_EVERSION))
  }
}
