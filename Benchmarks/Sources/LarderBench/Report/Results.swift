// SPDX-License-Identifier: MIT
import Foundation

/// results.json: what was measured, for programs.
enum Results {
  /// `.build/bench` at the top of the main package, wherever the program is started.
  static var defaultFolder: URL {
    var top = URL(fileURLWithPath: #filePath)
    for _ in 0..<5 { top.deleteLastPathComponent() }
    return top.appendingPathComponent(".build/bench")
  }

  /// Writes the rows measured over those with the same id, or behind the others; rows that were not
  /// measured this time stay as they are.
  ///
  /// - Returns: All rows.
  static func merge(_ measurements: [Measurement], into folder: URL) throws -> [[String: Any]] {
    let file = folder.appendingPathComponent("results.json")
    var rows: [[String: Any]] = []
    // A missing or unreadable file is one without rows: it only holds what a run can make again.
    if let data = try? Data(contentsOf: file) {
      rows = (try? JSONSerialization.jsonObject(with: data)) as? [[String: Any]] ?? []
    }
    for measurement in measurements {
      if let index = rows.firstIndex(where: { $0["id"] as? String == measurement.row.id }) {
        rows[index] = measurement.json
      } else {
        rows.append(measurement.json)
      }
    }
    let data = try JSONSerialization.data(
      withJSONObject: rows, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
    try data.write(to: file, options: .atomic)
    return rows
  }
}

extension Measurement {
  /// `ratio ≤ goal` whenever `met`: a goal in time is given in the unit `goal_unit`, and the ratio
  /// is then ours in that unit. Where more is better, `goal_unit` begins with "at least", and `met`
  /// means `ratio ≥ goal`. Figures whose `unit` is not "ns" are in `ours_ns` and `rival_ns` too.
  fileprivate var json: [String: Any] {
    var object: [String: Any] = [
      "id": row.id, "ours_ns": rounded(ours), "rival": row.rival?.name ?? NSNull(),
      "rival_ns": rival.map(rounded) ?? NSNull(), "ratio": ratio.map(rounded) ?? NSNull(),
      "unit": row.unitName, "met": met ?? NSNull(), "repeats": repeats, "quick": quick,
      "ours": row.ours,
    ]
    if isUnjudged { object["not_judged"] = true }
    if !remarks.isEmpty { object["remarks"] = remarks }
    switch row.goal {
    case .ratio(let value):
      object["goal"] = value
      object["goal_unit"] = "ratio"
    case .nanoseconds(let value):
      object["goal"] = 1
      object["goal_unit"] = duration(value)
      object["goal_ns"] = value
    case .count(let value, let unit):
      object["goal"] = value
      object["goal_unit"] = unit
    case .atLeast(let value, let unit):
      object["goal"] = value
      object["goal_unit"] = "at least, \(unit)"
    case .none:
      object["goal"] = NSNull()
      object["goal_unit"] = NSNull()
    }
    if let spread, let extremes {
      object["ratio_min"] = rounded(extremes.lowerBound)
      object["ratio_quartiles"] = [rounded(spread.lowerBound), rounded(spread.upperBound)]
      object["ratio_max"] = rounded(extremes.upperBound)
    }
    if let absence = row.rival?.absence {
      object["skipped"] = absence
    } else if let rival = row.rival {
      object["rival_settings"] = rival.settings
    }
    return object
  }

  /// Five significant digits: more would only pretend.
  private func rounded(_ value: Double) -> Any {
    guard value.isFinite else { return NSNull() }
    return Double(String(format: "%.5g", value)) ?? value
  }
}
