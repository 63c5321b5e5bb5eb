// SPDX-License-Identifier: MIT
import Foundation

/// RocksDB.
final class YCSBRocksDB: YCSBStore {
  static let name = "RocksDB"
  static let settings = """
    RocksDB \(RocksStore.version): write-ahead log on, sync off, rocksdb_flush_wal with sync every \
    second, no compression, bloom filter of 10 bits, block cache of 1 GiB, keys of 8 B; an update \
    gets the record, changes the field and puts it; compactions are waited for outside the time
    """
  static let absence = RocksStore.absence
  private let store: RocksStore

  init(_ path: String, records: Int) throws {
    store = try RocksStore(path, compresses: false, cacheBytes: 1 << 30)
  }

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
    _ = store.scan(from: ordered(key), limit: limit) { intact += countIntact($0, $1) }
    return intact
  }

  func endLoad() throws {
    try store.flushAndSync()
    store.settle()
  }
  func sync() throws { try store.syncLog() }
  func settle() { store.settle() }
}
