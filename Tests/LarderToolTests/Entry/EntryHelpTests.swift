// SPDX-License-Identifier: MIT
import Testing

@Suite struct EntryHelpTests {
  static let commands: [[String]] =
    [["entry"], ["archive"]]
    + ["ls", "get", "stat"].flatMap { [["entry", $0], ["archive", $0]] } + [["archive", "query"]]

  @Test(arguments: commands)
  func everyCommandHasExamples(_ command: [String]) throws {
    let run = try Tool.run(command + ["--help"])
    #expect(run.code == 0 && run.errors.isEmpty)
    #expect(run.text.contains("EXAMPLES"))
    #expect(run.text.contains("larder \((command + [""]).joined(separator: " "))"))
    let examples = run.text.split(separator: "\n", omittingEmptySubsequences: false)
      .drop { $0 != "EXAMPLES" }.dropFirst().prefix { !$0.isEmpty }
    // A line that was too long for the terminal goes on without an indentation.
    #expect(examples.allSatisfy { $0.hasPrefix("  ") })
    #expect(examples.count >= 2)
  }

  @Test func theHelpOfTheToolNamesTheCommandsAndTheirExitCode() throws {
    let text = try Tool.run("--help").text
    #expect(text.contains("larder archive query") && text.contains("entry get, archive get"))
  }
}
