// SPDX-License-Identifier: MIT
import Foundation

/// What a put and a get cost over the number of keys, in time and in bytes: a line each for Larder
/// and the rival.
enum SizeChart {
  private struct Line {
    let name: String
    let color: String
    let isDashed: Bool
    let points: [(keys: Double, value: Double)]
  }

  /// The charts of the rows disk.set.…m and their kin in results.json, if there are two sizes.
  static func files(results: [[String: Any]], machine: Machine) -> [String: String] {
    let values = "values of 100 B, random keys"
    var files: [String: String] = [:]
    files["disk-size.svg"] = chart(
      "Time of a put and a get over the number of keys", "\(values); \(machine.text)",
      [("set", "disk.set."), ("get", "disk.get.")], results, label: duration)
    files["disk-bytes.svg"] = chart(
      "Bytes written and on disk over the number of keys",
      "\(values), bytes a put; \(machine.text)",
      [("written", "disk.device."), ("on disk", "disk.space.")], results, isShared: true
    ) { "\(plain($0)) B" }
    return files
  }

  /// - Parameter isShared: Whether the figures are of all puts together, and drawn for one.
  private static func chart(
    _ title: String, _ subtitle: String, _ rows: [(name: String, prefix: String)],
    _ results: [[String: Any]], isShared: Bool = false, label: (Double) -> String
  ) -> String? {
    let lines = rows.enumerated().flatMap { index, row in
      [("Larder", SVG.ourColor, "ours_ns"), ("RocksDB", SVG.rivalLineColor, "rival_ns")].map {
        name, color, side in
        Line(
          name: "\(row.name), \(name)", color: color, isDashed: index > 0,
          points: points(results, row.prefix, side, isShared))
      }
    }.filter { !$0.points.isEmpty }
    guard lines.contains(where: { $0.points.count > 1 }) else { return nil }
    return svg(title, subtitle, lines, label)
  }

  private static func points(
    _ results: [[String: Any]], _ prefix: String, _ side: String, _ isShared: Bool
  ) -> [(keys: Double, value: Double)] {
    var points: [(keys: Double, value: Double)] = []
    for row in results {
      guard let id = row["id"] as? String, id.hasPrefix(prefix), id.hasSuffix("m"),
        let millions = Double(id.dropFirst(prefix.count).dropLast()),
        let value = (row[side] as? NSNumber)?.doubleValue
      else { continue }
      points.append((millions * 1e6, isShared ? value / (millions * 1e6) : value))
    }
    return points.sorted { $0.keys < $1.keys }
  }

  private static func svg(
    _ title: String, _ subtitle: String, _ lines: [Line], _ label: (Double) -> String
  ) -> String {
    let (left, top, width, height) = (90.0, 76.0, 560.0, 340.0)
    let x = Decades(lines.flatMap { $0.points.map(\.keys) }, from: left, to: left + width)
    let y = Decades(lines.flatMap { $0.points.map(\.value) }, from: top + height, to: top)
    var out = SVG.head(title, width: 840, height: 490)
    out.append(SVG.text(subtitle, x: 20, y: 56, size: 12, fill: SVG.grey))
    for tick in x.ticks {
      let at = x.place(tick)
      out.append(segment(at, top, at, top + height, SVG.line))
      out.append(
        SVG.text(
          keys(tick), x: at, y: top + height + 20, size: 12, fill: SVG.grey, anchor: "middle")
      )
    }
    for tick in y.ticks {
      let at = y.place(tick)
      out.append(segment(left, at, left + width, at, SVG.line))
      out.append(
        SVG.text(label(tick), x: left - 8, y: at + 4, size: 12, fill: SVG.grey, anchor: "end"))
    }
    // Names stand beside the ends of their lines, and below each other where those are close.
    var free = -Double.infinity
    func end(_ line: Line) -> Double { y.place(line.points.last?.value ?? 1) }
    for line in lines.sorted(by: { end($0) < end($1) }) {
      let places = line.points.map { (x: x.place($0.keys), y: y.place($0.value)) }
      let path = places.map { "\($0.x),\($0.y)" }.joined(separator: " ")
      let dash = line.isDashed ? " stroke-dasharray=\"6 4\"" : ""
      out.append(
        "<polyline points=\"\(path)\" fill=\"none\" stroke=\"\(line.color)\" "
          + "stroke-width=\"2.5\"\(dash)/>")
      for place in places {
        out.append(
          "<circle cx=\"\(place.x)\" cy=\"\(place.y)\" r=\"4\" fill=\"\(line.color)\"/>")
      }
      if let last = places.last {
        free = max(free + 17, last.y + 4)
        out.append(SVG.text(line.name, x: last.x + 10, y: free, weight: 600, fill: line.color))
      }
    }
    out.append(
      SVG.text("keys", x: left + width / 2, y: top + height + 44, fill: SVG.grey, anchor: "middle"))
    return (out + ["</svg>"]).joined(separator: "\n") + "\n"
  }

  private static func segment(
    _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ color: String
  ) -> String {
    "<line x1=\"\(x1)\" y1=\"\(y1)\" x2=\"\(x2)\" y2=\"\(y2)\" stroke=\"\(color)\"/>"
  }

  private static func keys(_ count: Double) -> String {
    count < 1e6 ? "\(plain(count / 1e3)) k" : "\(plain(count / 1e6)) M"
  }
}

/// A logarithmic axis of whole decades.
private struct Decades {
  private let low: Double
  private let high: Double
  private let start: Double
  private let end: Double

  init(_ values: [Double], from start: Double, to end: Double) {
    low = floor(log10(values.min() ?? 1))
    high = max(low + 1, ceil(log10(values.max() ?? 10)))
    self.start = start
    self.end = end
  }

  var ticks: [Double] { (Int(low)...Int(high)).map { pow(10, Double($0)) } }

  func place(_ value: Double) -> Double {
    SVG.coordinate(start + (end - start) * (log10(value) - low) / (high - low))
  }
}
