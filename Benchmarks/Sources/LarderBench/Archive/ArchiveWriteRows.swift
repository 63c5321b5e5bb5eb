// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

// The rows that record, and that access single elements.
extension ArchiveArea {
  private static let stored = 100_000

  static func record(_ id: String, hasIndex: Bool, goal: Goal) -> Row {
    let index = hasIndex ? "an index of one property" : "no index but the primary key"
    return Row(
      id: id,
      ours: """
        Archive<Person>.record, six properties, \(index), process-durable, defaults: of 100,000 \
        that are there, 5,000 at a time in random order; flushed between samples
        """,
      rival: .grdb("upsert", does: "one upsert and one transaction a record, \(index)"),
      goal: goal
    ) { bench in
      let people = Keys.shuffled(Person.many(stored))
      let ours = try archive(bench.freshFolder("archive"), hasIndex: hasIndex, people)
      let theirs = try PersonTable(bench.fresh("people.db"), hasIndex: hasIndex)
      try theirs.fill(with: people)
      let ourPieces = Pieces(people, size: 5000)
      let theirPieces = Pieces(people, size: 500)
      return Contest(
        ours: {
          let piece = ourPieces.next(changed: true)
          let time = try bench.time(piece.count, loop: .swift) {
            for person in piece { try ours.record(person) }
          }
          // So that its thread does not work while the rival is measured.
          try ours.flush()
          return time
        },
        rival: {
          let piece = theirPieces.next(changed: true)
          return try bench.time(piece.count, loop: .swift) {
            for person in piece { try theirs.record(person) }
          }
        },
        close: { closeQuietly(ours) })
    }
  }

  static var recordMany: Row {
    Row(
      id: "archive.record.many",
      ours: """
        Archive<Person>.insert(all:) of 5,000 that are there of 100,000, in random order, with an \
        index of one property; the time for each. Flushed between samples
        """,
      rival: .grdb("upsert", does: "the same 5,000 upserts in one transaction"),
      goal: .none
    ) { bench in
      let people = Keys.shuffled(Person.many(stored))
      let ours = try archive(bench.freshFolder("archive"), hasIndex: true, people)
      let theirs = try PersonTable(bench.fresh("people.db"), hasIndex: true)
      try theirs.fill(with: people)
      let ourPieces = Pieces(people, size: 5000)
      let theirPieces = Pieces(people, size: 5000)
      return Contest(
        ours: {
          let piece = ourPieces.next(changed: true)
          let time = try bench.time(piece.count, loop: .swift) { try ours.insert(all: piece) }
          try ours.flush()
          return time
        },
        rival: {
          let piece = theirPieces.next(changed: true)
          return try bench.time(piece.count, loop: .swift) { try theirs.record(all: piece) }
        },
        close: { closeQuietly(ours) })
    }
  }

  static var access: Row {
    Row(
      id: "archive.access",
      ours: """
        Archive<Person>.access(_:) of 100,000, flushed, warm, in random order; all of it is \
        decoded, because nothing is kept in memory
        """,
      rival: .grdb("fetchOne", does: "fetchOne(_:key:), the same keys"), goal: .none
    ) { bench in
      let people = Keys.shuffled(Person.many(stored))
      let ours = try archive(
        bench.freshFolder("archive"), hasIndex: false, keeps: false, people)
      let theirs = try PersonTable(bench.fresh("people.db"), hasIndex: false)
      try theirs.fill(with: people)
      let ourPieces = Pieces(people, size: 2000)
      let theirPieces = Pieces(people, size: 500)
      return Contest(
        ours: {
          let piece = ourPieces.next(changed: false)
          return try bench.time(piece.count, loop: .swift) {
            for person in piece { try expect(try ours.access(person.id), person) }
          }
        },
        rival: {
          let piece = theirPieces.next(changed: false)
          return try bench.time(piece.count, loop: .swift) {
            for person in piece { try expect(try theirs.person(person.id), person) }
          }
        },
        close: { closeQuietly(ours) })
    }
  }

  /// Speed counts only where the answer is right.
  @inline(__always)
  private static func expect(_ found: Person?, _ wanted: Person) throws {
    guard let found, found.score == wanted.score else {
      throw Failure(description: "an element is missing, or not the one that was recorded")
    }
  }
}

/// A list that samples go through in pieces, round and round.
final class Pieces {
  private let people: [Person]
  private let size: Int
  private var start = 0
  private var round = 0

  init(_ people: [Person], size: Int) {
    self.people = people
    self.size = size
  }

  /// - Parameter changed: Whether they are others than in the round before: some stores do not
  ///   write what is there already.
  func next(changed: Bool) -> [Person] {
    if start + size > people.count {
      start = 0
    }
    round += 1
    let piece = people[start..<start + size]
    start += size
    if !changed { return Array(piece) }
    return piece.map { person in
      var person = person
      person.score = (person.score + round) % Person.scores
      return person
    }
  }
}
