// SPDX-License-Identifier: MIT
import Foundation

/// What the argument parser says of usage, as wide as the terminal: it breaks all other lines.
package enum UsageText {
  /// Breaks the lines that show how a command is called, and what is said beside them. Completions
  /// for shells come out of the parser, too, and stay as they are.
  package static func wrapped(_ text: String, columns: Int = columns) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let isOurs = ["USAGE: ", "Usage: ", "Error: ", "Help: ", "See '"]
        .contains { line.drop { $0 == " " }.hasPrefix($0) }
      return isOurs && line.count > columns ? wrapped(line: line, columns) : String(line)
    }.joined(separator: "\n")
  }

  private static func wrapped(line: Substring, _ columns: Int) -> String {
    let indentation = String(line.prefix { $0 == " " })
    var lines: [String] = []
    for part in parts(line) {
      if let last = lines.last, last.count + 1 + part.count <= columns {
        lines[lines.count - 1] = last + " " + part
      } else {
        lines.append(indentation + (lines.isEmpty ? "" : "  ") + part)
      }
    }
    return lines.joined(separator: "\n")
  }

  /// Words, and what is in brackets as a whole.
  private static func parts(_ line: Substring) -> [String] {
    var parts: [String] = []
    var depth = 0
    for word in line.split(separator: " ") {
      if depth > 0 {
        parts[parts.count - 1] += " " + word
      } else {
        parts.append(String(word))
      }
      depth += word.count { $0 == "[" } - word.count { $0 == "]" }
    }
    return parts
  }

  /// As the parser takes it: what `COLUMNS` says, else the terminal's width, else 80.
  private static var columns: Int {
    let asked = ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) }
    if let asked, asked > 0 { return asked }
    return StandardOutput.columns ?? 80
  }
}
