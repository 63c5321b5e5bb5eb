// SPDX-License-Identifier: MIT

/// One line of a table: a piece of work, who else does it, and what is to be reached.
struct Row {
  let id: String
  /// What our side does and how it is set up, for the notes below the table.
  let ours: String
  /// `nil` for a row without a rival: its goal is a figure.
  let rival: Rival?
  let goal: Goal
  /// What the figures are; where they are no time they stand in the columns of nanoseconds all the
  /// same.
  var unit = "ns"
  /// How often it is repeated, where that is not as often as the others of its area.
  var effort: Effort?
  /// Left out with `--quick`.
  var takesLong = false
  /// Whether the figure is computed and not measured: once is enough to judge it.
  var isExact = false
  /// Sets both sides up. Called once, when the row's turn comes.
  let contest: (Bench) throws -> Contest
}

struct Rival {
  let name: String
  /// How it is set up: its own words, so that a reader can judge whether it is fair.
  let settings: String
  /// Why it cannot take part, if it cannot.
  var absence: String?
}

/// What a row has to reach.
enum Goal {
  /// ours / rival at most.
  case ratio(Double)
  /// Our figure at most, in nanoseconds. The ratio is ours / goal.
  case nanoseconds(Double)
  /// Our figure at most, a plain number that is reported in place of nanoseconds.
  case count(Double, of: String)
  /// Our figure at least, a plain number: a part of the rival's, for which more is better.
  case atLeast(Double, of: String)
  /// Nothing: the row is there to tell what else there is to know.
  case none

  var isNone: Bool { if case .none = self { true } else { false } }
}

/// Both sides of a row, ready to run.
///
/// Samples should take about a millisecond, and on both sides about as long, however many
/// operations that is: on a busy machine a long sample is interrupted and a short one is not.
struct Contest {
  /// One sample of our side: sets up, runs, and returns the time per operation.
  let ours: () throws -> Double
  let rival: (() throws -> Double)?
  /// What else is to be said of the figures, for the notes; asked for after the last sample.
  let remarks: () -> [String]
  let close: () -> Void

  init(
    ours: @escaping () throws -> Double, rival: (() throws -> Double)? = nil,
    remarks: @escaping () -> [String] = { [] }, close: @escaping () -> Void = {}
  ) {
    self.ours = ours
    self.rival = rival
    self.remarks = remarks
    self.close = close
  }
}
