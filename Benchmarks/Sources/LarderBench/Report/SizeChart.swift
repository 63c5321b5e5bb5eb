// SPDX-License-Identifier: MIT
import Foundation

/// What a put and a get cost over the number of keys: a line each for Larder and the rival.
enum SizeChart {
  private struct Line {
    let name: String
    let color: String
    let isDashed: Bool
    let points: [(keys: Double, nanoseconds: Double)]
  }

  /// The chart of the rows disk.set.…m and disk.get.…m in results.json, if there are two sizes.
  static func files(results: [[String: Any]], machine: Machine) -> [String: String] {
    let lines = [
      line("set, Larder", SVG.ourColor, false, results, "disk.set.", "ours_ns"),
      line("set, RocksDB", SVG.rivalLineColor, false, results, "disk.set.", "rival_ns"),
      line("get, Larder", SVG.ourColor, true, results, "disk.get.", "ours_ns"),
      line("get, RocksDB", SVG.rivalLineColor, true, results, "disk.get.", "rival_ns"),
    ].filter { !$0.points.isEmpty }
    guard lines.contains(where: { $0.points.count > 1 }) else { return [:] }
    return ["disk-size.svg": svg(lines, machine)]
  }

  private static func line(
    _ name: String, _ color: String, _ isDashed: Bool, _ results: [[String: Any]],
    _ prefix: String, _ side: String
  ) -> Line {
    var points: [(keys: Double, nanoseconds: Double)] = []
    for row in results {
      guard let id = row["id"] as? String, id.hasPrefix(prefix), id.hasSuffix("m"),
        let millions = Double(id.dropFirst(prefix.count).dropLast()),
        let value = (row[side] as? NSNumber)?.doubleValue
      else { continue }
      points.append((millions * 1e6, value))
    }
    return Line(
      name: name, color: color, isDashed: isDashed, points: points.sorted { $0.keys < $1.keys })
  }

  private static func svg(_ lines: [Line], _ machine: Machine) -> String {
    let (left, top, width, height) = (90.0, 76.0, 560.0, 340.0)
    let x = Decades(lines.flatMap { $0.points.map(\.keys) }, from: left, to: left + width)
    let y = Decades(lines.flatMap { $0.points.map(\.nanoseconds) }, from: top + height, to: top)
    var out = SVG.head("Cost of a put and a get over the number of keys", width: 840, height: 490)
    out.append(
      SVG.text(
        "100 B values, random keys, time per operation; \(machine.text)", x: 20, y: 56, size: 12,
        fill: SVG.grey))
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
        SVG.text(duration(tick), x: left - 8, y: at + 4, size: 12, fill: SVG.grey, anchor: "end"))
    }
    for line in lines {
      let places = line.points.map { (x: x.place($0.keys), y: y.place($0.nanoseconds)) }
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
        out.append(
          SVG.text(line.name, x: last.x + 10, y: last.y + 4, weight: 600, fill: line.color))
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
