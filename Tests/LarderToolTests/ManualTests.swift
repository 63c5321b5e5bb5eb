// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport
import Testing

/// The page that `make install-tool` installs.
@Suite struct ManualTests {
  @Test func thePageHasAllThatTheHelpHas() throws {
    let run = try Tool.run("manual")
    #expect(run.code == 0 && run.errors.isEmpty)
    let sections = run.text.components(separatedBy: "\n.SS \"")
    for command in HelpTests.commands where command.count == 2 {
      let name = "larder \(command.joined(separator: " "))"
      let section = try #require(sections.first { $0.hasPrefix("\(name)\"\n") }, "\(name)")
      let help = try Tool.run(command + ["--help"], environment: ["COLUMNS": "1000"]).text
      for option in help.matches(of: /--[a-z][a-z-]+/).map({ String($0.output) })
      where !["--help", "--version"].contains(option) {
        #expect(section.contains(option.replacing("-", with: "\\-")), "\(name) \(option)")
      }
    }
    #expect(run.text.contains("EXIT CODES") && !run.text.contains("demo\\-writer"))
  }

  @Test func manFindsNothingWrongWithIt() throws {
    let directory = try TemporaryDirectory()
    let page = directory.file("larder.1")
    try Tool.run("manual").output.write(to: page)
    for (program, arguments) in [
      ("/usr/bin/groff", ["-man", "-Tutf8", "-Kutf8", "-ww", "-z"]),
      ("/usr/bin/mandoc", ["-Tlint", "-Werror"]),
    ] where FileManager.default.isExecutableFile(atPath: program) {
      let process = Process()
      let output = Pipe()
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = arguments + [page.path]
      process.standardOutput = output
      process.standardError = output
      try process.run()
      let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      #expect(process.exitCode == 0 && said.isEmpty, "\(program): \(said)")
    }
  }
}
