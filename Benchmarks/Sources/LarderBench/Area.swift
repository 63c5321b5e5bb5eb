// SPDX-License-Identifier: MIT

/// A part of Larder with its table of rows: `log`, `coding`, …
///
/// An area is added by a file with a type like this and by its line in `allAreas`.
protocol Area {
  /// As on the command line, in the rows' ids before the first point, and in the chart's file name.
  static var name: String { get }
  /// The table's and the chart's heading.
  static var title: String { get }
  static var rows: [Row] { get }
  /// The same for an area that has rows whose size can be chosen.
  static func rows(_ scale: Scale) -> [Row]
  /// Why it has no rows here, if it has none.
  static var absence: String? { get }
  /// How often its rows are repeated with `--quick`, so that all of them take 40 s at most.
  static var quickEffort: Effort { get }

  /// Measures `rows`, which are some of the area's own. An area whose figures come from one piece
  /// of work for all rows has a method of its own.
  static func run(_ rows: [Row], _ bench: Bench, _ machine: Machine) throws -> AreaReport
}

/// What is printed and drawn of an area.
struct AreaReport {
  let measurements: [Measurement]
  let text: String
  let chart: String
  /// More files to write beside the chart, by name.
  var files: [String: String] = [:]
  /// Draws more files from all of results.json, once these rows are in it.
  var filesOfResults: (([[String: Any]]) -> [String: String])?
}

/// Every area, in the order of their tables.
var allAreas: [any Area.Type] {
  [
    LogArea.self, CodingArea.self, MemoryArea.self, DiskArea.self, EntryArea.self,
    ArchiveArea.self, YCSBArea.self, HitRatioArea.self, LoggingArea.self, RemoteArea.self,
  ]
}

extension Area {
  static var quickEffort: Effort { .quick }
  static var absence: String? { nil }
  static func rows(_ scale: Scale) -> [Row] { rows }

  static func run(_ rows: [Row], _ bench: Bench, _ machine: Machine) throws -> AreaReport {
    try measured(rows, bench, machine)
  }

  /// Measures row after row.
  static func measured(
    _ rows: [Row], _ bench: Bench, _ machine: Machine
  ) throws -> AreaReport {
    let effort = bench.quick ? quickEffort : .full
    let skipped = rows.filter { bench.quick && $0.takesLong }.map(\.id)
    let measurements = try rows.filter { !skipped.contains($0.id) }.map { row in
      Progress.show("\(row.id) …")
      do {
        let own = row.effort.map { bench.quick ? $0.hastened : $0 }
        return try row.measure(bench, (own ?? effort).atLeast(bench.pairs))
      } catch {
        throw Failure(description: "\(row.id): \(error)")
      }
    }
    Progress.clear()
    return AreaReport(
      measurements: measurements,
      text: Table(
        area: self, measurements: measurements, skipped: skipped, machine: machine
      ).text,
      chart: Chart(area: self, measurements: measurements, machine: machine).svg)
  }
}
