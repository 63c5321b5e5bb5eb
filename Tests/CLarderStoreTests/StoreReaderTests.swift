// SPDX-License-Identifier: MIT
import CLarder
import CLarderStore
import Foundation
import LarderTestSupport
import Testing

/// Handles that only read, while another one writes and comes and goes.
@Suite("Store: readers")
struct StoreReaderTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("store")
  }

  private func reader() throws -> Store {
    try Store(url) { $0.flags = UInt32(LARDER_STORE_READ_ONLY) }
  }

  @Test func whatIsWrittenIsSeenAtOnceAndAfterAFlush() throws {
    let writer = try Store(url)
    let reader = try reader()
    for round in UInt8(0)..<10 {
      try writer.put([1], [round])
      #expect(try reader.get([1])?.value == [round])
      if round % 3 == 0 { try writer.flush() }
      #expect(try reader.get([1])?.value == [round])
      #expect(try reader.totals == (1, 1))
    }
    try writer.remove([1])
    #expect(try reader.get([1]) == nil && reader.keys().isEmpty)
  }

  @Test(arguments: [UInt64(4 << 10), 64 << 10])
  func aReaderStaysWhileWritersComeAndGo(segmentBytes: UInt64) throws {
    try Store(url).close()
    let reader = try reader()
    for round in UInt8(0)..<4 {
      // Every other writer makes segments of another size.
      let writer = try Store(url, tuning: small(round % 2 == 0 ? 4 << 10 : segmentBytes))
      try writer.put([1], [round])
      try writer.put([2, round], [UInt8](repeating: round, count: 10_000))
      #expect(try reader.get([1])?.value == [round])
      #expect(try reader.keys().count == Int(round) + 2)
      try writer.flush()
      try writer.put([1], [round, round])
      #expect(try reader.get([1])?.value == [round, round])
      #expect(try reader.totals.count == UInt64(round) + 2)
      writer.close()
      #expect(try reader.get([1])?.value == [round, round])
      #expect(reader.isSound)
    }
  }

  /// A list and what is read beside it take two places at a time, and as many slots of LMDB's
  /// table, whatever is read on the same thread from other stores.
  @Test func listsTakeNoMoreSlotsThanAreInUseAtATime() throws {
    let writer = try Store(url)
    for key in UInt8(0)..<10 { try writer.put([key], [key]) }
    try writer.flush()
    let other = try Store(directory.file("other"))
    try other.put([1], [1])
    try other.flush()
    let readers = try [reader(), writer]
    for _ in 0..<200 {
      for reader in readers {
        var query = larder_store_query()
        larder_store_query_init(&query)
        var cursor: OpaquePointer?
        try check(larder_store_cursor_open(reader.pointer, &query, &cursor))
        var entry = larder_store_entry()
        try check(larder_store_cursor_next(cursor!, &entry))
        #expect(try reader.get([3])?.value == [3])
        #expect(try other.get([1])?.value == [1])
        larder_store_cursor_close(cursor)
      }
    }
    writer.close()
    let table = try Data(contentsOf: url.appendingPathComponent("lock.mdb"))
    // A slot of LMDB's has 64 bytes, behind as many of a head twice: its state, then a process.
    let used = stride(from: 128, to: table.count - 63, by: 64).filter { slot in
      table[slot + 8..<slot + 12] != Data(count: 4)
    }
    #expect(used.count < 8)
  }

  @Test func aReaderOfAStoreWithoutASegmentSeesTheOneThatComes() throws {
    let writer = try Store(url)
    #expect(try StoreLog(url).segments.isEmpty)
    let reader = try reader()
    #expect(try reader.get([1]) == nil && reader.totals == (0, 0))
    try writer.put([1], [2])
    #expect(try reader.get([1])?.value == [2])
    #expect(try reader.totals == (1, 1))
  }

  /// What was read stays as it was, and a reader always sees a state that there was: in each round
  /// all entries have the same value.
  @Test(arguments: [0, Int(LARDER_STORE_READ_ONLY)])
  func aStateThatIsReadIsOneThatWasWhateverIsCleanedMeanwhile(flags: Int) throws {
    var tuning = small(4096, upTo: 8192)
    tuning.transaction_max_count = 5
    let writer = try Store(url, tuning: tuning) { $0.inline_threshold_bytes = 0 }
    let reader = flags == 0 ? writer : try reader()
    var old: OpaquePointer?
    defer { larder_store_cursor_close(old) }
    for round in UInt8(1)...30 {
      try writer.commit { batch in
        for key in UInt8(0)..<20 {
          try put([key], [UInt8](repeating: round, count: 300), in: batch)
        }
      }
      if round == 3 { old = try reader.cursor() }
      if round % 2 == 0 { try writer.flush() }
      let values = try reader.values()
      #expect(values == [[UInt8]](repeating: [UInt8](repeating: round, count: 300), count: 20))
    }
    #expect(try reader.values(of: old!).map(\.first) == [UInt8?](repeating: 3, count: 20))
    larder_store_cursor_close(old)
    old = nil
    for _ in 0..<3 { try writer.flush() }
    // Nothing is held any more: of thirty rounds there is room for a few.
    #expect(try StoreLog(url).size < 6 * 20 * 400)
    #expect(writer.isSound && reader.isSound)
  }
}
