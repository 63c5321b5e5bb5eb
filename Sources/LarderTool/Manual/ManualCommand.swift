// SPDX-License-Identifier: MIT
import ArgumentParser
import LarderCore
import LarderLogTool

/// Prints the manual page, for `make install-tool`.
struct ManualCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "manual",
    abstract: "Print the manual page of larder, for man(1).",
    shouldDisplay: false)

  func run() throws {
    var output = StandardOutput(raw: true)
    try output.write(ManualPage(try ManualSource.read(), version: libraryVersion).text)
    try output.flush()
  }
}
