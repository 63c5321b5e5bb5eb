// SPDX-License-Identifier: MIT
import CLarder
import CLarderStore
import Foundation
import LarderTestSupport
import Testing

/// Segments: where one ends and the next begins, and what becomes of what crosses the edge.
@Suite("Store: the log")
struct StoreLogTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("store")
  }

  /// What a segment of 4,096 bytes has for records: it keeps 64 for its head, 40 for the record
  /// that names the next one, and an eighth for removals.
  static let room = 4096 - 64 - 40 - 512

  /// A value whose record, under a key of one byte, takes so many bytes before it is padded.
  private func value(record: Int, _ byte: UInt8 = 9) -> [UInt8] {
    [UInt8](repeating: byte, count: record - 36 - 1)
  }

  private func sizes() throws -> [Int] {
    try StoreLog(url).segments.map { try Data(contentsOf: $0).count }
  }

  /// Checks the store as it is, as a killed process leaves it, as salvage finds it without the
  /// tree, and after a checkpoint, closed and opened again.
  private func expect(
    _ wanted: [[UInt8]: [UInt8]], in store: Store, _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let killed = directory.file("killed")
    let salvaged = directory.file("salvaged")
    try FileManager.default.copyItem(at: url, to: killed)
    try compare(store, wanted, comment, sourceLocation)
    try compare(try Store(killed), wanted, comment, sourceLocation)
    try FileManager.default.removeItem(at: killed.appendingPathComponent("data.mdb"))
    try salvage(killed, to: salvaged)
    try compare(try Store(salvaged), wanted, comment, sourceLocation)
    try store.flush()
    try compare(store, wanted, comment, sourceLocation)
    store.close()
    try compare(try Store(url), wanted, comment, sourceLocation)
    try FileManager.default.removeItem(at: killed)
    try FileManager.default.removeItem(at: salvaged)
  }

  private func compare(
    _ store: Store, _ wanted: [[UInt8]: [UInt8]], _ comment: Comment?,
    _ sourceLocation: SourceLocation
  ) throws {
    for (key, value) in wanted {
      #expect(try store.get(key)?.value == value, comment, sourceLocation: sourceLocation)
    }
    #expect(
      try store.totals.count == UInt64(wanted.count), comment, sourceLocation: sourceLocation)
    #expect(store.isSound, comment, sourceLocation: sourceLocation)
  }

  // MARK: - One after the other

  @Test(arguments: [-9, -8, -7, -1, 0, 1, 7, 8, 9])
  func aRecordThatFillsASegmentLiesInItAndALongerOneGetsALargerOne(more: Int) throws {
    let store = try Store(url, tuning: small())
    try store.put([1], value(record: Self.room + more))
    if more <= 0 { #expect(try sizes() == [4096]) } else { #expect(try sizes()[0] > 4096) }
    try store.put([2], [2])
    let opened = try sizes()
    #expect(opened.count == (more > -40 && more <= 0 ? 2 : 1))
    try expect([[1]: value(record: Self.room + more), [2]: [2]], in: store)
  }

  @Test(arguments: [-9, -8, -7, -1, 0, 1, 7, 8, 9])
  func aRecordThatFillsTheRestLiesInItAndALongerOneInTheNextSegment(more: Int) throws {
    let store = try Store(url, tuning: small())
    try store.put([1], value(record: 1040))
    try store.put([2], value(record: Self.room - 1040 + more))
    #expect(try sizes() == (more <= 0 ? [4096] : [4096, 4096]))
    try store.put([3], [3])
    try store.put([4], value(record: Self.room - 40))
    try store.remove([1])
    try expect(
      [[2]: value(record: Self.room - 1040 + more), [3]: [3], [4]: value(record: Self.room - 40)],
      in: store)
  }

  @Test func recordsOfEveryLengthCrossTheEdgesOfSegments() throws {
    var wanted: [[UInt8]: [UInt8]] = [:]
    let store = try Store(url, tuning: small()) { $0.journal_bytes = 4 << 20 }
    for length in 0..<200 {
      let value = [UInt8](repeating: UInt8(length), count: 650 + length)
      try store.put([UInt8(length)], value)
      wanted[[UInt8(length)]] = value
      if length % 3 == 0 {
        try store.remove([UInt8(length / 2)])
        wanted[[UInt8(length / 2)]] = nil
      }
    }
    #expect(try sizes().count > 30)
    try expect(wanted, in: store)
  }

  @Test func segmentsGrowUpToTheLargestUsualOne() throws {
    let store = try Store(url, tuning: small(4096, upTo: 32 << 10)) { $0.journal_bytes = 1 << 20 }
    for key in UInt8(0)..<150 { try store.put([key], [UInt8](repeating: key, count: 1000)) }
    #expect(try sizes().starts(with: [4096, 8192, 16384, 32768, 32768]))
    try expect(
      .init(
        uniqueKeysWithValues: (UInt8(0)..<150).map { ([$0], .init(repeating: $0, count: 1000)) }
      ), in: store)
  }

  // MARK: - What does not fit

  @Test(arguments: [8192, 8193, 100_000, 3 << 20])
  func aValueThatIsLargerThanASegmentGetsALargerOne(length: Int) throws {
    let store = try Store(url, tuning: small(4096, upTo: 8192)) { $0.journal_bytes = 1 << 20 }
    let large = [UInt8](repeating: 5, count: length)
    try store.put([1], [1])
    try store.put([2], large)
    try store.put([3], [3])
    try store.put([4], [UInt8](repeating: 4, count: 7000))
    let sizes = try sizes()
    #expect(sizes.max()! > length && sizes.last! <= 8192)
    try expect([[1]: [1], [2]: large, [3]: [3], [4]: .init(repeating: 4, count: 7000)], in: store)
  }

  @Test(arguments: [-8, -1, 0, 1, 8])
  func aBatchLiesInOneSegment(more: Int) throws {
    let store = try Store(url, tuning: small()) { $0.journal_bytes = 1 << 20 }
    var wanted: [[UInt8]: [UInt8]] = [[9]: [9]]
    try store.put([9], [9])
    // The first fits into the rest, all together into a segment of their own, or not even that.
    for (first, lengths) in [
      (10, [1040, 1040, Self.room - 2080 + more]), (20, [9000, 9000, 9000]),
    ] {
      try store.commit { batch in
        for (offset, length) in lengths.enumerated() {
          let key = [UInt8(first + offset)]
          wanted[key] = value(record: length, UInt8(first + offset))
          try put(key, wanted[key]!, in: batch)
        }
      }
    }
    let log = StoreLog(url)
    for first in [10, 20] {
      let holders = try (first..<first + 3).map { byte in
        try log.segments(with: Data(repeating: UInt8(byte), count: 1000)).map(\.lastPathComponent)
      }
      #expect(holders[0].count == 1 && Set(holders).count == 1)
    }
    try expect(wanted, in: store)
  }

  @Test func aBatchThatIsNotWholeIsNotThere() throws {
    let store = try Store(url, tuning: small())
    try store.put([1], [1])
    try store.commit { batch in
      for key in UInt8(2)..<5 { try put([key], value(record: 500, key), in: batch) }
    }
    let killed = directory.file("killed")
    for key in UInt8(2)..<5 {
      try FileManager.default.copyItem(at: url, to: killed)
      #expect(try StoreLog(killed).flip(Data(value(record: 500, key))) == 1)
      let opened = try Store(killed)
      #expect(try opened.keys() == [[1]] && opened.isSound)
      opened.close()
      try FileManager.default.removeItem(at: killed)
    }
  }

  // MARK: - Checkpoints

  @Test(arguments: [UInt64(1), 2, 7, 1000])
  func aCheckpointOfManyTransactionsGivesWhatOneOfOneTransactionGives(most: UInt64) throws {
    var tuning = small()
    tuning.transaction_max_count = most
    let store = try Store(url, tuning: tuning) { $0.journal_bytes = 1 << 20 }
    var wanted: [[UInt8]: [UInt8]] = [:]
    for round in UInt8(0)..<4 {
      for key in UInt8(0)..<40 where (key + round) % 3 != 0 {
        wanted[[key]] = [UInt8](repeating: round, count: 100)
        try store.put([key], wanted[[key]]!, indexes: [(1, [key, round])])
      }
      for key in UInt8(0)..<40 where (key + round) % 7 == 0 {
        try store.remove([key])
        wanted[[key]] = nil
      }
      if round == 2 {
        try check(larder_store_remove_all(store.pointer, nil, nil))
        wanted = [:]
        for key in UInt8(30)..<50 {
          wanted[[key]] = [key]
          try store.put([key], [key])
        }
      }
      let before = try store.figures
      #expect(before.pending_count > 0)
      try store.flush()
      let after = try store.figures
      #expect(after.pending_count == 0 && after.applied_sequence == after.last_sequence)
      #expect(after.count == UInt64(wanted.count) && store.isSound)
    }
    try expect(wanted, in: store)
  }
}
