// SPDX-License-Identifier: MIT

/// An area's results as aligned text, with the rivals' settings below.
struct Table {
  let text: String

  init(
    area: any Area.Type, measurements: [Measurement], skipped: [String] = [], machine: Machine
  ) {
    let head = ["id", "ours ns", "rival", "rival ns", "ratio", "middle half", "goal", "met"]
    let cells = [head] + measurements.map { $0.cells }
    let widths = head.indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
    let right: Set = [1, 3, 4]
    var lines = ["\(area.name): \(area.title)  (\(machine.text))", ""]
    for (number, row) in cells.enumerated() {
      let padded = row.indices.map { pad(row[$0], to: widths[$0], left: right.contains($0)) }
      lines.append(padded.joined(separator: "  ").trimmingSuffix { $0 == " " })
      if number == 0 { lines.append(widths.map { rule($0) }.joined(separator: "  ")) }
    }
    lines.append("")
    lines.append("ns: median time of one operation, the loop's own cost subtracted on both sides.")
    lines.append("ratio = ours / rival, the median over pairs, which alternate in who goes first;")
    lines.append("lower is better; without rival ours / goal, or ours.")
    lines.append("middle half: of the ratios of single pairs.")
    lines.append("not judged: a goal needs \(Effort.judged) pairs.")
    lines.append("")
    if !skipped.isEmpty {
      lines.append("skipped in a quick run: \(skipped.joined(separator: ", "))")
      lines.append("")
    }
    for measurement in measurements { lines += measurement.notes }
    text = lines.joined(separator: "\n") + "\n"
  }
}

extension Measurement {
  fileprivate var cells: [String] {
    [
      row.id, significant(ours), rivalName, rival.map(significant) ?? "–",
      ratio.map(significant) ?? "–",
      spread.map { "\(significant($0.lowerBound)) … \(significant($0.upperBound))" } ?? "–",
      row.goal.text, verdict,
    ]
  }

  private var verdict: String {
    if let met { return met ? "✓" : "✗" }
    if isUnjudged { return "not judged" }
    return row.rival?.absence == nil ? "–" : "skipped"
  }

  private var rivalName: String {
    let unit = row.isTime ? nil : "(unit: \(row.unitName))"
    guard let rival = row.rival, rival.absence == nil else { return unit ?? row.rival?.name ?? "–" }
    return [rival.name, unit].compactMap { $0 }.joined(separator: " ")
  }

  fileprivate var notes: [String] {
    var lines = ["\(row.id): \(repeats) repeats", "  ours: \(row.ours)"]
    if let absence = row.rival?.absence {
      lines.append("  skipped: \(absence)")
    } else if let rival = row.rival {
      lines.append("  \(rival.name): \(rival.settings)")
    }
    return lines + remarks.map { "  " + $0 }
  }
}

private func pad(_ text: String, to width: Int, left: Bool) -> String {
  let space = String(repeating: " ", count: max(0, width - text.count))
  return left ? space + text : text + space
}

private func rule(_ width: Int) -> String { String(repeating: "─", count: width) }

extension String {
  fileprivate func trimmingSuffix(while drop: (Character) -> Bool) -> String {
    var end = self[...]
    while let last = end.last, drop(last) { end.removeLast() }
    return String(end)
  }
}
