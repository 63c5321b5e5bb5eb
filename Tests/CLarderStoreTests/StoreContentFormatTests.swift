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
    try check(larder_store_formats_set(store.pointer, 8, 0))
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
    try check(larder_store_formats_set(store.pointer, 8, 0))
    store.close()
    let again = try open(8)
    #expect(try again.totals == (0, 0) && again.isSound)
  }

  @Test func aReaderCannotChangeIt() throws {
    try open(7).close()
    let reader = try Store(url) { $0.flags = UInt32(LARDER_STORE_READ_ONLY) }
    let refused = status { try check(larder_store_formats_set(reader.pointer, 8, 0)) }
    #expect(refused == Int(LARDER_EREADONLY))
    #expect(try open(7).totals == (0, 0))
  }

  @Test func aQueryCanAskForAFormatAndAReaderElsewhereSeesItChange() throws {
    let store = try open(7)
    try store.put([1], [1])
    try store.flush()
    let reader = try Store(url) { $0.flags = UInt32(LARDER_STORE_READ_ONLY) }
    func counted(_ store: Store, _ format: UInt64) -> (cursor: Int, count: Int) {
      var query = larder_store_query()
      larder_store_query_init(&query)
      query.content_format = format
      var cursor: OpaquePointer?
      let opened = larder_store_cursor_open(store.pointer, &query, &cursor)
      larder_store_cursor_close(cursor)
      var count: UInt64 = 0
      return (Int(opened), Int(larder_store_count(store.pointer, &query, 9, &count)))
    }
    for format: UInt64 in [7, 8, 9] {
      if format > 7 { try check(larder_store_formats_set(store.pointer, format, 0)) }
      for handle in [store, reader] {
        #expect(counted(handle, 0) == (0, 0))
        #expect(counted(handle, format) == (0, 0))
        #expect(counted(handle, format - 1) == (Int(LARDER_EMISMATCH), Int(LARDER_EMISMATCH)))
      }
    }
  }
}
