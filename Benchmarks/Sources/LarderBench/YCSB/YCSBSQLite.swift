// SPDX-License-Identifier: MIT
import CRivals
import Foundation

#if HAS_SQLITE
  import CSQLite

  /// SQLite: a column for each field.
  final class YCSBSQLite: YCSBStore {
    static let name = "SQLite"
    static let settings = """
      SQLite \(SQLiteStore.version), \(SQLiteSettings.text(mapsFile: true)), NOMUTEX, prepared \
      statements, INTEGER PRIMARY KEY, a column for each field, of which an update sets one; one \
      transaction a write, fdatasync of the write-ahead log every second
      """

    private let database: SQLiteDatabase
    private let insert: OpaquePointer?
    private let select: OpaquePointer?
    private let range: OpaquePointer?
    private let updates: [OpaquePointer?]
    /// The log's file, to be synced; closed after the database, whose locks would go with it.
    private let log: Int32

    init(_ path: String, records: Int) throws {
      let database = try SQLiteDatabase(path, mapsFile: true)
      self.database = database
      let names = (0..<YCSBRecord.fields).map { "Field\($0)" }
      let columns = names.joined(separator: ", ")
      try database.execute(
        "CREATE TABLE Records(Key INTEGER PRIMARY KEY, "
          + names.map { $0 + " BLOB" }.joined(separator: ", ") + ")")
      insert = try database.prepare(
        "INSERT INTO Records VALUES (?" + String(repeating: ", ?", count: names.count) + ")")
      select = try database.prepare("SELECT \(columns) FROM Records WHERE Key = ?")
      range = try database.prepare(
        "SELECT \(columns), Key FROM Records WHERE Key >= ? ORDER BY Key LIMIT ?")
      updates = try names.map {
        try database.prepare("UPDATE Records SET \($0) = ? WHERE Key = ?")
      }
      log = open(path + "-wal", O_RDWR | O_CLOEXEC)
      if log < 0 { throw Failure(description: "SQLite's log cannot be opened") }
    }

    deinit {
      for statement in [insert, select, range] + updates { sqlite3_finalize(statement) }
      close(log)
    }

    func insert(_ record: UnsafeRawBufferPointer, under key: UInt64) throws {
      try database.expect(sqlite3_bind_int64(insert, 1, Int64(key)), SQLITE_OK)
      for field in 0..<YCSBRecord.fields {
        let start = record.baseAddress.map { $0 + field * YCSBRecord.fieldBytes }
        try database.expect(
          sqlite3_bind_blob(insert, Int32(field + 2), start, Int32(YCSBRecord.fieldBytes), nil),
          SQLITE_OK)
      }
      try step(insert)
    }

    func update(_ field: Int, of key: UInt64, to bytes: UnsafeRawBufferPointer) throws {
      let statement = updates[field]
      try database.expect(
        sqlite3_bind_blob(statement, 1, bytes.baseAddress, Int32(bytes.count), nil), SQLITE_OK)
      try database.expect(sqlite3_bind_int64(statement, 2, Int64(key)), SQLITE_OK)
      try step(statement)
    }

    func read(_ key: UInt64) throws -> Int {
      try database.expect(sqlite3_bind_int64(select, 1, Int64(key)), SQLITE_OK)
      let status = sqlite3_step(select)
      let intact = status == SQLITE_ROW && Self.isIntact(select, key) ? 1 : 0
      if status != SQLITE_ROW { try database.expect(status, SQLITE_DONE) }
      try database.expect(sqlite3_reset(select), SQLITE_OK)
      return intact
    }

    func scan(from key: UInt64, limit: Int) throws -> Int {
      try database.expect(sqlite3_bind_int64(range, 1, Int64(key)), SQLITE_OK)
      try database.expect(sqlite3_bind_int64(range, 2, Int64(limit)), SQLITE_OK)
      var intact = 0
      while true {
        let status = sqlite3_step(range)
        if status == SQLITE_DONE { break }
        try database.expect(status, SQLITE_ROW)
        let found = UInt64(sqlite3_column_int64(range, Int32(YCSBRecord.fields)))
        if Self.isIntact(range, found) { intact += 1 }
      }
      try database.expect(sqlite3_reset(range), SQLITE_OK)
      return intact
    }

    func beginLoad() throws { try database.execute("BEGIN") }
    func endLoad() throws {
      try database.execute("COMMIT")
      try database.execute("PRAGMA wal_checkpoint(PASSIVE)")
    }
    func sync() throws { try check(rivals_file_sync(log)) }

    private func step(_ statement: OpaquePointer?) throws {
      try database.expect(sqlite3_step(statement), SQLITE_DONE)
      try database.expect(sqlite3_reset(statement), SQLITE_OK)
    }

    @inline(__always)
    private static func isIntact(_ statement: OpaquePointer?, _ key: UInt64) -> Bool {
      var difference: UInt8 = 0
      for field in 0..<Int32(YCSBRecord.fields) {
        guard let bytes = sqlite3_column_blob(statement, field),
          sqlite3_column_bytes(statement, field) == YCSBRecord.fieldBytes
        else { return false }
        difference |= bytes.load(as: UInt8.self) ^ UInt8(truncatingIfNeeded: key)
      }
      return difference == 0
    }
  }
#else
  /// Stands in where SQLite is not installed.
  final class YCSBSQLite: YCSBStore {
    static let name = "SQLite"
    static let settings = "–"
    static let absence = SQLiteStore.absence

    init(_ path: String, records: Int) throws {}
    func insert(_ record: UnsafeRawBufferPointer, under key: UInt64) throws {}
    func update(_ field: Int, of key: UInt64, to bytes: UnsafeRawBufferPointer) throws {}
    func read(_ key: UInt64) throws -> Int { 0 }
    func scan(from key: UInt64, limit: Int) throws -> Int { 0 }
    func sync() throws {}
  }
#endif
