// SPDX-License-Identifier: MIT
import CRivals

/// How often a row is repeated: until its time is used up, within bounds.
struct Effort {
  let fewest: Int
  let most: Int
  let seconds: Double
  /// Whether a first pair is run that does not count. One that makes everything anew need not.
  var warmsUp = true

  /// Of a row that has its own: no more than once, where that takes long.
  var hastened: Effort { Effort(fewest: 1, most: most, seconds: min(seconds, 1), warmsUp: warmsUp) }

  static let quick = Effort(fewest: 3, most: 301, seconds: 2)
  static let full = Effort(fewest: 7, most: 1001, seconds: 8)
}

extension Row {
  /// Runs both sides in turn, ours first, and takes medians.
  ///
  /// The first pair only warms up and mostly does not count. Whatever slows the machine down for
  /// a while slows neighbours down alike, so the spread is that of the pairs' own ratios.
  func measure(_ bench: Bench, _ effort: Effort) throws -> Measurement {
    let contest = try self.contest(bench)
    defer { contest.close() }
    let rival = self.rival?.absence == nil ? contest.rival : nil
    var ours: [Double] = []
    var theirs: [Double] = []
    let start = rivals_now_ns()
    for pair in (effort.warmsUp ? 0 : 1)...effort.most {
      let a = try contest.ours()
      let b = try rival?()
      guard pair > 0 else { continue }
      ours.append(a)
      if let b { theirs.append(b) }
      let seconds = Double(rivals_now_ns() - start) / 1e9
      if pair >= effort.fewest && seconds > effort.seconds { break }
    }
    return Measurement(row: self, ours: ours, rival: theirs, quick: bench.quick)
  }
}

/// What was measured for a row.
struct Measurement {
  let row: Row
  let ours: Double
  let rival: Double?
  /// `nil` if the rival could not take part.
  let ratio: Double?
  /// The smallest and the largest ratio of a pair.
  let extremes: ClosedRange<Double>?
  /// Where the middle half of the pairs' ratios lies: what is outside is mostly other programs.
  let spread: ClosedRange<Double>?
  let met: Bool?
  let repeats: Int
  let quick: Bool

  init(row: Row, ours: [Double], rival: [Double], quick: Bool) {
    self.row = row
    self.quick = quick
    repeats = ours.count
    self.ours = median(ours)
    self.rival = rival.isEmpty ? nil : median(rival)
    var ratios: [Double]
    switch row.goal {
    case .ratio(let goal):
      ratio = self.rival.map { median(ours) / $0 }
      met = ratio.map { $0 <= goal }
      ratios = zip(ours, rival).map { $0 / $1 }
    case .nanoseconds(let goal):
      ratio = self.ours / goal
      met = self.ours <= goal
      ratios = ours.map { $0 / goal }
    case .count(let goal, _):
      ratio = self.ours
      met = self.ours.isNaN ? nil : self.ours <= goal
      ratios = []
    case .atLeast(let goal, _):
      ratio = self.rival.map { median(ours) / $0 }
      met = self.ours.isNaN ? nil : self.ours >= goal
      ratios = []
    case .none:
      ratio = self.rival.map { median(ours) / $0 }
      met = nil
      ratios = zip(ours, rival).map { $0 / $1 }
    }
    ratios.sort()
    extremes = ratios.first.map { $0...(ratios.last ?? $0) }
    spread = extremes.map { _ in ratios[ratios.count / 4]...ratios[ratios.count * 3 / 4] }
  }
}
