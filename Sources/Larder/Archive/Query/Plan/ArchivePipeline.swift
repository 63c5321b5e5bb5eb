// SPDX-License-Identifier: MIT

/// The stages of a query behind what the plan does already. Elements go in one after the other
/// and come out as results; a sort keeps them until the end.
struct ArchivePipeline<Element: Sendable> {
  typealias Row = ArchiveRow<Element>

  /// What came out, unless it is only counted.
  private(set) var results: [Row] = []
  private(set) var count = 0
  /// How many results are enough.
  var wanted: Int
  var isCounting = false

  private let stages: [ArchiveStage<Element>]
  /// Of limits and skips, how many they let through or leave out still.
  private var remaining: [Int]
  /// Of sorts, what they keep, as much of it as is of use.
  private var kept: [Int: ArchiveTop<Row>] = [:]

  init(_ stages: [ArchiveStage<Element>], wanted: Int?) {
    self.stages = stages
    self.wanted = wanted ?? .max
    remaining = stages.map {
      switch $0 {
      case .limit(let count), .skip(let count): count
      case .filter, .sort: 0
      }
    }
    for (number, stage) in stages.enumerated() {
      guard case .sort(let keys) = stage else { continue }
      let most = ArchivePlan.limit(of: stages[(number + 1)...], wanted)
      kept[number] = ArchiveTop(most ?? .max, by: Row.order(by: keys))
    }
  }

  /// Whether no element can change the results any more.
  var isOver: Bool {
    if count >= wanted { return true }
    for (number, stage) in stages.enumerated() {
      switch stage {
      case .limit where remaining[number] == 0: return true
      case .sort: return false
      default: continue
      }
    }
    return false
  }

  /// Takes an element.
  ///
  /// - Returns: whether more are wanted.
  mutating func add(_ row: Row) throws -> Bool { try add(row, at: 0) }

  /// There are no more elements: what sorts kept goes on.
  mutating func finish() throws {
    for number in stages.indices {
      for var row in kept[number]?.take() ?? [] {
        // The next sort keeps this order, and not that of the keys.
        row.place = nil
        if try !add(row, at: number + 1) { break }
      }
    }
  }

  /// Hands over the results so far.
  mutating func take() -> [Row] {
    defer {
      results = []
      count = 0
    }
    return results
  }

  private mutating func add(_ row: Row, at start: Int) throws -> Bool {
    var goesOn = true
    for number in start..<stages.count {
      switch stages[number] {
      case .filter(let terms):
        for term in terms where try !term.isMet(row.element) { return goesOn }
      case .limit:
        if remaining[number] == 0 { return false }
        remaining[number] -= 1
        if remaining[number] == 0 { goesOn = false }
      case .skip:
        if remaining[number] > 0 {
          remaining[number] -= 1
          return goesOn
        }
      case .sort:
        kept[number]?.add(row)
        return goesOn
      }
    }
    count += 1
    if !isCounting { results.append(row) }
    return goesOn && count < wanted
  }
}
