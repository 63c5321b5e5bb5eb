// SPDX-License-Identifier: MIT

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
