// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

// The rows of queries by primary key, by several indexes and by one of several properties.
extension ArchiveArea {
  private static let size = 20

  /// 100,000 of which ten share each age, and other ten each score.
  private static var tens: [Person] {
    Person.many(stored).map { person in
      var person = person
      person.age = person.id % 10_000
      person.score = person.id / 10
      return person
    }
  }

  static var keys: Row {
    Row(
      id: "archive.query.key",
      ours: """
        100 of 100,000 elements by a range of the primary key: where { $0.id.within(…) }, \
        results
        """,
      rival: .grdb("SELECT", does: "SELECT … WHERE id >= ? AND id < ?, inDatabase and cached"),
      goal: .ratio(1)
    ) { bench in
      try contest(bench, Person.many(stored), [], []) { archive, number in
        let first = number % (stored - 100)
        return try archive.where { $0.id.within(first..<first + 100) }.results()
      } rival: { table, number in
        let first = number % (stored - 100)
        return try table.all(from: first, below: first + 100)
      } isRight: { found, number in
        found.count == 100 && found[0].id == number % (stored - 100)
      }
    }
  }

  static var either: Row {
    Row(
      id: "archive.query.or",
      ours: """
        those of one age or one score, ten each of 100,000, both indexed: filter(#Predicate), \
        results
        """,
      rival: .grdb("SELECT", does: "SELECT … WHERE age = ? OR score = ?, inDatabase and cached"),
      goal: .ratio(1)
    ) { bench in
      try contest(bench, tens, byScore + [ArchiveIndex("age", \.age)], [["score"], ["age"]]) {
        archive, number in
        let (age, score) = (number % 10_000, number % 9_999)
        return try archive.where(#Predicate { $0.age == age || $0.score == score }).results()
      } rival: { table, number in
        try table.all(age: number % 10_000, orScore: number % 9_999)
      } isRight: { found, number in
        (19...20).contains(found.count)
          && found.allSatisfy { $0.age == number % 10_000 || $0.score == number % 9_999 }
      }
    }
  }

  static var compound: Row {
    Row(
      id: "archive.query.compound",
      ours: """
        the ten lowest scores from a random one on, of one of 70 ages, of 100,000 elements with an \
        index of both: where, sorted, limit, results
        """,
      rival: .grdb(
        "SELECT",
        does: """
          an index of both columns; SELECT … WHERE age = ? AND score >= ? ORDER BY score LIMIT 10, \
          inDatabase and cached
          """),
      goal: .ratio(1)
    ) { bench in
      let index = ArchiveIndex<Person>("ageScore", \.age, \.score)
      return try contest(bench, Person.many(stored), [index], [["age", "score"]]) {
        archive, number in
        try archive.where { $0.age == 18 + number % 70 && $0.score >= number * 9_000 }.sorted(
          by: \.score
        ).limit(10).results()
      } rival: { table, number in
        try table.top(10, age: 18 + number % 70, from: number * 9_000)
      } isRight: { found, number in
        found.count == 10 && found.allSatisfy { $0.score >= number * 9_000 }
          && zip(found, found.dropFirst()).allSatisfy { $0.score <= $1.score }
      }
    }
  }

  /// Queries with random numbers below 100,000, each of which is looked at.
  private static func contest(
    _ bench: Bench, _ people: [Person], _ indexes: [ArchiveIndex<Person>], _ columns: [[String]],
    ours: @escaping (Archive<Person>, Int) throws -> [Person],
    rival: @escaping (PersonTable, Int) throws -> [Person],
    isRight: @escaping ([Person], Int) -> Bool
  ) throws -> Contest {
    let archive = try archive(bench.freshFolder("archive"), indexes: indexes, people)
    let table = try PersonTable(bench.fresh("people.db"), indexes: columns)
    if PersonTable.absence == nil { try table.fill(with: people) }
    func sample(
      _ random: inout SplitMix, _ find: (Int) throws -> [Person]
    ) throws -> Double {
      let numbers = (0..<size).map { _ in Int(random.next() % UInt64(stored)) }
      return try bench.time(size, loop: .swift) {
        for number in numbers where try !isRight(find(number), number) {
          throw Failure(description: "a query has a wrong answer")
        }
      }
    }
    var (random, theirRandom) = (SplitMix(seed: 5), SplitMix(seed: 5))
    return Contest(
      ours: { try sample(&random) { try ours(archive, $0) } },
      rival: { try sample(&theirRandom) { try rival(table, $0) } },
      close: { closeQuietly(archive) })
  }

  static var deleteWhere: Row {
    Row(
      id: "archive.delete.where",
      ours: """
        deleting some 1,000 of 100,000 elements by a range of an indexed property: where, \
        delete; the flush that follows is in the time, recording them again is not
        """,
      rival: .grdb(
        "DELETE", does: "DELETE … WHERE score >= ? AND score < ?, one cached statement"),
      goal: .ratio(1)
    ) { bench in
      let people = Person.many(stored)
      let archive = try archive(bench.freshFolder("archive"), hasIndex: true, people)
      let table = try PersonTable(bench.fresh("people.db"), hasIndex: true)
      if PersonTable.absence == nil { try table.fill(with: people) }
      let width = Person.scores / 100
      let ranges = (0..<100).map { number in (number * width)..<(number + 1) * width }
      let groups = ranges.map { range in people.filter { range.contains($0.score) } }
      var (next, theirNext) = (0, 0)
      return Contest(
        ours: {
          defer { next = (next + 1) % 100 }
          let time = try bench.time(1, loop: .swift) {
            let count = try archive.where { $0.score.within(ranges[next]) }.delete()
            guard count == groups[next].count else {
              throw Failure(description: "others were deleted")
            }
            try archive.checkpoint()
          }
          try archive.upsert(all: groups[next])
          try archive.checkpoint()
          return time
        },
        rival: {
          defer { theirNext = (theirNext + 1) % 100 }
          let range = ranges[theirNext]
          let time = try bench.time(1, loop: .swift) {
            try table.delete(from: range.lowerBound, below: range.upperBound)
          }
          try table.record(all: groups[theirNext])
          return time
        },
        close: { closeQuietly(archive) })
    }
  }
}
