// SPDX-License-Identifier: MIT

/// How SQLite is set up, in all rows that have it: as an expert does who has one process.
enum SQLiteSettings {
  /// In the order in which they count: the locking mode decides where the log's index lies.
  static func pragmas(synchronous: String = "NORMAL", mapsFile: Bool = false) -> [String] {
    [
      "locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = \(synchronous)",
      "cache_size = -65536", "wal_autocheckpoint = 10000",
    ] + (mapsFile ? ["mmap_size = \(8 << 30)"] : [])
  }

  static func text(synchronous: String = "NORMAL", mapsFile: Bool = false) -> String {
    """
    journal_mode=WAL, synchronous=\(synchronous), locking_mode=EXCLUSIVE, cache_size 64 MiB, \
    wal_autocheckpoint=10000\(mapsFile ? ", mmap_size 8 GiB" : "")
    """
  }
}

#if HAS_SQLITE
  import CSQLite

  /// One connection to a new database, used by one thread.
  final class SQLiteDatabase {
    private var database: OpaquePointer?

    /// `synchronous` is NORMAL or FULL; `mapsFile` is for those who read much of it.
    init(_ path: String, synchronous: String = "NORMAL", mapsFile: Bool = false) throws {
      // One thread uses it, so it need not lock.
      let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
      try expect(sqlite3_open_v2(path, &database, flags, nil), SQLITE_OK)
      for pragma in SQLiteSettings.pragmas(synchronous: synchronous, mapsFile: mapsFile) {
        try execute("PRAGMA \(pragma)")
      }
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
