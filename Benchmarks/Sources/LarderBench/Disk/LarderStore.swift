// SPDX-License-Identifier: MIT
import CLarderStore
import Foundation

/// Ours as C programs call it, with the defaults.
final class LarderStore {
  private let store: OpaquePointer

  init(_ path: String) throws {
    var opened: OpaquePointer?
    try check(larder_store_open(path, nil, nil, &opened))
    guard let opened else { throw Failure(description: "no store") }
    store = opened
  }

  deinit { larder_store_close(store) }

  @inline(__always)
  func put(_ bytes: UnsafeRawBufferPointer, under key: Int) throws {
    try withUnsafeBytes(of: key) { name in
      var item = larder_store_item()
      larder_store_item_init(&item, larder_bytes(name), larder_bytes(bytes))
      try check(larder_store_put(store, &item, nil))
    }
  }

  /// Gives the value to `body` where it lies: no copy is made.
  @inline(__always)
  func read<Result>(_ key: Int, _ body: (UnsafeRawBufferPointer) -> Result) throws -> Result? {
    var entry = larder_store_entry()
    let status = withUnsafeBytes(of: key) { larder_store_get(store, larder_bytes($0), 0, &entry) }
    if status == LARDER_ENOTFOUND { return nil }
    try check(status)
    defer { larder_store_release(&entry) }
    return body(UnsafeRawBufferPointer(start: entry.value.data, count: entry.value.length))
  }

  /// Gives the entries from `key` on, at most `limit`, to `body`, in the order of their bytes.
  func scan(
    from key: Int, limit: Int, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
  ) throws -> Int {
    var cursor: OpaquePointer?
    var query = larder_store_query()
    larder_store_query_init(&query)
    query.flags = UInt32(LARDER_STORE_HAS_LOWER)
    try withUnsafeBytes(of: key) { name in
      query.lower = larder_bytes(name)
      try check(larder_store_cursor_open(store, &query, &cursor))
    }
    guard let cursor else { return 0 }
    defer { larder_store_cursor_close(cursor) }
    var count = 0
    var entry = larder_store_entry()
    while count < limit {
      let status = larder_store_cursor_next(cursor, &entry)
      if status == LARDER_END { break }
      try check(status)
      body(
        UnsafeRawBufferPointer(start: entry.key.data, count: entry.key.length),
        UnsafeRawBufferPointer(start: entry.value.data, count: entry.value.length))
      count += 1
    }
    return count
  }

  func flush() throws { try check(larder_store_flush(store)) }
  func sync() throws { try check(larder_store_sync(store)) }

  func statistics() throws -> larder_store_statistics {
    var statistics = larder_store_statistics()
    try check(larder_store_statistics_get(store, &statistics))
    return statistics
  }
}

extension larder_bytes {
  @inline(__always)
  fileprivate init(_ bytes: UnsafeRawBufferPointer) {
    self.init(data: bytes.baseAddress, length: bytes.count)
  }
}
