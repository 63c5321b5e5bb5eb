// SPDX-License-Identifier: MIT
import Foundation

/// What the command line asks for.
struct Options {
  var areas: [String] = []
  var rows: [String] = []
  var quick = ProcessInfo.processInfo.environment["QUICK"].map { $0 != "" && $0 != "0" } ?? false
  /// How large the large rows are.
  var scale = Scale()
  /// The fewest pairs of each row, whatever its own number.
  var pairs = 1
  var list = false
  var help = false
  /// Where the area hitratio finds cache traces; nil for `../shared/traces`, seen from the top of
  /// the main package.
  var traces = ProcessInfo.processInfo.environment["TRACES"].flatMap { $0.isEmpty ? nil : $0 }
  /// Where results and charts go; nil for `.build/bench` at the top of the main package.
  var output: String?

  static let usage = """
    OVERVIEW: Measures Larder beside its rivals, interleaved in one run.

    USAGE: larder-bench [--area NAME]… [--row ID]… [--quick] [--keys COUNTS] [--records COUNT]
                        [--pairs COUNT] [--output FOLDER] [--traces FOLDER] [--list] [--help]

    Each row of the table is one piece of work done by Larder and by a rival, in turn: A B B A …
    The figures are medians over the repeats, in nanoseconds per operation, without the cost of the
    loop. ratio = ours / rival, the median over pairs: lower is better. A goal is judged from
    \(Effort.judged) pairs on. Beside the table this writes results.json, where the rows of areas
    that were not run stay as they are, and a chart NAME.svg per area.

    OPTIONS:
      --area NAME       Run this area only. Can be repeated. Known areas: \(areaNames).
      --row ID          Run this row only, and rows whose id begins with "ID."; no chart is drawn.
                        Can be repeated. Example: --row log.append.raw
      --quick           Fewer repeats: at most 40 s an area on two cores. QUICK=1 in the
                        environment does the same. Rows that take minutes are skipped, and the
                        table says so.
      --keys COUNTS     How many keys the large rows of the area disk have, one number or several
                        with commas between them. Default: 10,000,000, as their ids say: other
                        sizes have ids of their own, disk.set.1m for --keys 1m. The chart
                        disk-size.svg shows the cost over all sizes in results.json.
      --records COUNT   How many records the area ycsb has. Default: 1m, with --quick 20k.
      --pairs COUNT     Run at least so many pairs of each row. A large row has one pair otherwise.
      --output FOLDER   Write results and charts here. Default: .build/bench in the main package.
                        The files that are measured are made in this folder too, and removed: it
                        should be on the disk that matters, not in memory.
      --traces FOLDER   Where the area hitratio finds cache traces and MANIFEST.tsv, in which they
                        are named. Default: $TRACES, or ../shared/traces beside the main package.
                        Without that folder, or without zstd, it makes traces up.
      --list            Print the rows' ids and goals, and run nothing.
      --help            Print this.

    A rival that is not installed is skipped, and the table says so.
    """

  private static var areaNames: String { allAreas.map { $0.name }.joined(separator: ", ") }

  init(_ arguments: some Sequence<String>) throws(UsageError) {
    var rest = Array(arguments)[...]
    while let argument = rest.popFirst() {
      let (name, attached) = Self.split(argument)
      func value() throws(UsageError) -> String {
        if let attached { return attached }
        guard let next = rest.popFirst() else { throw UsageError("\(name) needs a value.") }
        return next
      }
      switch name {
      case "--area": areas.append(try value())
      case "--row": rows.append(try value())
      case "--output": output = try value()
      case "--traces": traces = try value()
      case "--quick": quick = true
      case "--keys":
        scale.keys = try value().split(separator: ",").map { part throws(UsageError) in
          try Self.count(part, name)
        }
      case "--records": scale.records = try Self.count(try value(), name)
      case "--pairs": pairs = try Self.count(try value(), name)
      case "--list": list = true
      case "--help", "-h": help = true
      default: throw UsageError("Unknown option \(argument).")
      }
    }
    for area in areas where !allAreas.contains(where: { $0.name == area }) {
      throw UsageError("There is no area \(area); there are: \(Self.areaNames).")
    }
    let ids = allAreas.flatMap { $0.rows(scale).map { $0.id } }
    for row in rows where !ids.contains(where: { $0 == row || $0.hasPrefix(row + ".") }) {
      throw UsageError("There is no row \(row); --list prints them.")
    }
  }

  /// A number like "250000", "100k" or "10m".
  private static func count(
    _ text: some StringProtocol, _ name: String
  ) throws(UsageError) -> Int {
    let units: [Character: Double] = ["k": 1e3, "m": 1e6]
    let unit = text.last.flatMap { units[$0] }
    let digits = unit == nil ? String(text) : String(text.dropLast())
    guard let number = Double(digits), number * (unit ?? 1) >= 1, number * (unit ?? 1) <= 1e9 else {
      throw UsageError("\(name) takes numbers like 250000, 100k or 10m, not \(text).")
    }
    return Int(number * (unit ?? 1))
  }

  private static func split(_ argument: String) -> (name: String, value: String?) {
    guard let equals = argument.firstIndex(of: "=") else { return (argument, nil) }
    return (String(argument[..<equals]), String(argument[argument.index(after: equals)...]))
  }

  /// Whether row `id` is to be run.
  func includes(row id: String) -> Bool {
    rows.isEmpty || rows.contains { id == $0 || id.hasPrefix($0 + ".") }
  }
}

/// A command line that cannot be carried out.
struct UsageError: Error {
  let message: String
  init(_ message: String) { self.message = message }
}
