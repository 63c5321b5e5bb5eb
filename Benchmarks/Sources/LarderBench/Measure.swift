// SPDX-License-Identifier: MIT
import CRivals

/// How often a row is repeated: until its time is used up, within bounds.
struct Effort {
  var fewest: Int
  var most: Int
  let seconds: Double
  /// Whether a first pair is run that does not count. One that makes everything anew need not.
  var warmsUp = true

  /// Of a row that has its own, in a quick run: no more than once, where that takes long.
  var hastened: Effort { Effort(fewest: 1, most: most, seconds: min(seconds, 1), warmsUp: false) }

  /// With at least so many pairs.
  func atLeast(_ pairs: Int) -> Effort {
    var effort = self
    effort.fewest = max(fewest, pairs)
    effort.most = max(most, effort.fewest)
    return effort
  }

  /// How many pairs it takes for a goal to be judged.
  static let judged = 7

  static let quick = Effort(fewest: 3, most: 301, seconds: 2)
  static let full = Effort(fewest: judged, most: 1001, seconds: 8)
}

extension Row {
  /// Runs both sides in turn. They alternate in going first, so that neither always finds what the
  /// other left behind.
  ///
  /// The first pair only warms up and mostly does not count. Whatever slows the machine down for a
  /// while slows both sides of a pair down alike, so the ratio is the median of the pairs' ratios.
  func measure(_ bench: Bench, _ effort: Effort) throws -> Measurement {
    let contest = try self.contest(bench)
    defer { contest.close() }
    let rival = self.rival?.absence == nil ? contest.rival : nil
    var ours: [Double] = []
    var theirs: [Double] = []
    let start = rivals_now_ns()
    var noted = start
    for pair in (effort.warmsUp ? 0 : 1)...effort.most {
      let (a, b) = try Self.run(contest.ours, rival, oursFirst: pair % 2 == 1)
      guard pair > 0 else { continue }
      ours.append(a)
      if let b { theirs.append(b) }
      let seconds = Double(rivals_now_ns() - start) / 1e9
      if rivals_now_ns() - noted > 10_000_000_000 {
        Progress.note("\(id): pair \(pair) of \(effort.fewest) or more, \(Int(seconds)) s")
        noted = rivals_now_ns()
      }
      if pair >= effort.fewest && seconds > effort.seconds { break }
    }
    return Measurement(
      row: self, ours: ours, rival: theirs, remarks: contest.remarks(), quick: bench.quick)
  }

  private static func run(
    _ ours: () throws -> Double, _ rival: (() throws -> Double)?, oursFirst: Bool
  ) throws -> (Double, Double?) {
    if oursFirst {
      let a = try ours()
      return try (a, rival?())
    }
    let b = try rival?()
    return try (ours(), b)
  }
}
