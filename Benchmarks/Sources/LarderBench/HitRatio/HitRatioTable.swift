// SPDX-License-Identifier: MIT
import Foundation

/// Every cell, every policy's means, and the goals.
struct HitRatioTable {
  let text: String
  /// The cells in the form of the reference, for programs.
  let tabSeparated: String
  /// The same for the caches that are limited in bytes.
  let sizedTabSeparated: String

  init(_ study: HitRatioStudy, _ measurements: [Measurement]) {
    let parts = [
      Self.cells(study), Self.summaries(study), Self.sized(study.sized), Self.goals(measurements),
    ].filter { !$0.isEmpty }
    let heading = "\(HitRatioArea.name): \(HitRatioArea.title)"
    text =
      ([heading] + study.remarks + [""] + parts.joined(separator: [""])).joined(
        separator: "\n") + "\n"

    let names = StudiedPolicy.all.map { $0.name }
    let head = ["trace", ReferenceTable.percentColumn, "capacity"] + names + ["OPT"]
    let lines = study.cells.map { cell in
      [cell.trace, plain(cell.percent), "\(cell.capacity)"]
        + names.map { fixed(cell.hits[$0], 3) } + [fixed(cell.optimum, 3)]
    }
    tabSeparated = ([head] + lines).map { $0.joined(separator: "\t") + "\n" }.joined()
    let sizedHead =
      ["trace", "pct_of_bytes", "capacity_bytes"]
      + names.flatMap { ["\($0) objects", "\($0) bytes"] }
    let sizedLines = study.sized.cells.map { cell in
      [cell.trace, plain(cell.percent), "\(cell.capacity)"]
        + names.flatMap { [fixed(cell.hits[$0]?.objects, 3), fixed(cell.hits[$0]?.bytes, 3)] }
    }
    sizedTabSeparated = ([sizedHead] + sizedLines).map { $0.joined(separator: "\t") + "\n" }
      .joined()
  }

  /// Objects and bytes of the caches that are limited in bytes; nothing without sizes.
  private static func sized(_ study: SizedStudy) -> [String] {
    if study.cells.isEmpty { return [] }
    func both(_ ratio: SizedCell.Ratio?) -> String {
      "\(fixed(ratio?.objects, 2)) / \(fixed(ratio?.bytes, 2))"
    }
    let ours = StudiedPolicy.all.map { $0.name }
    let theirs = Set(study.cells.flatMap { $0.reference.keys }).sorted()
    let lines = study.cells.map { cell in
      [cell.trace, plain(cell.percent), "\(cell.capacity)"] + ours.map { both(cell.hits[$0]) }
        + theirs.map { both(cell.reference[$0]) }
    }
    let means =
      ["mean", "", ""] + ours.map { name in both(study.mean { $0.hits[name] }) }
      + theirs.map { name in both(study.mean { $0.reference[name] }) }
    return aligned(
      ["trace", "bytes %", "capacity"] + ours.map { ".\($0)" } + theirs, lines + [means], left: [0])
      + ["", "Caches limited in bytes: hits in percent of the objects / of the bytes."]
  }

  private static func cells(_ study: HitRatioStudy) -> [String] {
    let policies = StudiedPolicy.all
    let compared = policies.filter { policy in study.cells.contains { $0.difference(policy) != nil }
    }
    let head =
      ["trace", "size %", "capacity"] + policies.map { $0.name } + ["OPT", "adaptive/OPT", "−lru"]
      + compared.map { "\($0.name)−\($0.column)" }
    let lines = study.cells.map { cell -> [String] in
      let adaptive = cell.hits["adaptive"] ?? .nan
      return [cell.trace, plain(cell.percent), "\(cell.capacity)"]
        + policies.map { fixed(cell.hits[$0.name], 2) } + [fixed(cell.optimum, 2)]
        + [fixed(cell.optimum > 0 ? adaptive / cell.optimum : nil, 3)]
        + [signed(cell.hits["lru"].map { adaptive - $0 }, 1)]
        + compared.map { signed(cell.difference($0), 2) }
    }
    return aligned(head, lines, left: [0]) + [
      "",
      "Hit ratios in percent of all accesses, the first ones included. −lru: adaptive less lru.",
    ] + (compared.isEmpty ? [] : ["lru−LRU and the like: ours less the reference's, in points."])
  }

  private static func summaries(_ study: HitRatioStudy) -> [String] {
    let sizes = Set(study.cells.map { $0.percent }).sorted()
    let head =
      ["policy", "hit/OPT"] + sizes.map { "\(plain($0)) %" } + ["below lru", "from reference"]
    let ours = study.ours
    let others = study.others.sorted { ($0.mean ?? 0) > ($1.mean ?? 0) }
    let lines = (ours + others).map { policy -> [String] in
      [policy.isOurs ? ".\(policy.name)" : policy.name, fixed(policy.mean, 3)]
        + sizes.map { fixed(policy.meanBySize[$0], 3) }
        + [fixed(policy.belowLRU, 2), fixed(policy.fromReference, 3)]
    }
    let counted = study.cells.count { $0.counts }
    return aligned(head, lines, left: [0]) + [
      "", "hit/OPT: the mean over the \(counted) cells of 20 entries or more. below lru: the most",
      "points in any cell. Names with a point are ours, the others the reference's.",
    ]
  }

  private static func goals(_ measurements: [Measurement]) -> [String] {
    let lines = measurements.map { measurement -> [String] in
      let row = measurement.row
      let met = measurement.met.map { $0 ? "✓" : "✗" }
      let figure = measurement.ours.isNaN ? "–" : fixed(measurement.ours, 3)
      return [row.id, figure, row.unitName, row.goal.text, met ?? row.rival?.absence ?? "–"]
    }
    return aligned(["id", "ours", "", "goal", "met"], lines, left: [0, 2, 3, 4])
  }

  private static func aligned(
    _ head: [String], _ lines: [[String]], left: Set<Int>
  ) -> [String] {
    let widths = head.indices.map { column in
      ([head] + lines).map { $0[column].count }.max() ?? 0
    }
    func line(_ cells: [String]) -> String {
      let padded = cells.indices.map { column in
        let space = String(repeating: " ", count: widths[column] - cells[column].count)
        return left.contains(column) ? cells[column] + space : space + cells[column]
      }
      return padded.joined(separator: "  ").replacing(/\ +$/, with: "")
    }
    let rule = widths.map { String(repeating: "─", count: $0) }.joined(separator: "  ")
    return [line(head), rule] + lines.map(line)
  }
}

private func fixed(_ value: Double?, _ digits: Int) -> String {
  value.map { String(format: "%.\(digits)f", $0) } ?? "–"
}

private func signed(_ value: Double?, _ digits: Int) -> String {
  guard let value else { return "–" }
  // Without this, a little less than nothing would be "-0.00".
  let isNothing = abs(value) < 0.5 * pow(10, -Double(digits))
  return isNothing ? fixed(0, digits) : String(format: "%+.\(digits)f", value)
}
