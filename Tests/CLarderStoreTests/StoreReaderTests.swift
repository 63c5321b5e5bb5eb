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

  @Test(arguments: [UInt64(64 << 10), 128 << 10])
  func aReaderStaysWhileWritersComeAndGo(journalBytes: UInt64) throws {
    try Store(url).close()
    let reader = try reader()
    for round in UInt8(0)..<4 {
      // Every other writer puts a journal of another size in the place of the one there is.
      let writer = try Store(url) {
        $0.journal_bytes = round % 2 == 0 ? 64 << 10 : journalBytes
      }
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

  @Test func aReaderOfAStoreWithoutAJournalSeesTheOneThatComes() throws {
    let writer = try Store(url)
    try writer.put([1], [1])
    writer.close()
    try FileManager.default.removeItem(at: url.appendingPathComponent("journal"))
    let reader = try reader()
    #expect(try reader.get([1])?.value == [1])
    let next = try Store(url)
    try next.put([1], [2])
    #expect(try reader.get([1])?.value == [2])
  }
}
