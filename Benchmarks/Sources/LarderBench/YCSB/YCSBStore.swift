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

/// Whole records as bytes under numbers, which are kept in their order.
protocol OrderedStore {
  func put(_ bytes: UnsafeRawBufferPointer, under key: Int) throws
  func read<Result>(_ key: Int, _ body: (UnsafeRawBufferPointer) -> Result) throws -> Result?
  func scan(
    from key: Int, limit: Int, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
  ) throws -> Int
}

extension LarderStore: OrderedStore {}
extension RocksStore: OrderedStore {}

/// The workloads over such a store: the same code for ours and the rival.
protocol YCSBKeyedStore: YCSBStore {
  associatedtype Store: OrderedStore
  var store: Store { get }
}

extension YCSBKeyedStore {
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
}
