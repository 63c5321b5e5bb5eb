// SPDX-License-Identifier: MIT
import Foundation

/// Ours. Its own thread syncs every second.
final class YCSBLarder: YCSBStore {
  static let name = "Larder"
  static let settings = """
    larder_store_put, _get and cursors, keys of 8 B, defaults, by which it syncs every second; an \
    update gets the record, changes the field and puts it; a sample's time ends with a flush
    """
  private let store: LarderStore

  init(_ path: String, records: Int) throws { store = try LarderStore(path) }

  func insert(_ record: UnsafeRawBufferPointer, under key: UInt64) throws {
    try store.put(record, under: ordered(key))
  }

  func update(_ field: Int, of key: UInt64, to bytes: UnsafeRawBufferPointer) throws {
    try withUpdated(field, bytes, { try store.read(ordered(key), $0) }) {
      try store.put($0, under: ordered(key))
    }
  }

  func read(_ key: UInt64) throws -> Int {
    try store.read(ordered(key)) { YCSBRecord.isIntact($0, key: key) } == true ? 1 : 0
  }

  func scan(from key: UInt64, limit: Int) throws -> Int {
    var intact = 0
    _ = try store.scan(from: ordered(key), limit: limit) { intact += countIntact($0, $1) }
    return intact
  }

  func endLoad() throws { try finish() }
  func sync() throws {}  // Its thread does.
  func finish() throws {
    try store.flush()
    try store.sync()
  }
}
