// SPDX-License-Identifier: MIT
import Foundation

#if HAS_GRDB
  import GRDB

  // Written out rather than left to Codable, which GRDB documents as slower.
  extension Person: FetchableRecord, PersistableRecord {
    static let databaseTableName = "person"

    init(row: GRDB.Row) {
      self.init(
        id: row[0], name: row[1], email: row[2], age: row[3], score: row[4], isActive: row[5])
    }

    func encode(to container: inout PersistenceContainer) {
      container["id"] = id
      container["name"] = name
      container["email"] = email
      container["age"] = age
      container["score"] = score
      container["isActive"] = isActive
    }
  }

  /// People in SQLite by way of GRDB: as an expert uses it, outside of transactions that no other
  /// connection needs and by cached statements, and by its convenient calls.
  final class PersonTable {
    static let absence: String? = nil
    private let queue: DatabaseQueue

    convenience init(_ path: String, hasIndex: Bool) throws {
      try self.init(path, indexes: hasIndex ? [["score"]] : [])
    }

    /// - Parameter indexes: The columns of each.
    init(_ path: String, indexes: [[String]]) throws {
      var configuration = Configuration()
      configuration.journalMode = .wal
      configuration.prepareDatabase { database in
        for pragma in SQLiteSettings.pragmas() { try database.execute(sql: "PRAGMA \(pragma)") }
      }
      queue = try DatabaseQueue(path: path, configuration: configuration)
      try queue.write { database in
        try database.create(table: "person") { table in
          table.primaryKey("id", .integer)
          table.column("name", .text).notNull()
          table.column("email", .text).notNull()
          table.column("age", .integer).notNull()
          table.column("score", .integer).notNull()
          table.column("isActive", .boolean).notNull()
        }
        for columns in indexes {
          try database.create(
            index: "by" + columns.joined(), on: "person", columns: columns)
        }
      }
    }

    /// One statement, and so one transaction, a person.
    func record(_ person: Person) throws {
      try queue.inDatabase { try Self.upsert(person, in: $0) }
    }

    /// The same by its record type's call.
    func recordConveniently(_ person: Person) throws {
      try queue.write { try person.upsert($0) }
    }

    private static func upsert(_ person: Person, in database: Database) throws {
      let statement = try database.cachedStatement(
        sql: """
          INSERT INTO person (id, name, email, age, score, isActive) VALUES (?, ?, ?, ?, ?, ?)
          ON CONFLICT (id) DO UPDATE SET name = excluded.name, email = excluded.email,
            age = excluded.age, score = excluded.score, isActive = excluded.isActive
          """)
      try statement.execute(arguments: [
        person.id, person.name, person.email, person.age, person.score, person.isActive,
      ])
    }

    /// All in one transaction, and the log emptied.
    func fill(with people: [Person]) throws {
      try record(all: people)
      try queue.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    }

    /// All in one transaction.
    func record(all people: [Person]) throws {
      try queue.write { database in
        for person in people { try Self.upsert(person, in: database) }
      }
    }

    func person(_ id: Int) throws -> Person? {
      try queue.inDatabase { database in
        let statement = try database.cachedStatement(sql: "SELECT * FROM person WHERE id = ?")
        return try Person.fetchOne(statement, arguments: [id])
      }
    }

    /// The same by its record type's call.
    func personConveniently(_ id: Int) throws -> Person? {
      try queue.read { try Person.fetchOne($0, key: id) }
    }

    func top(_ limit: Int, from score: Int) throws -> [Person] {
      try queue.inDatabase { database in
        let statement = try database.cachedStatement(
          sql: "SELECT * FROM person WHERE score >= ? ORDER BY score LIMIT ?")
        return try Person.fetchAll(statement, arguments: [score, limit])
      }
    }

    /// By GRDB's query interface, as most write it.
    func requestedTop(_ limit: Int, from score: Int) throws -> [Person] {
      try queue.read { database in
        try Person.filter(Column("score") >= score).order(Column("score")).limit(limit)
          .fetchAll(database)
      }
    }

    /// What a query finds.
    func all(_ rest: String, _ arguments: StatementArguments) throws -> [Person] {
      try queue.inDatabase { database in
        let statement = try database.cachedStatement(sql: "SELECT * FROM person " + rest)
        return try Person.fetchAll(statement, arguments: arguments)
      }
    }

    func all(from low: Int, below high: Int) throws -> [Person] {
      try all("WHERE id >= ? AND id < ?", [low, high])
    }

    func all(age: Int, orScore score: Int) throws -> [Person] {
      try all("WHERE age = ? OR score = ?", [age, score])
    }

    func top(_ limit: Int, age: Int, from score: Int) throws -> [Person] {
      try all("WHERE age = ? AND score >= ? ORDER BY score LIMIT ?", [age, score, limit])
    }

    func delete(from low: Int, below high: Int) throws {
      try queue.inDatabase { database in
        let statement = try database.cachedStatement(
          sql: "DELETE FROM person WHERE score >= ? AND score < ?")
        try statement.execute(arguments: [low, high])
      }
    }

    func count(from low: Int, below high: Int) throws -> Int {
      try queue.inDatabase { database in
        let statement = try database.cachedStatement(
          sql: "SELECT COUNT(*) FROM person WHERE score >= ? AND score < ?")
        return try Int.fetchOne(statement, arguments: [low, high]) ?? 0
      }
    }
  }
#else
  /// Stands in where GRDB is not there.
  final class PersonTable {
    static let absence: String? = "GRDB is left out, or SQLite is not installed"

    init(_ path: String, hasIndex: Bool) throws {}
    init(_ path: String, indexes: [[String]]) throws {}
    func record(_ person: Person) throws {}
    func recordConveniently(_ person: Person) throws {}
    func fill(with people: [Person]) throws {}
    func record(all people: [Person]) throws {}
    func person(_ id: Int) throws -> Person? { nil }
    func personConveniently(_ id: Int) throws -> Person? { nil }
    func top(_ limit: Int, from score: Int) throws -> [Person] { [] }
    func requestedTop(_ limit: Int, from score: Int) throws -> [Person] { [] }
    func all(from low: Int, below high: Int) throws -> [Person] { [] }
    func all(age: Int, orScore score: Int) throws -> [Person] { [] }
    func top(_ limit: Int, age: Int, from score: Int) throws -> [Person] { [] }
    func delete(from low: Int, below high: Int) throws {}
    func count(from low: Int, below high: Int) throws -> Int { 0 }
  }
#endif

extension Rival {
  static func grdb(_ what: String, does: String) -> Rival {
    Rival(
      name: "GRDB \(what)",
      settings: """
        GRDB 7.10.0 on SQLite \(SQLiteStore.version): DatabaseQueue, \(SQLiteSettings.text()), \
        INTEGER PRIMARY KEY, records that decode themselves: \(does)
        """,
      absence: PersonTable.absence)
  }
}
