// SPDX-License-Identifier: MIT

import CLarderStore
import Foundation
import LarderTestSupport
import Testing

/// A cursor that goes over one thing after the other, all as of when it was opened.
struct StoreSeekTests {
  private let directory: TemporaryDirectory
  private var url: URL { directory.file("store") }

  init() throws { directory = try TemporaryDirectory() }

  /// What a cursor gives from now on.
  private func entries(_ cursor: OpaquePointer) throws -> [[[UInt8]]] {
    var found: [[[UInt8]]] = []
    var entry = larder_store_entry()
    while true {
      let status = larder_store_cursor_next(cursor, &entry)
      if status == LARDER_END { return found }
      try check(status)
      found.append([entry.index_value.array, entry.key.array, entry.value.array])
    }
  }

  private func query(
    _ index: UInt16?, _ bound: [UInt8]?, descends: Bool = false,
    _ body: (inout larder_store_query) throws -> Void
  ) rethrows {
    var query = larder_store_query()
    larder_store_query_init(&query)
    if let index {
      query.order = LARDER_STORE_BY_INDEX
      query.index = index
    }
    if descends { query.flags |= UInt32(LARDER_STORE_DESCENDING) }
    try withBytes(bound ?? []) { bytes in
      if bound != nil {
        query.flags |= UInt32(LARDER_STORE_HAS_LOWER)
        query.lower = bytes
      }
      try body(&query)
    }
  }

  @Test(arguments: UInt64(1)...4)
  func allIsAsOfOneMoment(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try Store(url) { $0.journal_bytes = 1 << 20 }
    // The entries, each with its values in two indexes.
    var model: [[UInt8]: (values: [[UInt8]], value: [UInt8])] = [:]
    func change() throws {
      let key = [UInt8.random(in: 0..<40, using: &random)]
      if Int.random(in: 0..<5, using: &random) == 0 {
        try store.remove(key)
        model[key] = nil
        return
      }
      let values = (0..<2).map { _ in [UInt8.random(in: 0..<6, using: &random)] }
      let value = [UInt8.random(in: 0...255, using: &random)]
      try store.put(key, value, indexes: [(0, values[0]), (1, values[1])])
      model[key] = (values, value)
    }
    for step in 0..<60 {
      for _ in 0..<Int.random(in: 0..<30, using: &random) { try change() }
      if step % 3 == 0 { try store.flush() }
      var opened: OpaquePointer?
      try query(nil, nil) { try check(larder_store_cursor_open(store.pointer, &$0, &opened)) }
      let cursor = try #require(opened)
      defer { larder_store_cursor_close(cursor) }
      let seen = model
      for round in 0..<6 {
        // Written meanwhile, and seen by others, who sort it.
        for _ in 0..<3 { try change() }
        _ = try store.keys {
          $0.order = LARDER_STORE_BY_INDEX
          $0.index = UInt16(round & 1)
        }
        let index: Int? = [nil, 0, 1][Int.random(in: 0..<3, using: &random)]
        let bound = Bool.random(using: &random) ? nil : [UInt8.random(in: 0..<6, using: &random)]
        let descends = Bool.random(using: &random)
        var expected: [[[UInt8]]] = []
        for (key, entry) in seen {
          let value = index.map { entry.values[$0] } ?? []
          if let bound, (index == nil ? key : value).lexicographicallyPrecedes(bound) { continue }
          expected.append([value, key, entry.value])
        }
        expected.sort { a, b in (a[0] + a[1]).lexicographicallyPrecedes(b[0] + b[1]) }
        if descends { expected.reverse() }
        try query(index.map { UInt16($0) }, bound, descends: descends) {
          try check(larder_store_cursor_seek(cursor, &$0))
        }
        try #require(try entries(cursor) == expected, "seed \(seed), step \(step)")
      }
    }
  }

  @Test func theOrderOfUseIsRefused() throws {
    let store = try Store(url)
    try store.put([1], [2])
    let cursor = try store.cursor()
    defer { larder_store_cursor_close(cursor) }
    var query = larder_store_query()
    larder_store_query_init(&query)
    query.order = LARDER_STORE_BY_RECENCY
    #expect(larder_store_cursor_seek(cursor, &query) == LARDER_EINVALID)
    query.order = LARDER_STORE_BY_KEY
    #expect(larder_store_cursor_seek(cursor, &query) == LARDER_OK)
    #expect(try entries(cursor).count == 1)
  }
}
