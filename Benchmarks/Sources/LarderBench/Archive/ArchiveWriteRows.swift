// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

// The rows that record elements.
extension ArchiveArea {
  static let stored = 100_000
  /// Enough for a checkpoint of the rival's log in each sample, as there is a flush of ours.
  private static let recorded = 10_000

  static func record(
    _ id: String, hasIndex: Bool, flushes: Bool = true, goal: Goal
  ) -> Row {
    record(
      id, hasIndex: hasIndex, flushes: flushes,
      rival: .grdb(
        "upsert",
        does: "inDatabase, a cached upsert, one transaction a record, \(index(hasIndex))"),
      goal: goal
    ) { try $0.record($1) }
  }

  static var conveniently: Row {
    record(
      "archive.record.convenient", hasIndex: false, flushes: true,
      rival: .grdb(
        "upsert, record",
        does: "its convenient API: write and upsert of the record, one transaction a record"),
      goal: .none
    ) { try $0.recordConveniently($1) }
  }

  private static func index(_ hasIndex: Bool) -> String {
    hasIndex ? "an index of one property" : "no index but the primary key"
  }

  private static func record(
    _ id: String, hasIndex: Bool, flushes: Bool, rival: Rival, goal: Goal,
    _ theirRecord: @escaping (PersonTable, Person) throws -> Void
  ) -> Row {
    Row(
      id: id,
      ours: """
        Archive<Person>.upsert, six properties, \(index(hasIndex)), process-durable, defaults: of \
        100,000 that are there, 10,000 at a time in random order; \(Bench.timing(flushes))
        """,
      rival: rival, goal: goal
    ) { bench in
      try upserts(bench, hasIndex: hasIndex, flushes: flushes) { ours, piece in
        for person in piece { try ours.upsert(person) }
      } rival: { theirs, piece in
        for person in piece { try theirRecord(theirs, person) }
      }
    }
  }

  /// Records people who are there, the same on both sides.
  private static func upserts(
    _ bench: Bench, hasIndex: Bool, flushes: Bool,
    ours record: @escaping (Archive<Person>, [Person]) throws -> Void,
    rival theirRecord: @escaping (PersonTable, [Person]) throws -> Void
  ) throws -> Contest {
    let people = Keys.shuffled(Person.many(stored))
    let ours = try archive(bench.freshFolder("archive"), hasIndex: hasIndex, people)
    let theirs = try PersonTable(bench.fresh("people.db"), hasIndex: hasIndex)
    try theirs.fill(with: people)
    let ourPieces = Pieces(people, size: recorded)
    let theirPieces = Pieces(people, size: recorded)
    return Contest(
      ours: {
        let piece = ourPieces.next(changed: true)
        return try bench.time(piece.count, loop: .swift, flushes: flushes) {
          try record(ours, piece)
        } flush: {
          try ours.checkpoint()
        }
      },
      rival: {
        let piece = theirPieces.next(changed: true)
        return try bench.time(piece.count, loop: .swift) { try theirRecord(theirs, piece) }
      },
      close: { closeQuietly(ours) })
  }

  static var recordMany: Row {
    Row(
      id: "archive.record.many",
      ours: """
        Archive<Person>.upsert(all:) of 10,000 that are there of 100,000, in random order, with an \
        index of one property; the time for each, \(Bench.timing(true))
        """,
      rival: .grdb("upsert", does: "the same 10,000 upserts, cached, in one transaction"),
      goal: .ratio(1)
    ) { bench in
      try upserts(bench, hasIndex: true, flushes: true) { ours, piece in
        try ours.upsert(all: piece)
      } rival: { theirs, piece in
        try theirs.record(all: piece)
      }
    }
  }
}

extension Bench {
  /// Times `body` and, where `flushes` says so, the flush of what it wrote. Otherwise that comes
  /// after the time, so that no thread of ours works while the rival is measured.
  func time(
    _ count: Int, loop: Loop, flushes: Bool, _ body: () throws -> Void, flush: () throws -> Void
  ) rethrows -> Double {
    let time = try time(count, loop: loop) {
      try body()
      if flushes { try flush() }
    }
    if !flushes { try flush() }
    return time
  }

  /// What the rows' texts say of that.
  static func timing(_ flushes: Bool) -> String {
    flushes
      ? "the flush that follows is in the time"
      : "the time until the call returns: the flush that follows is not in it"
  }
}
