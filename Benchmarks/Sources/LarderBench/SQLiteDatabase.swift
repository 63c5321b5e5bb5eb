// SPDX-License-Identifier: MIT
#if HAS_SQLITE
  import CSQLite

  /// One connection to a new database, as the rivals use it: write-ahead log, one thread.
  final class SQLiteDatabase {
    private var database: OpaquePointer?

    /// `synchronous` is NORMAL or FULL.
    init(_ path: String, synchronous: String = "NORMAL") throws {
      // One thread uses it, so it need not lock.
      let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
      try expect(sqlite3_open_v2(path, &database, flags, nil), SQLITE_OK)
      try execute("PRAGMA journal_mode = WAL")
      try execute("PRAGMA synchronous = \(synchronous)")
    }

    deinit { sqlite3_close(database) }

    func execute(_ sql: String) throws {
      try expect(sqlite3_exec(database, sql, nil, nil, nil), SQLITE_OK)
    }

    func prepare(_ sql: String) throws -> OpaquePointer? {
      var statement: OpaquePointer?
      try expect(
        sqlite3_prepare_v3(
          database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil), SQLITE_OK)
      return statement
    }

    @inline(__always)
    func expect(_ status: Int32, _ wanted: Int32) throws {
      guard status != wanted else { return }
      throw Failure(description: "SQLite: \(String(cString: sqlite3_errmsg(database)))")
    }
  }
#endif
