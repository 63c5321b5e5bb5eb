// SPDX-License-Identifier: MIT
import Foundation

/// Ours. Its own thread syncs every second.
final class YCSBLarder: YCSBKeyedStore {
  static let name = "Larder"
  static let settings = """
    larder_store_put, _get and cursors, keys of 8 B, defaults, by which it syncs every second; an \
    update gets the record, changes the field and puts it; a sample's time ends with a flush
    """
  let store: LarderStore

  init(_ path: String, records: Int) throws { store = try LarderStore(path) }

  func endLoad() throws { try finish() }
  func sync() throws {}  // Its thread does.
  func finish() throws {
    try store.flush()
    try store.sync()
  }
}
