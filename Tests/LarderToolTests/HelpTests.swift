// SPDX-License-Identifier: MIT
import Testing

@Suite struct HelpTests {
  static let commands: [[String]] =
    [[], ["demo"]]
    + commands("log", ["append", "cat", "tail", "stat", "verify", "salvage", "resize"] + shipping)
    + commands(
      "cache",
      ["ls", "get", "set", "rm", "stat", "verify", "rebuild", "salvage", "compact", "backup"])
    + commands("entry", ["ls", "get", "stat"])
    + commands("archive", ["ls", "get", "query", "stat"])

  private static var shipping: [String] {
    #if Remote
      ["ship"]
    #else
      []
    #endif
  }

  private static func commands(_ group: String, _ names: [String]) -> [[String]] {
    [[group]] + names.map { [group, $0] }
  }

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

  @Test(arguments: commands, [40, 80])
  func noLineIsWiderThanTheTerminal(_ command: [String], columns: Int) throws {
    let environment = ["COLUMNS": "\(columns)"]
    let help = try Tool.run(command + ["--help"], environment: environment)
    let mistake = try Tool.run(command + ["--no-such-option"], environment: environment)
    #expect(help.code == 0 && mistake.code == 64)
    for line in (help.text + mistake.errors).split(separator: "\n") {
      // A word that is longer than the terminal cannot be broken.
      #expect(line.count <= columns || !line.drop { $0 == " " }.contains(" "), "\(line)")
    }
  }

  @Test func theHelpOfTheToolNamesTheCommandsAndTheirExitCodes() throws {
    let text = try Tool.run("--help").text
    #expect(text.contains("larder cache ls") && text.contains("cache get"))
    #expect(text.contains("larder archive query") && text.contains("entry get, archive get"))
    #expect(!text.contains("demo-cache-writer"))
  }

  @Test func theVersionIsThreeNumbers() throws {
    let run = try Tool.run("--version")
    #expect(run.code == 0)
    #expect(run.text.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil)
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func aShellGetsCompletionsOfEveryCommandButHiddenOnes(shell: String) throws {
    let run = try Tool.run("--generate-completion-script", shell)
    #expect(run.code == 0 && run.errors.isEmpty)
    for name in Self.commands.compactMap(\.last) { #expect(run.text.contains(name), "\(name)") }
    #expect(!run.text.contains("demo-cache-writer"))
  }
}
