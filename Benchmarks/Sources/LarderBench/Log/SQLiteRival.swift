// SPDX-License-Identifier: MIT
import Foundation

#if HAS_SQLITE
  import CSQLite

  /// A log as one keeps it in SQLite: a table of blobs, one prepared statement each way.
  final class SQLiteRival {
    static let absence: String? = nil
    static var version: String { String(cString: sqlite3_libversion()) }

    private var database: OpaquePointer?
    private var insert: OpaquePointer?
    private var select: OpaquePointer?

    init(_ path: String) throws {
      // One thread uses it, so it need not lock.
      let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
      try expect(sqlite3_open_v2(path, &database, flags, nil), SQLITE_OK)
      try execute("PRAGMA journal_mode = WAL")
      try execute("PRAGMA synchronous = NORMAL")
      try execute("CREATE TABLE Messages(Message BLOB)")
      insert = try prepare("INSERT INTO Messages VALUES (?)")
      select = try prepare("SELECT Message FROM Messages ORDER BY rowid")
    }

    deinit {
      sqlite3_finalize(insert)
      sqlite3_finalize(select)
      sqlite3_close(database)
    }

    /// Leaves the table and the write-ahead log empty.
    func clear() throws {
      try execute("DELETE FROM Messages")
      try execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// A transaction for each message, or one for all.
    func append(_ message: Data, count: Int, oneTransaction: Bool = false) throws {
      if oneTransaction { try execute("BEGIN") }
      try message.withUnsafeBytes { bytes in
        try expect(
          sqlite3_bind_blob(insert, 1, bytes.baseAddress, Int32(bytes.count), nil), SQLITE_OK)
        for _ in 0..<count {
          try expect(sqlite3_step(insert), SQLITE_DONE)
          try expect(sqlite3_reset(insert), SQLITE_OK)
        }
      }
      if oneTransaction { try execute("COMMIT") }
    }

    /// Makes a `Data` of every message; returns how many there were and their bytes.
    func readAll() throws -> (count: Int, bytes: Int) {
      var count = 0
      var total = 0
      while true {
        let status = sqlite3_step(select)
        if status == SQLITE_DONE { break }
        try expect(status, SQLITE_ROW)
        guard let bytes = sqlite3_column_blob(select, 0) else { continue }
        let message = Data(bytes: bytes, count: Int(sqlite3_column_bytes(select, 0)))
        count += 1
        total += message.count
      }
      try expect(sqlite3_reset(select), SQLITE_OK)
      return (count, total)
    }

    func readInPlace() throws -> (count: Int, bytes: Int) {
      var count = 0
      var total = 0
      while true {
        let status = sqlite3_step(select)
        if status == SQLITE_DONE { break }
        try expect(status, SQLITE_ROW)
        guard sqlite3_column_blob(select, 0) != nil else { continue }
        count += 1
        total += Int(sqlite3_column_bytes(select, 0))
      }
      try expect(sqlite3_reset(select), SQLITE_OK)
      return (count, total)
    }

    private func execute(_ sql: String) throws {
      try expect(sqlite3_exec(database, sql, nil, nil, nil), SQLITE_OK)
    }

    private func prepare(_ sql: String) throws -> OpaquePointer? {
      var statement: OpaquePointer?
      try expect(
        sqlite3_prepare_v3(
          database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil), SQLITE_OK)
      return statement
    }

    private func expect(_ status: Int32, _ wanted: Int32) throws {
      guard status != wanted else { return }
      throw Failure(description: "SQLite: \(String(cString: sqlite3_errmsg(database)))")
    }
  }
#else
  /// Stands in where SQLite is not installed.
  final class SQLiteRival {
    static let absence: String? = "SQLite is not installed (make bench-deps installs it)"
    static let version = "none"

    init(_ path: String) throws {}
    func clear() throws {}
    func append(_ message: Data, count: Int, oneTransaction: Bool = false) throws {}
    func readAll() throws -> (count: Int, bytes: Int) { (0, 0) }
    func readInPlace() throws -> (count: Int, bytes: Int) { (0, 0) }
  }
#endif
