// SPDX-License-Identifier: MIT
import Foundation

/// RocksDB.
final class YCSBRocksDB: YCSBKeyedStore {
  static let name = "RocksDB"
  static let settings = """
    RocksDB \(RocksStore.version): write-ahead log on, sync off, rocksdb_flush_wal with sync every \
    second, no compression, bloom filter of 10 bits, block cache of 1 GiB, keys of 8 B; an update \
    gets the record, changes the field and puts it; compactions are waited for outside the time
    """
  static let absence = RocksStore.absence
  let store: RocksStore

  init(_ path: String, records: Int) throws {
    store = try RocksStore(path, compresses: false, cacheBytes: 1 << 30)
  }

  func endLoad() throws {
    try store.flushAndSync()
    store.settle()
  }
  func sync() throws { try store.syncLog() }
  func settle() { store.settle() }
}
