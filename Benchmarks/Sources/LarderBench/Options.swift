// SPDX-License-Identifier: MIT
import Foundation

/// What the command line asks for.
struct Options {
  var areas: [String] = []
  var rows: [String] = []
  var quick = ProcessInfo.processInfo.environment["QUICK"].map { $0 != "" && $0 != "0" } ?? false
  var list = false
  var help = false
  /// Where the area hitratio finds cache traces; nil for `../shared/traces`, seen from the top of
  /// the main package.
  var traces = ProcessInfo.processInfo.environment["TRACES"].flatMap { $0.isEmpty ? nil : $0 }
  /// Where results and charts go; nil for `.build/bench` at the top of the main package.
  var output: String?

  static let usage = """
    OVERVIEW: Measures Larder beside its rivals, interleaved in one run.

    USAGE: larder-bench [--area NAME]… [--row ID]… [--quick] [--output FOLDER]
                        [--traces FOLDER] [--list] [--help]

    Each row of the table is one piece of work done by Larder and by a rival, in turn: A B A B …
    The figures are medians over the repeats, in nanoseconds per operation, without the cost of the
    loop. ratio = ours / rival: lower is better. Beside the table this writes results.json, where
    the rows of areas that were not run stay as they are, and a chart NAME.svg per area.

    OPTIONS:
      --area NAME       Run this area only. Can be repeated. Known areas: \(areaNames).
      --row ID          Run this row only, and rows whose id begins with "ID."; no chart is drawn.
                        Can be repeated. Example: --row log.append.raw
      --quick           Fewer repeats: at most 40 s an area on two cores. QUICK=1 in the
                        environment does the same.
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
      case "--list": list = true
      case "--help", "-h": help = true
      default: throw UsageError("Unknown option \(argument).")
      }
    }
    for area in areas where !allAreas.contains(where: { $0.name == area }) {
      throw UsageError("There is no area \(area); there are: \(Self.areaNames).")
    }
    let ids = allAreas.flatMap { $0.rows.map { $0.id } }
    for row in rows where !ids.contains(where: { $0 == row || $0.hasPrefix(row + ".") }) {
      throw UsageError("There is no row \(row); --list prints them.")
    }
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
