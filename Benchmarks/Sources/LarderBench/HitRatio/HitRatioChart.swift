// SPDX-License-Identifier: MIT

/// The policies' means of hit ratio / optimal hit ratio as bars, the best on top.
struct HitRatioChart {
  let svg: String

  private struct Bar {
    let label: String
    let value: Double
    let isOurs: Bool
    let goal: Double?
  }

  init(_ study: HitRatioStudy) {
    let policies = (study.ours + study.others).compactMap { policy in
      policy.mean.map {
        Bar(
          label: policy.isOurs ? "Larder .\(policy.name)" : policy.name, value: $0,
          isOurs: policy.isOurs, goal: study.isReal && policy.name == "adaptive" ? 0.77 : nil)
      }
    }
    let bars =
      [Bar(label: "OPT", value: 1, isOurs: false, goal: nil)]
      + policies.sorted { $0.value > $1.value }
    let left = 190.0
    let plotWidth = 560.0
    let top = 104.0
    let rowHeight = 26.0
    let width = left + plotWidth + 80
    let bottom = top + rowHeight * Double(bars.count)
    let height = bottom + 48
    func x(_ value: Double) -> Double { SVG.coordinate(left + plotWidth * value) }

    var out = SVG.head(HitRatioArea.title, width: width, height: height)
    out.append(
      SVG.text(
        "Mean of hit ratio / optimal hit ratio. Longer is better.", x: 20, y: 58, fill: SVG.grey))
    for tenth in stride(from: 0, through: 10, by: 2) {
      let place = x(Double(tenth) / 10)
      out.append(
        "<line x1=\"\(place)\" y1=\"\(top - 6)\" x2=\"\(place)\" y2=\"\(bottom)\" "
          + "stroke=\"\(SVG.line)\"/>")
      out.append(
        SVG.text(
          plain(Double(tenth) / 10), x: place, y: top - 12, size: 12, fill: SVG.grey,
          anchor: "middle"))
    }
    for (number, bar) in bars.enumerated() {
      let y = top + rowHeight * Double(number)
      out.append(
        SVG.text(bar.label, x: left - 10, y: y + 17, weight: bar.isOurs ? 600 : 400, anchor: "end"))
      out.append(
        "<rect x=\"\(left)\" y=\"\(y + 4)\" width=\"\(SVG.coordinate(plotWidth * bar.value))\" "
          + "height=\"17\" rx=\"2\" fill=\"\(bar.isOurs ? SVG.ourColor : SVG.rivalColor)\"/>")
      if let goal = bar.goal {
        out.append(
          "<line x1=\"\(x(goal))\" y1=\"\(y)\" x2=\"\(x(goal))\" y2=\"\(y + 25)\" "
            + "stroke=\"\(SVG.goalColor)\" stroke-width=\"2.5\"/>")
      }
      out.append(
        SVG.text(
          significant(bar.value), x: x(max(bar.value, bar.goal ?? 0)) + 8, y: y + 17, size: 12,
          weight: bar.isOurs ? 600 : 400))
    }
    let counted = study.cells.filter { $0.counts }
    let traces = Set(counted.map { $0.trace }).count
    out.append(
      SVG.text(
        "\(counted.count) cells of \(traces) \(study.isReal ? "real" : "generated") traces; dark "
          + "bars are measured, light ones are the reference's. Line: the goal.",
        x: 20, y: height - 18, size: 12, fill: SVG.grey))
    out.append("</svg>")
    svg = out.joined(separator: "\n") + "\n"
  }
}
