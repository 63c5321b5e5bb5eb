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
}

/// Every area, in the order of their tables.
var allAreas: [any Area.Type] { [LogArea.self, CodingArea.self] }
