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

  @Test(arguments: [1, 2])
  func aBatchWithFilesOutlivesTheRemovalOfEverything(flushes: Int) throws {
    let store = try Store(url) { $0.inline_threshold_bytes = 100 }
    let value = [UInt8](repeating: 7, count: 5000)
    try store.put([1], value)
    var batch: OpaquePointer?
    try check(larder_store_batch_create(store.pointer, &batch))
    defer { larder_store_batch_destroy(batch) }
    try withBytes([2]) { key in
      try withBytes(value) { value in
        var item = larder_store_item()
        larder_store_item_init(&item, key, value)
        try check(larder_store_batch_put(batch!, &item))
      }
    }
    // The value's file is there already, in a folder that is on its way out.
    try check(larder_store_remove_all(store.pointer, nil, nil))
    for _ in 0..<flushes { try store.flush() }
    try check(larder_store_batch_commit(batch!, 0, nil))
    #expect(try store.get([1]) == nil)
    #expect(try store.get([2])?.value == value)
    try store.flush()
    store.close()
    let again = try Store(url)
    #expect(try again.get([2])?.value == value)
    #expect(try again.totals == (1, 5000))
    #expect(again.isSound)
  }

  @Test func aBatchThatIsGivenUpLeavesNoFileBehind() throws {
    let store = try Store(url) { $0.inline_threshold_bytes = 100 }
    var batch: OpaquePointer?
    try check(larder_store_batch_create(store.pointer, &batch))
    try withBytes([2]) { key in
      try withBytes([UInt8](repeating: 7, count: 5000)) { value in
        var item = larder_store_item()
        larder_store_item_init(&item, key, value)
        try check(larder_store_batch_put(batch!, &item))
      }
    }
    try check(larder_store_remove_all(store.pointer, nil, nil))
    try store.flush()
    larder_store_batch_destroy(batch)
    try store.flush()
    #expect(try store.totals == (0, 0))
    #expect(store.isSound)
  }
}
