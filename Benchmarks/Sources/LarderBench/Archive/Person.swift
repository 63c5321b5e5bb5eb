// SPDX-License-Identifier: MIT
import Foundation
import Larder

/// What the rows of this area store: six properties of four types, about as long as a row of a
/// table of users.
struct Person: Codable, Identifiable, Equatable, Sendable {
  var id: Int
  var name: String
  var email: String
  var age: Int
  var score: Int
  var isActive: Bool

  /// The one with that number. Scores are all over their range.
  init(_ number: Int) {
    var generator = SplitMix(seed: UInt64(number))
    let first = Self.firstNames[Int(generator.next() % UInt64(Self.firstNames.count))]
    id = number
    name = "\(first) Example-\(number)"
    email = "\(first.lowercased()).\(number)@mail.example"
    age = 18 + Int(generator.next() % 70)
    score = Int(generator.next() % UInt64(Self.scores))
    isActive = generator.next() % 4 != 0
  }

  init(id: Int, name: String, email: String, age: Int, score: Int, isActive: Bool) {
    self.id = id
    self.name = name
    self.email = email
    self.age = age
    self.score = score
    self.isActive = isActive
  }

  /// Scores are below this.
  static let scores = 1_000_000_000

  static func many(_ count: Int) -> [Person] { (0..<count).map { Person($0) } }

  private static let firstNames = [
    "Ada", "Bram", "Chiara", "Dora", "Emil", "Fatima", "Grete", "Hugo", "Ines", "Jonas",
  ]
}
