// SPDX-License-Identifier: MIT
import Foundation

/// An area's results as a picture: two bars a row on a logarithmic scale of time, and the goal.
///
/// Widths of text are not known here, so columns are wide enough for the longest that a row has, at
/// the widest that a letter of the fonts named is likely to be.
struct Chart {
  let svg: String

  init(area: any Area.Type, measurements: [Measurement], machine: Machine) {
    let bars = measurements.filter { $0.row.isTime }
    let counts = measurements.filter { !$0.row.isTime }
    let labelWidth = 8 * Double(measurements.map { $0.labelLength }.max() ?? 10) + 16
    let plot = Plot(left: labelWidth + 20, width: 520, values: bars.flatMap { $0.values })
    let right = plot.left + plot.width + 84
    let width = right + 124
    let top = 104.0
    let rowHeight = 58.0
    let bottom = top + rowHeight * Double(bars.count)
    let height = bottom + 54 + 28 * Double(counts.count)

    var out: [String] = []
    out += SVG.head(area.title, width: width, height: height)
    out += Self.legend(y: 58)

    for (value, label) in plot.ticks {
      let x = plot.x(value)
      out.append(
        "<line x1=\"\(x)\" y1=\"\(top - 6)\" x2=\"\(x)\" y2=\"\(bottom)\" stroke=\"\(SVG.line)\"/>"
      )
      out.append(SVG.text(label, x: x, y: top - 12, size: 12, fill: SVG.grey, anchor: "middle"))
    }
    out.append(SVG.text("ratio", x: right, y: top - 12, size: 12, fill: SVG.grey, anchor: "end"))
    out.append(SVG.text("goal", x: right + 16, y: top - 12, size: 12, fill: SVG.grey))

    for (number, measurement) in bars.enumerated() {
      let y = top + rowHeight * Double(number)
      if number > 0 {
        out.append(
          "<line x1=\"20\" y1=\"\(y)\" x2=\"\(width - 20)\" y2=\"\(y)\" stroke=\"\(SVG.line)\"/>")
      }
      out += Self.row(measurement, y: y, plot: plot, right: right)
    }
    var y = bottom + 20
    out.append(
      "<line x1=\"20\" y1=\"\(bottom)\" x2=\"\(width - 20)\" y2=\"\(bottom)\" "
        + "stroke=\"\(SVG.line)\"/>")
    for measurement in counts {
      var figure = "\(significant(measurement.ours)) \(measurement.row.unitName)"
      if let rival = measurement.row.rival, let theirs = measurement.rival {
        figure += ", \(rival.name) \(significant(theirs))"
      }
      let ratio = measurement.ratio ?? measurement.ours
      out.append(SVG.text(measurement.row.id, x: 20, y: y + 6, weight: 600))
      out.append(SVG.text(figure, x: plot.left + 6, y: y + 6, size: 12, weight: 600))
      out.append(
        SVG.text(
          significant(ratio), x: right, y: y + 6, size: 14, weight: 600, anchor: "end"))
      out.append(SVG.text(measurement.row.goal.text, x: right + 16, y: y + 6, fill: SVG.grey))
      if let met = measurement.met { out.append(SVG.mark(met, x: right + 100, y: y + 6)) }
      y += 28
    }
    let repeats = bars.map { $0.repeats }
    let span = repeats.min() == repeats.max() ? "" : "\(repeats.min() ?? 0) to "
    out.append(
      SVG.text(
        "Medians of \(span)\(repeats.max() ?? 0) interleaved repeats; logarithmic scale. "
          + machine.text + ".", x: 20, y: height - 18, size: 12, fill: SVG.grey))
    out.append("</svg>")
    svg = out.joined(separator: "\n") + "\n"
  }

  private static func legend(y: Double) -> [String] {
    [
      "<rect x=\"20\" y=\"\(y - 10)\" width=\"24\" height=\"11\" rx=\"2\" "
        + "fill=\"\(SVG.ourColor)\"/>",
      SVG.text("Larder", x: 50, y: y, fill: SVG.grey),
      "<rect x=\"116\" y=\"\(y - 10)\" width=\"24\" height=\"11\" rx=\"2\" "
        + "fill=\"\(SVG.rivalColor)\"/>",
      SVG.text("rival", x: 146, y: y, fill: SVG.grey),
      "<line x1=\"204\" y1=\"\(y - 13)\" x2=\"204\" y2=\"\(y + 4)\" stroke=\"\(SVG.goalColor)\" "
        + "stroke-width=\"2.5\"/>",
      SVG.text(
        "goal: Larder's bar should end left of it. Time per operation, shorter is better.",
        x: 214, y: y, fill: SVG.grey),
    ]
  }

  private static func row(
    _ measurement: Measurement, y: Double, plot: Plot, right: Double
  ) -> [String] {
    var out: [String] = []
    let rival = measurement.row.rival
    out.append(SVG.text(measurement.row.id, x: 20, y: y + 24, weight: 600))
    out.append(
      SVG.text(
        rival.map { "against \($0.name)" } ?? "no rival", x: 20, y: y + 43, size: 12, fill: SVG.grey
      )
    )
    out.append(bar(measurement.ours, y: y + 13, color: SVG.ourColor, plot: plot))
    if let time = measurement.rival {
      out.append(bar(time, y: y + 32, color: SVG.rivalColor, plot: plot))
    }
    let limit = measurement.row.goal.limit(rival: measurement.rival)
    if let limit {
      let x = plot.x(limit)
      out.append(
        "<line x1=\"\(x)\" y1=\"\(y + 8)\" x2=\"\(x)\" y2=\"\(y + 50)\" "
          + "stroke=\"\(SVG.goalColor)\" stroke-width=\"2.5\"/>")
    }
    let goalX = limit.map { plot.x($0) }
    out.append(value(measurement.ours, y: y + 24, plot: plot, goalX: goalX, weight: 600))
    if let time = measurement.rival {
      out.append(value(time, y: y + 43, plot: plot, goalX: goalX, weight: 400))
    } else if let absence = rival?.absence {
      out.append(
        SVG.text("skipped: \(absence)", x: plot.left + 6, y: y + 43, size: 12, fill: SVG.grey))
    }
    let ratio = measurement.ratio.map(significant) ?? "–"
    out.append(SVG.text(ratio, x: right, y: y + 34, size: 14, weight: 600, anchor: "end"))
    out.append(SVG.text(measurement.row.goal.text, x: right + 16, y: y + 34, fill: SVG.grey))
    out += verdict(measurement, x: right + 100, y: y + 34)
    return out
  }

  private static func verdict(_ measurement: Measurement, x: Double, y: Double) -> [String] {
    if let met = measurement.met { return [SVG.mark(met, x: x, y: y)] }
    guard measurement.isUnjudged else { return [] }
    return [SVG.text("not judged", x: x, y: y, size: 11, fill: SVG.grey, anchor: "middle")]
  }

  private static func bar(_ value: Double, y: Double, color: String, plot: Plot) -> String {
    let width = max(2, plot.x(value) - plot.left)
    return "<rect x=\"\(plot.left)\" y=\"\(y)\" width=\"\(SVG.coordinate(width))\" height=\"14\" "
      + "rx=\"2\" fill=\"\(color)\"/>"
  }

  /// The figure right of its bar's end, and right of the goal's line where that would cross it.
  private static func value(
    _ value: Double, y: Double, plot: Plot, goalX: Double?, weight: Int
  ) -> String {
    let label = duration(value)
    var x = plot.x(value) + 7
    if let goalX, goalX > x - 7, goalX < x + 8 * Double(label.count) + 4 { x = goalX + 8 }
    return SVG.text(label, x: x, y: y, size: 12, weight: weight)
  }
}

/// The logarithmic scale.
private struct Plot {
  let left: Double
  let width: Double
  private let low: Double
  private let high: Double

  /// Whole decades around all of `values`.
  init(left: Double, width: Double, values: [Double]) {
    self.left = left
    self.width = width
    let logs = values.filter { $0 > 0 && $0.isFinite }.map { log10($0) }
    low = floor((logs.min() ?? 0) - 0.15)
    high = max(low + 1, ceil(logs.max() ?? 1))
  }

  func x(_ value: Double) -> Double {
    let position = (log10(max(value, 1e-9)) - low) / (high - low)
    return SVG.coordinate(left + width * min(1, max(0, position)))
  }

  var ticks: [(value: Double, label: String)] {
    (Int(low)...Int(high)).map { (pow(10, Double($0)), duration(pow(10, Double($0)))) }
  }
}

extension Measurement {
  fileprivate var values: [Double] {
    [ours, rival, row.goal.limit(rival: rival)].compactMap { $0 }
  }

  fileprivate var labelLength: Int {
    max(row.id.count, (row.rival?.name.count ?? 0) + 7)
  }
}
