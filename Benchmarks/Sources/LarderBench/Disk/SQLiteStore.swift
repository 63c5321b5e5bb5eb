// SPDX-License-Identifier: MIT
import Foundation

#if HAS_SQLITE
  import CSQLite

  /// A cache as one keeps it in SQLite: a table by an integer, one prepared statement each way. An
  /// INTEGER PRIMARY KEY is the table's own order, so nothing is cheaper for such keys.
  final class SQLiteStore: DurableStore {
    static let absence: String? = nil
    static var version: String { String(cString: sqlite3_libversion()) }

    private let database: SQLiteDatabase
    private var upsert: OpaquePointer?
    private var select: OpaquePointer?

    init(_ path: String, synchronous: String = "NORMAL") throws {
      database = try SQLiteDatabase(path, synchronous: synchronous)
      try database.execute("CREATE TABLE Entries(Key INTEGER PRIMARY KEY, Value)")
      upsert = try database.prepare(
        "INSERT INTO Entries VALUES (?, ?) ON CONFLICT (Key) DO UPDATE SET Value = excluded.Value")
      select = try database.prepare("SELECT Value FROM Entries WHERE Key = ?")
    }

    deinit {
      sqlite3_finalize(upsert)
      sqlite3_finalize(select)
    }

    /// Outside an explicit transaction each is one of its own.
    @inline(__always)
    func put(_ value: Int, under key: Int) throws {
      try database.expect(sqlite3_bind_int64(upsert, 1, Int64(key)), SQLITE_OK)
      try database.expect(sqlite3_bind_int64(upsert, 2, Int64(value)), SQLITE_OK)
      try database.expect(sqlite3_step(upsert), SQLITE_DONE)
      try database.expect(sqlite3_reset(upsert), SQLITE_OK)
    }

    @inline(__always)
    func read(_ key: Int) throws -> Int? {
      try database.expect(sqlite3_bind_int64(select, 1, Int64(key)), SQLITE_OK)
      let status = sqlite3_step(select)
      var value: Int?
      if status == SQLITE_ROW {
        value = Int(sqlite3_column_int64(select, 0))
      } else {
        try database.expect(status, SQLITE_DONE)
      }
      try database.expect(sqlite3_reset(select), SQLITE_OK)
      return value
    }

    /// Everything in one transaction, and the log emptied.
    func fill(with keys: [Int]) throws {
      try database.execute("BEGIN")
      for key in keys { try put(value(of: key), under: key) }
      try database.execute("COMMIT")
      try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }
  }
#else
  /// Stands in where SQLite is not installed.
  final class SQLiteStore: DurableStore {
    static let absence: String? = "SQLite is not installed (make bench-deps installs it)"
    static let version = "none"

    init(_ path: String, synchronous: String = "NORMAL") throws {}
    func put(_ value: Int, under key: Int) throws {}
    func read(_ key: Int) throws -> Int? { nil }
    func fill(with keys: [Int]) throws {}
  }
#endif

extension Rival {
  static func sqlite(_ what: String, synchronous: String = "NORMAL", does: String) -> Rival {
    Rival(
      name: "SQLite \(what)",
      settings: """
        SQLite \(SQLiteStore.version), \(SQLiteSettings.text(synchronous: synchronous)), NOMUTEX; \
        a table with INTEGER PRIMARY KEY, one prepared statement, \(does)
        """,
      absence: SQLiteStore.absence)
  }
}
