// SPDX-License-Identifier: MIT
import Foundation
import Larder
import LarderTestSupport

/// A query, and what it means: the same on an array.
struct ArchiveQuestion: CustomStringConvertible {
  private enum Filter {
    case none
    case score(from: Int, below: Int)
    case scoreIs(Int)
    case name(String)
    case nameAndScore(String, above: Int)
    case hasNoLevel
    case level(above: Double)
    case rank(above: UInt8)
    case rankIsNot(UInt8, above: UInt8)
  }

  private enum Sort { case none, score, scoreDescending, name, levelThenScore }

  private let filter: Filter
  private let sort: Sort
  private var limit: Int?

  init(_ dice: inout Dice) {
    let low = dice.between(-22, 20)
    filter =
      switch dice.below(10) {
      case 0: .none
      case 1, 2: .score(from: low, below: low + dice.between(0, 12))
      case 3: .scoreIs(low)
      case 4: .name(dice.pick(["ada", "emil", "čeněk", "", "nobody"]))
      case 5: .nameAndScore(dice.pick(["ada", "emil", "Bea"]), above: low)
      case 6: .hasNoLevel
      case 7: .rank(above: dice.pick([.min, 100, .max - 1, .max]))
      case 8: .rankIsNot(dice.pick([.min, 100, .max]), above: dice.pick([.min, 90, .max]))
      default: .level(above: Double(dice.between(-8, 8)) / 4)
      }
    sort = dice.pick([.none, .none, .score, .scoreDescending, .name, .levelThenScore])
    limit = dice.oneIn(2) ? dice.between(0, 12) : nil
  }

  var description: String {
    "filter \(filter), sort \(sort), limit \(limit?.description ?? "none")"
  }

  /// Whether the answer's order is said. Without a sort it is that of whatever index is used.
  var hasOrder: Bool { if case .none = sort { false } else { true } }

  /// The same without its limit.
  var unlimited: ArchiveQuestion {
    var question = self
    question.limit = nil
    return question
  }

  /// What the archive answers.
  func ask(_ archive: Archive<Exhibit>) throws -> [Exhibit] { try query(archive).results() }

  /// How many it says there are.
  func count(_ archive: Archive<Exhibit>) throws -> Int { try query(archive).count() }

  private func query(_ archive: Archive<Exhibit>) -> ArchiveQuery<Exhibit> {
    var query = filtered(archive.query)
    switch sort {
    case .none: break
    case .score: query = query.sorted(by: \.indexedScore)
    case .scoreDescending: query = query.sorted(by: \.indexedScore, .reverse)
    case .name: query = query.sorted(by: \.name)
    case .levelThenScore: query = query.sorted(by: \.indexedScore, .reverse).sorted(by: \.level)
    }
    if let limit { query = query.limit(limit) }
    return query
  }

  private func filtered(_ query: ArchiveQuery<Exhibit>) -> ArchiveQuery<Exhibit> {
    switch filter {
    case .none: query
    case .score(let low, let high):
      query.where { $0.indexedScore >= low && $0.indexedScore < high }
    case .scoreIs(let score): query.where { $0.indexedScore == score }
    case .name(let name): query.where { $0.name == name }
    case .nameAndScore(let name, let low):
      query.where { $0.indexedScore > low && $0.name == name }
    case .hasNoLevel: query.where { $0.level == nil }
    case .level(let low): query.where { $0.level > low }
    case .rank(.max) where BoundIncluded.isAtWork: query.where { $0.rank >= .max }
    case .rank(let low): query.where { $0.rank > low }
    case .rankIsNot(let rank, let low): query.where { $0.rank > low && $0.rank != rank }
    }
  }

  /// What it should answer, of elements in the order of their primary keys.
  func answer(of exhibits: [Exhibit]) -> [Exhibit] {
    var found = exhibits.filter(passes)
    switch sort {
    case .none: break
    case .score: found = stable(found) { $0.score < $1.score }
    case .scoreDescending: found = stable(found) { $0.score > $1.score }
    case .name: found = stable(found) { $0.name < $1.name }
    case .levelThenScore:
      found = stable(found) { first, second in
        if first.level != second.level {
          return (first.level ?? -.infinity) < (second.level ?? -.infinity)
        }
        return first.score > second.score
      }
    }
    return limit.map { Array(found.prefix($0)) } ?? found
  }

  /// Whether its filter lets an element pass.
  func passes(_ exhibit: Exhibit) -> Bool {
    switch filter {
    case .none: true
    case .score(let low, let high): exhibit.score >= low && exhibit.score < high
    case .scoreIs(let score): exhibit.score == score
    case .name(let name): exhibit.name == name
    case .nameAndScore(let name, let low): exhibit.name == name && exhibit.score > low
    case .hasNoLevel: exhibit.level == nil
    case .level(let low): exhibit.level.map { $0 > low } ?? false
    case .rank(let low): exhibit.rank > low
    case .rankIsNot(let rank, let low): exhibit.rank > low && exhibit.rank != rank
    }
  }

  /// The order among equals is the one there was before.
  private func stable(
    _ exhibits: [Exhibit], _ isBefore: (Exhibit, Exhibit) -> Bool
  ) -> [Exhibit] {
    exhibits.enumerated().sorted { first, second in
      if isBefore(first.element, second.element) { return true }
      return !isBefore(second.element, first.element) && first.offset < second.offset
    }.map(\.element)
  }
}
