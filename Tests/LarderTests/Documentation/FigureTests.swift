// SPDX-License-Identifier: MIT

import Foundation
import Testing

/// Every figure of the documentation is one that `Benchmarks/results.json` has.
@Suite struct FigureTests {
  /// A row as it was recorded.
  struct Figures: Decodable {
    let id: String
    let ours: Double
    let rival: Double?
    let ratio: Double?
    let met: Bool?

    enum CodingKeys: String, CodingKey {
      case id, ratio, met
      case ours = "ours_ns"
      case rival = "rival_ns"
    }
  }

  private static let chart = "Sources/Larder/Larder.docc/Resources/disk-10m.svg"
  private let recorded: [String: Figures]
  private let page = Documentation.page("Sources/Larder/Larder.docc/Performance.md")

  init() throws {
    let file = Documentation.top.appendingPathComponent("Benchmarks/results.json")
    let rows = try JSONDecoder().decode([Figures].self, from: Data(contentsOf: file))
    recorded = Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0) })
  }

  /// Cells of the page's rows, by what the first one says.
  private var rows: [String: [String]] {
    let rows = page.text.split(separator: "\n").filter { $0.hasPrefix("| ") }
      .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
      .filter { $0.count == 7 && $0[0].contains(".") }
    return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0) })
  }

  /// Whether a cell is a figure to three significant digits.
  private func shows(_ cell: String, _ value: Double?) -> Bool {
    guard let value else { return cell == "–" }
    guard let shown = Double(cell.replacing(",", with: "")) else { return false }
    let digits = value > 0 ? 2 - Int(log10(value).rounded(.down)) : 0
    return abs(shown - value) <= 0.5001 * pow(10, -Double(max(0, digits)))
  }

  @Test func thePageHasTheFiguresRecordedAndNoOthers() {
    let rows = rows
    #expect(rows.count > 100)
    #expect(Set(rows.keys) == Set(recorded.keys))
    for (id, cells) in rows {
      guard let figures = recorded[id] else { continue }
      #expect(shows(cells[3], figures.ours), "\(id): \(cells[3]), recorded \(figures.ours)")
      #expect(shows(cells[4], figures.rival), "\(id): \(cells[4])")
      #expect(shows(cells[5], figures.ratio), "\(id): \(cells[5])")
      if let met = figures.met { #expect(cells[6].hasSuffix("✗") == !met, "\(id)") }
    }
  }

  @Test func theChartHasTheFiguresRecorded() throws {
    let text = Documentation.page(Self.chart).text
    let bar = #/<rect x="\d+" y="\d+" width="([\d.]+)" .* data-row="(\S+)" data-side="(\w+)"/>\n/#
    let label = #/<text [^>]*>([\d.]+) (µs|B)  (Larder|RocksDB)<\/text>/#
    let bars = text.matches(of: bar)
    let labels = text.matches(of: label)
    #expect(bars.count == 8 && labels.count == 8)
    var scales: [String: [Double]] = [:]
    for (bar, label) in zip(bars, labels) {
      let figures = try #require(recorded[String(bar.2)])
      let isOurs = bar.3 == "ours_ns"
      let value = try #require(isOurs ? figures.ours : figures.rival)
      #expect(label.3 == (isOurs ? "Larder" : "RocksDB"))
      // Bytes are those of all puts together.
      let (unit, exactness) = label.2 == "B" ? (1e7, 0.5) : (1e3, 0.005)
      let shown = try #require(Double(label.1))
      #expect(abs(shown - value / unit) <= exactness * 1.001, "\(bar.2)")
      scales[String(label.2), default: []].append(try #require(Double(bar.1)) / value * unit)
    }
    // All bars of one unit are as long as what they stand for.
    for (unit, scales) in scales {
      let (least, most) = (try #require(scales.min()), try #require(scales.max()))
      #expect(most / least < 1.002, "\(unit)")
    }
  }

  @Test func theReadmeAndThePageShowThatChart() {
    #expect(Documentation.readme.text.contains("(\(Self.chart))"))
    #expect(page.text.contains("(disk-10m)"))
  }
}
