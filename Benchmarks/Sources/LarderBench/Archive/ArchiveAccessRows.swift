// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

// The rows that access single elements.
extension ArchiveArea {
  static var access: Row {
    access(
      "archive.access",
      rival: .grdb("fetchOne", does: "inDatabase, a cached SELECT by key, the same keys"),
      goal: .ratio(0.3)
    ) { try $0.person($1) }
  }

  static var accessConveniently: Row {
    access(
      "archive.access.convenient",
      rival: .grdb(
        "fetchOne, record", does: "its convenient API: read and fetchOne(_:key:), the same keys"),
      goal: .none
    ) { try $0.personConveniently($1) }
  }

  private static func access(
    _ id: String, rival: Rival, goal: Goal,
    _ theirAccess: @escaping (PersonTable, Int) throws -> Person?
  ) -> Row {
    Row(
      id: id,
      ours: """
        Archive<Person>.element(forID:) of 100,000, flushed, warm, in random order; all of it is \
        decoded, because nothing is kept in memory
        """,
      rival: rival, goal: goal
    ) { bench in
      let people = Keys.shuffled(Person.many(stored))
      let ours = try archive(
        bench.freshFolder("archive"), hasIndex: false, keeps: false, people)
      let theirs = try PersonTable(bench.fresh("people.db"), hasIndex: false)
      try theirs.fill(with: people)
      let ourPieces = Pieces(people, size: 2000)
      let theirPieces = Pieces(people, size: 2000)
      return Contest(
        ours: { try sample(bench, ourPieces) { try ours.element(forID: $0) } },
        rival: { try sample(bench, theirPieces) { try theirAccess(theirs, $0) } },
        close: { closeQuietly(ours) })
    }
  }

  static var accessInMemory: Row {
    Row(
      id: "archive.access.memory",
      ours: """
        Archive<Person>.element(forID:) of 2,000, all of them in memory, decoded (64 MiB for it), \
        in random order
        """,
      rival: Rival(
        name: "MemoryCache get",
        settings: "ours: MemoryCache<Int, Person>.value(forKey:), no limits, the same keys"),
      goal: .ratio(3)
    ) { bench in
      let people = Keys.shuffled(Person.many(2000))
      var configuration = ArchiveConfiguration()
      configuration.memorySizeLimit = 64.megabytes
      let ours = try Archive<Person>(
        at: .path(bench.freshFolder("archive")), configuration: configuration)
      try ours.upsert(all: people)
      try ours.checkpoint()
      let memory = MemoryCache<Int, Person>()
      for person in people { memory.set(person, forKey: person.id) }
      let ourPieces = Pieces(people, size: people.count)
      let theirPieces = Pieces(people, size: people.count)
      return Contest(
        ours: { try warmSample(bench, ourPieces) { try ours.element(forID: $0) } },
        rival: { try warmSample(bench, theirPieces) { memory.value(forKey: $0) } },
        close: { closeQuietly(ours) })
    }
  }

  private static func sample(
    _ bench: Bench, _ pieces: Pieces, _ access: (Int) throws -> Person?
  ) throws -> Double {
    let piece = pieces.next(changed: false)
    return try bench.time(piece.count, loop: .swift) {
      for person in piece { try expect(try access(person.id), person) }
    }
  }

  /// The second of two: the first brings back what the other side has driven out.
  private static func warmSample(
    _ bench: Bench, _ pieces: Pieces, _ access: (Int) throws -> Person?
  ) throws -> Double {
    _ = try sample(bench, pieces, access)
    return try sample(bench, pieces, access)
  }

  /// Speed counts only where the answer is right.
  @inline(__always)
  private static func expect(_ found: Person?, _ wanted: Person) throws {
    guard let found, found.score == wanted.score else {
      throw Failure(description: "an element is missing, or not the one that was recorded")
    }
  }
}
