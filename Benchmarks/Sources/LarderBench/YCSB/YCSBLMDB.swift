// SPDX-License-Identifier: MIT
import CRivals
import Foundation

/// LMDB.
final class YCSBLMDB: YCSBStore {
  static let name = "LMDB"
  static let settings = """
    LMDB \(LMDBStore.version): MDB_NOSYNC and MDB_WRITEMAP, mdb_env_sync every second, \
    MDB_INTEGERKEY; one transaction a write, a renewed one a read; an update gets the record, \
    changes the field and puts it
    """
  private let records: OpaquePointer

  init(_ path: String, records: Int) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    var opened: OpaquePointer?
    try check(rivals_records_open(path, UInt64(4 << 30 + records * 8192), &opened))
    guard let opened else { throw Failure(description: "no LMDB environment") }
    self.records = opened
  }

  deinit { rivals_records_close(records) }

  func insert(_ record: UnsafeRawBufferPointer, under key: UInt64) throws {
    guard let start = record.baseAddress else { return }
    try check(rivals_records_put(records, key, start, record.count))
  }

  func update(_ field: Int, of key: UInt64, to bytes: UnsafeRawBufferPointer) throws {
    guard let start = bytes.baseAddress else { return }
    try check(
      rivals_records_update(
        records, key, YCSBRecord.bytes, field * YCSBRecord.fieldBytes, start, bytes.count))
  }

  func read(_ key: UInt64) throws -> Int {
    var record = larder_bytes()
    defer { rivals_records_end(records) }
    try check(rivals_records_get(records, key, &record))
    return Self.isIntact(record, key) ? 1 : 0
  }

  func scan(from key: UInt64, limit: Int) throws -> Int {
    var key = key
    var record = larder_bytes()
    var intact = 0
    defer { rivals_records_end(records) }
    var status = rivals_records_seek(records, &key, &record)
    for place in 0..<limit {
      if status == ENOENT { break }
      try check(status)
      if Self.isIntact(record, key) { intact += 1 }
      if place + 1 < limit { status = rivals_records_next(records, &key, &record) }
    }
    return intact
  }

  func beginLoad() throws { try check(rivals_records_begin(records)) }
  func endLoad() throws {
    try check(rivals_records_commit(records))
    try sync()
  }
  func sync() throws { try check(rivals_records_sync(records)) }

  @inline(__always)
  private static func isIntact(_ record: larder_bytes, _ key: UInt64) -> Bool {
    YCSBRecord.isIntact(
      UnsafeRawBufferPointer(start: record.data, count: record.length), key: key)
  }
}
