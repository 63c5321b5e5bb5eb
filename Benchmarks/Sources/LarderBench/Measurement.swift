// SPDX-License-Identifier: MIT

/// What was measured for a row.
struct Measurement {
  let row: Row
  let ours: Double
  let rival: Double?
  /// The median of the pairs' own ratios; `nil` if the rival could not take part.
  let ratio: Double?
  /// The smallest and the largest ratio of a pair.
  let extremes: ClosedRange<Double>?
  /// Where the middle half of the pairs' ratios lies: what is outside is mostly other programs.
  let spread: ClosedRange<Double>?
  /// `nil` if there is no goal, or too few pairs to judge it by.
  let met: Bool?
  /// Whether there is a goal that was left open because there were too few pairs.
  let isUnjudged: Bool
  let repeats: Int
  /// What else is to be said of the figures.
  let remarks: [String]
  let quick: Bool

  init(row: Row, ours: [Double], rival: [Double], remarks: [String] = [], quick: Bool) {
    self.row = row
    self.quick = quick
    self.remarks = remarks
    repeats = ours.count
    self.ours = median(ours)
    self.rival = rival.isEmpty ? nil : median(rival)
    let pairs = zip(ours, rival).map { $0 / $1 }
    let paired = pairs.isEmpty ? nil : median(pairs)
    var ratios: [Double] = []
    var isMet: Bool?
    switch row.goal {
    case .ratio(let goal):
      ratio = paired
      isMet = paired.map { $0 <= goal }
      ratios = pairs
    case .nanoseconds(let goal):
      ratio = self.ours / goal
      isMet = self.ours <= goal
      ratios = ours.map { $0 / goal }
    case .count(let goal, _):
      ratio = self.ours
      isMet = self.ours.isNaN ? nil : self.ours <= goal
    case .atLeast(let goal, _):
      ratio = paired
      isMet = self.ours.isNaN ? nil : self.ours >= goal
    case .none:
      ratio = paired
      ratios = pairs
    }
    isUnjudged = isMet != nil && !row.isExact && repeats < Effort.judged
    met = isUnjudged ? nil : isMet
    ratios.sort()
    extremes = ratios.first.map { $0...(ratios.last ?? $0) }
    spread = extremes.map { _ in ratios[ratios.count / 4]...ratios[ratios.count * 3 / 4] }
  }
}
