// SPDX-License-Identifier: MIT
import Foundation

#if HAS_SQLITE
  import CSQLite

  /// A log as one keeps it in SQLite: a table of blobs, one prepared statement each way.
  final class SQLiteRival {
    static let absence: String? = nil
    static var version: String { String(cString: sqlite3_libversion()) }

    private let database: SQLiteDatabase
    private var insert: OpaquePointer?
    private var select: OpaquePointer?

    init(_ path: String, mapsFile: Bool = false) throws {
      database = try SQLiteDatabase(path, mapsFile: mapsFile)
      try database.execute("CREATE TABLE Messages(Message BLOB)")
      insert = try database.prepare("INSERT INTO Messages VALUES (?)")
      select = try database.prepare("SELECT Message FROM Messages ORDER BY rowid")
    }

    deinit {
      sqlite3_finalize(insert)
      sqlite3_finalize(select)
    }

    /// Empties the table. Its pages and the write-ahead log stay, to be overwritten in place.
    func clear() throws {
      try database.execute("DELETE FROM Messages")
      try database.execute("PRAGMA wal_checkpoint(PASSIVE)")
    }

    /// Moves everything from the write-ahead log to the database, where a mapping shows it.
    func checkpoint() throws { try database.execute("PRAGMA wal_checkpoint(TRUNCATE)") }

    /// A transaction for each message, or one for all.
    func append(_ message: Data, count: Int, oneTransaction: Bool = false) throws {
      if oneTransaction { try database.execute("BEGIN") }
      try message.withUnsafeBytes { bytes in
        try database.expect(
          sqlite3_bind_blob(insert, 1, bytes.baseAddress, Int32(bytes.count), nil), SQLITE_OK)
        for _ in 0..<count {
          try database.expect(sqlite3_step(insert), SQLITE_DONE)
          try database.expect(sqlite3_reset(insert), SQLITE_OK)
        }
      }
      if oneTransaction { try database.execute("COMMIT") }
    }

    /// Makes a `Data` of every message; returns how many there were and their bytes.
    func readAll() throws -> (count: Int, bytes: Int) {
      var count = 0
      var total = 0
      while true {
        let status = sqlite3_step(select)
        if status == SQLITE_DONE { break }
        try database.expect(status, SQLITE_ROW)
        guard let bytes = sqlite3_column_blob(select, 0) else { continue }
        let message = Data(bytes: bytes, count: Int(sqlite3_column_bytes(select, 0)))
        count += 1
        total += message.count
      }
      try database.expect(sqlite3_reset(select), SQLITE_OK)
      return (count, total)
    }

    func readInPlace() throws -> (count: Int, bytes: Int) {
      var count = 0
      var total = 0
      while true {
        let status = sqlite3_step(select)
        if status == SQLITE_DONE { break }
        try database.expect(status, SQLITE_ROW)
        guard sqlite3_column_blob(select, 0) != nil else { continue }
        count += 1
        total += Int(sqlite3_column_bytes(select, 0))
      }
      try database.expect(sqlite3_reset(select), SQLITE_OK)
      return (count, total)
    }
  }
#else
  /// Stands in where SQLite is not installed.
  final class SQLiteRival {
    static let absence: String? = "SQLite is not installed (make bench-deps installs it)"
    static let version = "none"

    init(_ path: String, mapsFile: Bool = false) throws {}
    func clear() throws {}
    func checkpoint() throws {}
    func append(_ message: Data, count: Int, oneTransaction: Bool = false) throws {}
    func readAll() throws -> (count: Int, bytes: Int) { (0, 0) }
    func readInPlace() throws -> (count: Int, bytes: Int) { (0, 0) }
  }
#endif
