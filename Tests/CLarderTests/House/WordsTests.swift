// SPDX-License-Identifier: MIT
import Foundation
import Testing

/// The language of the project is the field's: a term has one name, and the names that were retired
/// for it do not come back, in documentation, comments, messages or identifiers.
@Suite("The house's words") struct WordsTests {
  /// What is not said, as a regular expression over lower case, and what is said instead.
  static let retired: [(pattern: String, instead: String)] = [
    (#"\b(?:time|times|life|lives) (?:is|are) over\b"#, "expired"),
    (#"\bits? own life\b|\bhas its life\b"#, "time to live"),
    (#"\bdoom"#, "schedule for deletion"),
    (#"\breap(?:s|ed|er|ing)?\b"#, "clear stale readers"),
    (#"hush"#, "block the signal"),
    (#"\bstrange"#, "unreadable"),
    (#"flight"#, "load"),
    (
      #"\b(?:fly|flies|flying|takeoff|take off|takes off)\b|\bland(?:ed|ing)\b"#,
      "start, join, finish"
    ),
    (#"departure"#, "removed entries"),
    (#"\bcare\b"#, "maintenance"),
    (#"\b(?:he|his|him)\b"#, "it"),
    (#"\b(?:lets?|letting) go\b"#, "release"),
    (#"\b(?:gives?|given|giving) out\b"#, "return"),
    (#"\b(?:take|takes|taken|taking) up\b(?! to)"#, "replay, apply"),
    (#"\bcomes? upon\b"#, "find"),
    (#"\bpass(?:ed|es) over\b|\bbe passing over\b"#, "skip"),
    (#"\banew\b"#, "again; rebuild, reopen, recreate"),
    (#"\bno good\b"#, "not well-formed"),
    (
      #"^[^a-z]*who (?:comes|wants|reads|writes|asks|needs|knows)\b"#, "say who: a reader, a writer"
    ),
  ]

  /// Sources, and what is read before them; each begins with its path.
  static let files =
    SourceTree.files(
      in: ["Sources", "README.md", ".github"],
      suffixes: [".swift", ".c", ".h", ".md", ".svg", ".yml"]
    ).map { SourceTree.File(path: $0.path, text: $0.path + "\n" + $0.text) }

  /// The lines that have a retired word, with what is said instead.
  private func findings(in text: String) -> [(line: Int, instead: String)] {
    let lowered = text.lowercased()
    let all = NSRange(lowered.startIndex..., in: lowered)
    return expression.matches(in: lowered, range: all).map { match in
      let group = (1..<match.numberOfRanges).first { match.range(at: $0).location != NSNotFound }
      let before = (lowered as NSString).substring(to: match.range.location)
      return (before.filter { $0 == "\n" }.count, Self.retired[(group ?? 1) - 1].instead)
    }
  }

  /// One group a pattern, so that a file is read once.
  private let expression: NSRegularExpression

  init() throws {
    expression = try NSRegularExpression(
      pattern: Self.retired.map { "(\($0.pattern))" }.joined(separator: "|"),
      options: .anchorsMatchLines)
  }

  @Test func noRetiredWordIsBack() throws {
    for file in Self.files {
      for finding in findings(in: file.text) {
        let line = file.lines[finding.line]
        Issue.record("\(file.path):\(finding.line): say “\(finding.instead)”: \(line)")
      }
    }
  }

  @Test func theFilesAreFound() {
    let kinds = Set(Self.files.map { URL(fileURLWithPath: $0.path).pathExtension })
    #expect(kinds == ["swift", "c", "h", "md", "svg", "yml"])
    #expect(Self.files.contains { $0.path == "README.md" })
  }

  @Test(arguments: [
    ("/// nil if its time is over", true), ("a memoryFlight of", true), ("landed(", true),
    ("/// Who asks next", true), ("// the one who asks", false), ("the other bytes", false),
    ("highlight", false), ("carefully", false), ("StoreHandle+Care", true),
    ("one pass over", false),
  ])
  func aPatternFindsItsWordsAndNoOthers(line: String, isFound: Bool) throws {
    #expect(findings(in: line).isEmpty != isFound, "\(line)")
  }
}
