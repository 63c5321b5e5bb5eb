// SPDX-License-Identifier: MIT
import Foundation

/// What the workloads call: ours and the rivals alike. Reads look at all fields and return how many
/// records were what they should be.
protocol YCSBStore: AnyObject {
  static var name: String { get }
  static var settings: String { get }
  /// Why it cannot take part, if it cannot.
  static var absence: String? { get }

  init(_ path: String, records: Int) throws

  func insert(_ record: UnsafeRawBufferPointer, under key: UInt64) throws
  func update(_ field: Int, of key: UInt64, to bytes: UnsafeRawBufferPointer) throws
  func read(_ key: UInt64) throws -> Int
  func scan(from key: UInt64, limit: Int) throws -> Int

  /// Brackets the inserts with which the store is filled.
  func beginLoad() throws
  func endLoad() throws
  /// Called once a second, and at the end of a sample.
  func sync() throws
  /// Called at the end of a sample, in its time.
  func finish() throws
  /// Waits for threads of its own, after the time.
  func settle()
}

extension YCSBStore {
  static var absence: String? { nil }
  func beginLoad() throws {}
  func endLoad() throws {}
  func finish() throws { try sync() }
  func settle() {}
}

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

/// A key as bytes whose order is that of the numbers.
@inline(__always)
private func ordered(_ key: UInt64) -> Int { Int(bitPattern: UInt(key.bigEndian)) }

/// Reads a record, changes a field in a copy, and gives that to `put`.
@inline(__always)
private func withUpdated(
  _ field: Int, _ bytes: UnsafeRawBufferPointer,
  _ read: ((UnsafeRawBufferPointer) -> Bool) throws -> Bool?,
  _ put: (UnsafeRawBufferPointer) throws -> Void
) throws {
  try withUnsafeTemporaryAllocation(byteCount: YCSBRecord.bytes, alignment: 8) { record in
    let isThere = try read { old in
      guard old.count == record.count else { return false }
      record.copyMemory(from: old)
      return true
    }
    guard isThere == true else { throw Failure(description: "a record is missing") }
    let range = field * YCSBRecord.fieldBytes..<(field + 1) * YCSBRecord.fieldBytes
    UnsafeMutableRawBufferPointer(rebasing: record[range]).copyMemory(from: bytes)
    try put(UnsafeRawBufferPointer(record))
  }
}

@inline(__always)
private func countIntact(_ name: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer) -> Int {
  guard name.count == 8 else { return 0 }
  let key = UInt64(bigEndian: name.loadUnaligned(as: UInt64.self))
  return YCSBRecord.isIntact(record, key: key) ? 1 : 0
}
