// SPDX-License-Identifier: MIT
import Foundation

extension Goal {
  /// As in the table: "≤ 0.15", "≤ 1 ms", "0".
  var text: String {
    switch self {
    case .ratio(let value): "≤ \(plain(value))"
    case .nanoseconds(let value): "≤ \(duration(value))"
    case .count(let value, _): value == 0 ? "0" : "≤ \(plain(value))"
    case .atLeast(let value, _): "≥ \(plain(value))"
    case .none: "–"
    }
  }

  /// The highest of our figures that meets the goal; `nil` if there is none, or if it depends on an
  /// absent rival.
  func limit(rival: Double?) -> Double? {
    switch self {
    case .ratio(let value): rival.map { $0 * value }
    case .nanoseconds(let value), .count(let value, _): value
    case .atLeast, .none: nil
    }
  }
}

extension Row {
  /// The word behind our figure: "ns", "bytes", "allocations".
  var unitName: String {
    switch goal {
    case .count(_, let unit), .atLeast(_, let unit): unit
    case .ratio, .nanoseconds, .none: unit
    }
  }

  var isTime: Bool { unitName == "ns" }
}

/// A number with three significant digits and groups of three: 0.0123, 4.56, 78.9, 12,345.
func significant(_ value: Double) -> String {
  guard value.isFinite else { return "–" }
  if value == 0 { return "0" }
  let digits = max(0, 2 - Int(floor(log10(abs(value)))))
  return value.formatted(
    .number.precision(.fractionLength(min(digits, 6))).locale(Locale(identifier: "en_US")))
}

/// A number as short as it can be written.
func plain(_ value: Double) -> String {
  value == value.rounded() ? String(Int(value)) : String(value)
}

/// Nanoseconds in the unit that suits them: "28.1 ns", "6.68 µs", "1 ms".
func duration(_ nanoseconds: Double) -> String {
  let units = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)]
  let (unit, size) = units.last { nanoseconds >= $0.1 } ?? units[0]
  let value = nanoseconds / size
  return "\(value == value.rounded() ? plain(value) : significant(value)) \(unit)"
}

/// Where the figures were taken: they mean nothing without it.
struct Machine {
  let text: String

  init() {
    let cores = ProcessInfo.processInfo.activeProcessorCount
    var parts = ["\(cores) core\(cores == 1 ? "" : "s")"]
    if let cpu = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8),
      let line = cpu.split(separator: "\n").first(where: { $0.hasPrefix("model name") }),
      let name = line.split(separator: ":", maxSplits: 1).last
    {
      parts.append(name.trimmingCharacters(in: .whitespaces))
    }
    #if os(Linux)
      parts.append("Linux")
    #else
      parts.append("macOS")
    #endif
    #if arch(arm64)
      parts.append("arm64")
    #elseif arch(x86_64)
      parts.append("x86-64")
    #endif
    text = parts.joined(separator: ", ")
  }
}

/// What is running: one line on a terminal's error output.
enum Progress {
  private static let isTerminal = isatty(STDERR_FILENO) == 1

  static func show(_ text: String) { put("\r\u{1B}[K" + text) }
  static func clear() { put("\r\u{1B}[K") }

  /// A line that stays, of work that takes minutes; wherever error output goes.
  static func note(_ text: String) {
    FileHandle.standardError.write(Data(((isTerminal ? "\r\u{1B}[K" : "") + text + "\n").utf8))
  }

  private static func put(_ text: String) {
    if isTerminal { FileHandle.standardError.write(Data(text.utf8)) }
  }
}
