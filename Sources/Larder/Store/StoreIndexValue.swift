// SPDX-License-Identifier: MIT

import CLarder
import CLarderStore

/// What an entry is found by in one of its store's indexes: compared as bytes.
@usableFromInline
struct StoreIndexValue: Sendable, Hashable {
  /// The most bytes that the store takes.
  static let maximumCount = 4096

  /// Which index.
  var index: UInt16
  var bytes: [UInt8]
}

extension [StoreIndexValue] {
  /// Lends the values to C, as part of an item.
  func withItems(
    in item: inout larder_store_item, _ body: (inout larder_store_item) -> larder_status
  ) -> larder_status {
    if isEmpty { return body(&item) }
    // All bytes in one place, so that pointers to them hold.
    let joined = flatMap(\.bytes)
    return joined.withUnsafeBytes { joined in
      var offset = 0
      let entries = map { value in
        defer { offset += value.bytes.count }
        return larder_store_index_entry(
          index: value.index,
          value: larder_bytes(
            UnsafeRawBufferPointer(rebasing: joined[offset..<offset + value.bytes.count])))
      }
      return entries.withUnsafeBufferPointer { entries in
        item.indexes = entries.baseAddress
        item.index_count = entries.count
        return body(&item)
      }
    }
  }
}
