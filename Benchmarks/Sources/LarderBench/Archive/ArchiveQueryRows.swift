// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

// The rows of queries that an index can answer.
extension ArchiveArea {
  private static let limit = 10

  static func top(_ id: String, count: Int, goal: Goal, takesLong: Bool = false) -> Row {
    Row(
      id: id, ours: ours(count),
      rival: .grdb(
        "SELECT",
        does: """
          an index of the score; SELECT … WHERE score >= ? ORDER BY score LIMIT 10, inDatabase and \
          a cached statement, the same ranges
          """),
      goal: goal, takesLong: takesLong
    ) { bench in
      try tops(bench, count: count) { try $0.top(limit, from: $1) }
    }
  }

  static var requestedTop: Row {
    Row(
      id: "archive.query.indexed.request", ours: ours(100_000),
      rival: .grdb(
        "request",
        does: """
          its convenient API: the same by filter, order and limit of its query interface, inside \
          read, as most write it
          """),
      goal: .none, takesLong: true
    ) { bench in
      try tops(bench, count: 100_000) { try $0.requestedTop(limit, from: $1) }
    }
  }

  private static func ours(_ count: Int) -> String {
    """
    the ten lowest scores from a random one on, of \(count) elements with an index of the score, \
    flushed, warm: where { $0.score >= … }, sorted, limit, \
    results; by default up to 1 MiB of elements is kept in memory
    """
  }

  private static func tops(
    _ bench: Bench, count: Int, _ theirTop: @escaping (PersonTable, Int) throws -> [Person]
  ) throws -> Contest {
    let people = Person.many(count)
    let ours = try archive(bench.freshFolder("archive"), hasIndex: true, people)
    let theirs = try PersonTable(bench.fresh("people.db"), hasIndex: true)
    if PersonTable.absence == nil { try theirs.fill(with: people) }
    let starts = Starts(people)
    let theirStarts = Starts(people)
    return Contest(
      ours: { try starts.sample(bench) { try top(ours, from: $0) } },
      rival: { try theirStarts.sample(bench) { try theirTop(theirs, $0) } },
      close: { closeQuietly(ours) })
  }

  @inline(never)
  private static func top(_ archive: Archive<Person>, from score: Int) throws -> [Person] {
    try archive.where { $0.score >= score }
      .sorted(by: \.score).limit(limit).results()
  }

  static var growth: Row {
    Row(
      id: "archive.query.growth",
      ours: """
        how much longer the query of archive.query.indexed takes at 1,000,000 elements (quick: \
        300,000) than at 10,000, from random scores on
        """,
      rival: .grdb("SELECT", does: "its own growth, the same ranges in the same order"),
      goal: .ratio(1.1), unit: "times"
    ) { bench in
      let many = Person.many(bench.quick ? 300_000 : 1_000_000)
      let few = Array(many.prefix(10_000))
      let large = try archive(bench.freshFolder("large"), hasIndex: true, many)
      let small = try archive(bench.freshFolder("small"), hasIndex: true, few)
      let largeTable = try PersonTable(bench.fresh("large.db"), hasIndex: true)
      let smallTable = try PersonTable(bench.fresh("small.db"), hasIndex: true)
      if PersonTable.absence == nil {
        try largeTable.fill(with: many)
        try smallTable.fill(with: few)
      }
      let (inLarge, inSmall) = (Starts(many), Starts(few))
      let (inLargeTable, inSmallTable) = (Starts(many), Starts(few))
      let (ours, theirs) = (Growth(), Growth())
      return Contest(
        ours: {
          try ours.sample(
            small: { try inSmall.sample(bench) { try top(small, from: $0) } },
            large: { try inLarge.sample(bench) { try top(large, from: $0) } })
        },
        rival: {
          try theirs.sample(
            small: { try inSmallTable.sample(bench) { try smallTable.top(limit, from: $0) } },
            large: { try inLargeTable.sample(bench) { try largeTable.top(limit, from: $0) } })
        },
        remarks: { Growth.remarks("10,000 elements", ours, theirs) },
        close: {
          closeQuietly(large)
          closeQuietly(small)
        })
    }
  }

  static var count: Row {
    Row(
      id: "archive.query.count",
      ours: """
        count() of where with a range of the score that about 1,000 of 100,000 elements are \
        in, by the index; none is decoded
        """,
      rival: .grdb(
        "COUNT", does: "SELECT COUNT(*) WHERE score >= ? AND score < ?, cached, by its index"),
      goal: .none
    ) { bench in
      let people = Person.many(100_000)
      let ours = try archive(bench.freshFolder("archive"), hasIndex: true, people)
      let theirs = try PersonTable(bench.fresh("people.db"), hasIndex: true)
      if PersonTable.absence == nil { try theirs.fill(with: people) }
      let width = Person.scores / 100
      let wanted = people.count { $0.score < width }
      func sample(_ count: () throws -> Int) throws -> Double {
        try bench.time(4, loop: .swift) {
          for _ in 0..<4 where try count() != wanted {
            throw Failure(description: "a wrong count")
          }
        }
      }
      return Contest(
        ours: {
          try sample {
            try ours.where { $0.score >= 0 && $0.score < width }.count()
          }
        },
        rival: { try sample { try theirs.count(from: 0, below: width) } },
        close: { closeQuietly(ours) })
    }
  }
}

/// Where ranges begin, and what the ten lowest scores of each are.
private final class Starts {
  private static let size = 20
  private let starts: [Int]
  private let sums: [Int]
  private var next = 0

  init(_ people: [Person]) {
    let scores = people.map(\.score).sorted()
    var generator = SplitMix(seed: 9)
    let places = (0..<2000).map { _ in Int(generator.next() % UInt64(scores.count - 10)) }
    starts = places.map { scores[$0] }
    sums = places.map { place in
      // Several may have the score that the range begins with.
      var first = place
      while first > 0, scores[first - 1] == scores[place] { first -= 1 }
      return scores[first..<first + 10].reduce(0, +)
    }
  }

  /// One sample of queries, each of which is looked at: speed counts only where the answer is
  /// right.
  func sample(_ bench: Bench, _ top: (Int) throws -> [Person]) throws -> Double {
    if next + Self.size > starts.count { next = 0 }
    let range = next..<next + Self.size
    next += Self.size
    return try bench.time(Self.size, loop: .swift) {
      for place in range {
        let found = try top(starts[place])
        guard found.count == 10, found.reduce(0, { $0 + $1.score }) == sums[place] else {
          throw Failure(description: "a query has a wrong answer")
        }
      }
    }
  }
}
