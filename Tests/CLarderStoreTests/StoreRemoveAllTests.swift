// SPDX-License-Identifier: MIT
import CLarder
import CLarderStore
import Foundation
import LarderTestSupport
import Testing

/// Removing everything while something else is under way.
@Suite("Store: removal of everything")
struct StoreRemoveAllTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("store")
  }

  @Test(arguments: [0, 1, 2])
  func aBatchOutlivesTheRemovalOfEverything(flushes: Int) throws {
    let store = try Store(url) { $0.inline_threshold_bytes = 100 }
    let value = [UInt8](repeating: 7, count: 5000)
    try store.put([1], value)
    try store.commit { batch in
      try put([2], value, in: batch)
      try check(larder_store_remove_all(store.pointer, nil, nil))
      for _ in 0..<flushes { try store.flush() }
    }
    #expect(try store.get([1]) == nil)
    #expect(try store.get([2])?.value == value)
    try store.flush()
    store.close()
    let again = try Store(url)
    #expect(try again.get([2])?.value == value)
    #expect(try again.totals == (1, 5000))
    #expect(again.isSound)
  }

  @Test func aBatchThatIsGivenUpLeavesNothingBehind() throws {
    let store = try Store(url) { $0.inline_threshold_bytes = 100 }
    var batch: OpaquePointer?
    try check(larder_store_batch_create(store.pointer, &batch))
    try put([2], [UInt8](repeating: 7, count: 5000), in: batch!)
    try check(larder_store_remove_all(store.pointer, nil, nil))
    try store.flush()
    let before = try store.figures
    larder_store_batch_destroy(batch)
    try store.flush()
    let after = try store.figures
    #expect(after.appended_bytes == before.appended_bytes)
    #expect(after.last_sequence == before.last_sequence)
    #expect(try store.totals == (0, 0))
    #expect(store.isSound)
  }

  /// The segments that it leaves without an entry go with the next checkpoint.
  @Test func theRoomOfWhatWasRemovedIsGivenBack() throws {
    let store = try Store(url, tuning: small(4096, upTo: 16 << 10)) {
      $0.journal_bytes = 1 << 20
    }
    for key in UInt8(0)..<100 { try store.put([key], [UInt8](repeating: key, count: 1000)) }
    try store.flush()
    let before = try StoreLog(url).size
    #expect(before > 100_000)
    try check(larder_store_remove_all(store.pointer, nil, nil))
    #expect(try store.keys().isEmpty && store.totals == (0, 0))
    for _ in 0..<2 { try store.flush() }
    #expect(try StoreLog(url).size < before / 3)
    #expect(store.isSound)
    store.close()
    let salvaged = directory.file("salvaged")
    try salvage(url, to: salvaged)
    #expect(try Store(salvaged).totals == (0, 0))
  }
}
