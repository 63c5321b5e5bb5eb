// SPDX-License-Identifier: MIT
import CRivals
import Foundation

/// LMDB alone, read by loops in C.
final class LMDBStore {
  private let lmdb: OpaquePointer

  static let version: String = {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16) { text in
      guard let start = text.baseAddress else { return "" }
      rivals_lmdb_version(start, text.count)
      return String(cString: start)
    }
  }()

  /// A new one in a new folder, with `value` under each key, or without one with integers.
  init(_ path: String, keys: [Int], value: Data? = nil) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    var opened: OpaquePointer?
    let create = { (value: UnsafeRawBufferPointer?) in
      try keys.withUnsafeBufferPointer { keys in
        try keys.asInt64s { keys, count in
          try check(
            rivals_lmdb_create(path, keys, count, value?.baseAddress, value?.count ?? 0, &opened))
        }
      }
    }
    if let value { try value.withUnsafeBytes { try create($0) } } else { try create(nil) }
    guard let opened else { throw Failure(description: "no LMDB environment") }
    lmdb = opened
  }

  deinit { rivals_lmdb_close(lmdb) }

  func sum(of keys: UnsafeBufferPointer<Int>) throws -> Int {
    var sum: Int64 = 0
    try keys.asInt64s { try check(rivals_loop_lmdb_get(lmdb, $0, $1, &sum)) }
    return Int(sum)
  }

  func miss(_ keys: UnsafeBufferPointer<Int>) throws {
    try keys.asInt64s { try check(rivals_loop_lmdb_miss(lmdb, $0, $1)) }
  }

  /// How long opening the environment in this folder takes, whoever made it.
  static func timeOpen(_ path: String, mapBytes: UInt64) throws -> Double {
    var elapsed: UInt64 = 0
    try check(rivals_lmdb_time_open(path, mapBytes, &elapsed))
    return Double(elapsed)
  }
}

/// LMDB with bytes under its keys, which are made a `Data`.
struct LMDBDataStore: DurableStore {
  let store: LMDBStore
  let size: Int

  @inline(__always)
  func read(_ key: Int) throws -> Data? {
    try store.copy(key, size)
  }

  func put(_ value: Data, under key: Int) throws {
    throw Failure(description: "it was filled before")
  }
}

extension LMDBStore {
  @inline(__always)
  fileprivate func copy(_ key: Int, _ size: Int) throws -> Data {
    var data = Data(count: size)
    try data.withUnsafeMutableBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      try check(rivals_lmdb_copy(lmdb, Int64(key), start, bytes.count))
    }
    return data
  }
}

extension UnsafeBufferPointer<Int> {
  /// As C's `int64_t`, which is another type than `Int`.
  @inline(__always)
  func asInt64s(_ body: (UnsafePointer<Int64>, Int) throws -> Void) rethrows {
    try withMemoryRebound(to: Int64.self) { numbers in
      if let start = numbers.baseAddress { try body(start, numbers.count) }
    }
  }
}

extension Rival {
  static func lmdb(_ what: String) -> Rival {
    Rival(
      name: "LMDB get",
      settings: """
        LMDB \(LMDBStore.version) alone, MDB_INTEGERKEY, MDB_NOTLS, values of the same bytes, in a \
        C loop: mdb_txn_renew, mdb_get, mdb_txn_reset\(what); it verifies no checksum and notes no \
        use
        """)
  }
}
