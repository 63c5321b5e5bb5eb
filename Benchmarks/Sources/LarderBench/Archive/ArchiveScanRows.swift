// SPDX-License-Identifier: MIT
import CRivals
import Foundation
import Larder

// The rows of queries that no index helps with.
extension ArchiveArea {
  private static let scanned = 2000

  static func scan(_ id: String, keeps: Bool, goal: Goal) -> Row {
    scan(
      id, keeps: keeps,
      rival: Rival(
        name: "JSONDecoder",
        settings: """
          the same 2,000 elements as JSON in memory, one Data each; one decoder decodes one after \
          the other, and those that pass are kept
          """),
      goal: goal
    ) { people in
      let encoder = JSONEncoder()
      let decoder = JSONDecoder()
      let bytes = try people.map { try encoder.encode($0) }
      return {
        var found: [Person] = []
        for bytes in bytes {
          let person = try decoder.decode(Person.self, from: bytes)
          if passes(person) { found.append(person) }
        }
        return found
      }
    }
  }

  static var scanOfArray: Row {
    scan(
      "archive.query.scan.array", keeps: false,
      rival: Rival(
        name: "JSONDecoder, array",
        settings: "the same, but all 2,000 as one JSON array that is decoded at once"),
      goal: .none
    ) { people in
      let decoder = JSONDecoder()
      let bytes = try JSONEncoder().encode(people)
      return { try decoder.decode([Person].self, from: bytes).filter(passes) }
    }
  }

  private static func passes(_ person: Person) -> Bool { person.age > 60 && person.isActive }

  private static func scan(
    _ id: String, keeps: Bool, rival: Rival, goal: Goal,
    _ makeTheirs: @escaping ([Person]) throws -> () throws -> [Person]
  ) -> Row {
    let memory = keeps ? "defaults: they may be in memory, decoded" : "none of them in memory"
    return Row(
      id: id,
      ours: """
        where { $0.age > 60 && $0.isActive == true } without an index \
        for it, 2,000 elements of about 100 B, flushed, warm, \(memory); the time for all
        """,
      rival: rival, goal: goal
    ) { bench in
      let people = Person.many(scanned)
      let wanted = people.filter(passes)
      let ours = try archive(bench.freshFolder("archive"), hasIndex: false, keeps: keeps, people)
      let theirs = try makeTheirs(people)
      func sample(_ query: () throws -> [Person]) throws -> Double {
        var found: [Person] = []
        let time = try bench.time(1, loop: .none) { found = try query() }
        guard found.map(\.id) == wanted.map(\.id) else {
          throw Failure(description: "a query has a wrong answer")
        }
        return time
      }
      return Contest(
        ours: {
          try sample {
            try ours.where { $0.age > 60 && $0.isActive == true }.results()
          }
        },
        rival: { try sample(theirs) },
        close: { closeQuietly(ours) })
    }
  }
}
