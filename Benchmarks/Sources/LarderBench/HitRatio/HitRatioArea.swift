// SPDX-License-Identifier: MIT

/// The policies of the memory cache on traces of real programs.
enum HitRatioArea: Area {
  static let name = "hitratio"
  static let title = "Hit ratio of the memory cache"

  static var rows: [Row] { rows(of: nil) }

  static func run(_ rows: [Row], _ bench: Bench, _ machine: Machine) throws -> AreaReport {
    let study = try HitRatioStudy(bench)
    let wanted = Set(rows.map { $0.id })
    let once = Effort(fewest: 1, most: 1, seconds: 0)
    let measurements = try self.rows(of: study).filter { wanted.contains($0.id) }
      .map { try $0.measure(bench, once) }
    let table = HitRatioTable(study, measurements)
    return AreaReport(
      measurements: measurements, text: table.text, chart: HitRatioChart(study).svg,
      files: ["hitratio.tsv": table.tabSeparated, "hitratio-sized.tsv": table.sizedTabSeparated])
  }

  /// With figures if there is a study; they are in the columns of nanoseconds.
  private static func rows(of study: HitRatioStudy?) -> [Row] {
    let ours = study.map { study in
      Dictionary(uniqueKeysWithValues: study.ours.map { ($0.name, $0) })
    }
    let hasGoals = study?.isReal ?? true
    var rows: [Row] = []
    for name in ["adaptive", "lru", "fifo", "s3fifo"] {
      rows.append(
        row(
          "\(name).mean",
          "mean of hit ratio / optimal hit ratio over all cells with 20 entries or more, .\(name)",
          goal: name == "adaptive" && hasGoals ? .atLeast(0.745, of: "of the optimum") : .none,
          unit: "of the optimum", figure: ours?[name]?.mean,
          rival: Rival(
            name: "optimum", settings: "Belady's, which knows the future; it may bypass"),
          rivalFigure: 1))
    }
    rows.append(
      row(
        "adaptive.worst", "the most points of hit ratio below our LRU in any cell, .adaptive",
        goal: hasGoals ? .count(2.5, of: "points") : .none, unit: "points",
        figure: ours?["adaptive"]?.belowLRU))
    let sized = study?.sized.mean { $0.hits["adaptive"] }
    let caffeine = study?.sized.mean { $0.reference["caffeine3"] }
    for (name, goal, ours, theirs) in [
      ("objects", 48.0, sized?.objects, caffeine?.objects),
      ("bytes", 17.0, sized?.bytes, caffeine?.bytes),
    ] {
      rows.append(
        row(
          "adaptive.\(name)",
          "mean hit ratio by \(name) over all cells limited in bytes, .adaptive",
          goal: hasGoals ? .atLeast(goal, of: "%") : .none, unit: "%", figure: ours,
          rival: Rival(name: "Caffeine 3", settings: "weighed by size; the reference's figures"),
          rivalFigure: theirs, absence: "no trace has sizes"))
    }
    for (name, goal) in [("lru", 0.05), ("fifo", 0.05), ("s3fifo", 0.5)] {
      rows.append(
        row(
          "\(name).reference",
          "the most points of hit ratio between .\(name) and the reference in any cell",
          goal: .count(goal, of: "points"), unit: "points", figure: ours?[name]?.fromReference,
          absence: "the reference has no such figure"))
    }
    rows.append(
      row(
        "opt.reference", "the most points between the optimum computed here and the reference's",
        goal: .count(0.05, of: "points"), unit: "points", figure: study?.optimumFromReference,
        absence: "the reference has no such figure"))
    return rows
  }

  private static func row(
    _ id: String, _ ours: String, goal: Goal, unit: String, figure: Double?, rival: Rival? = nil,
    rivalFigure: Double? = nil, absence: String? = nil
  ) -> Row {
    let missing = figure == nil ? absence.map { Rival(name: "–", settings: "–", absence: $0) } : nil
    return Row(
      id: "hitratio.\(id)", ours: ours, rival: missing ?? rival, goal: goal, unit: unit,
      isExact: true
    ) { _ in
      Contest(ours: { figure ?? .nan }, rival: rivalFigure.map { figure in { figure } })
    }
  }
}
