// SPDX-License-Identifier: MIT
import CLarder
import CLarderStore
import Foundation
import LarderTestSupport
import Testing

/// What the values are made of, as the store remembers it.
@Suite("Store: content format")
struct StoreContentFormatTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("store")
  }

  private func open(_ format: UInt64) throws -> Store {
    try Store(url) { $0.content_format = format }
  }

  @Test func anotherFormatIsRefusedAndSaysWhichOneThereIs() throws {
    try open(7).close()
    var detail = larder_store_detail()
    let refused = status { try Store(url, detail: &detail) { $0.content_format = 8 } }
    #expect(refused == Int(LARDER_EMISMATCH) && detail.content_format == 7)
    // None in particular.
    try open(0).close()
    try open(7).close()
  }

  @Test func theFormatCanBeChangedAndStays() throws {
    let store = try open(7)
    try store.put([1], [1])
    try check(larder_store_content_format_set(store.pointer, 8))
    let figures = try store.figures
    // What was written before is in the same transaction.
    #expect(figures.content_format == 8 && figures.pending_count == 0)
    try store.put([2], [2])
    store.close()
    #expect(status { try open(7) } == Int(LARDER_EMISMATCH))
    let again = try open(8)
    #expect(try again.keys() == [[1], [2]] && again.isSound)
  }

  @Test func aStoreCanBeEmptiedAndGivenAnotherFormatAtOnce() throws {
    let store = try open(7)
    try store.put([1], [1])
    try check(larder_store_remove_all(store.pointer, nil, nil))
    try check(larder_store_content_format_set(store.pointer, 8))
    store.close()
    let again = try open(8)
    #expect(try again.totals == (0, 0) && again.isSound)
  }

  @Test func aReaderCannotChangeIt() throws {
    try open(7).close()
    let reader = try Store(url) { $0.flags = UInt32(LARDER_STORE_READ_ONLY) }
    let refused = status { try check(larder_store_content_format_set(reader.pointer, 8)) }
    #expect(refused == Int(LARDER_EREADONLY))
    #expect(try open(7).totals == (0, 0))
  }
}
