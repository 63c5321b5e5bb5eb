// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderCore
import LarderLogTool

struct CacheStat: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stat",
    abstract: "Show a cache's figures: entries, room, log, which process has it open.",
    discussion: """
      Works while a program uses the cache. Versions number the writes of a cache from its \
      beginning. With --json, sizes are in bytes and the time is in seconds since 1970.

      EXAMPLES
        larder cache stat users.cache
        larder cache stat --json users.cache | jq '.count, .writerProcess'
      """)

  @Argument(help: "The cache's folder.", completion: .directory)
  var folder: String

  @Flag(name: .long, help: "Print a JSON object.")
  var json = false

  func run() throws {
    let figures = try CacheFigures(folder)
    try figures.print(
      json: json, rows: [("value format", figures.kind.valueFormat)],
      fields: { $0.add("format", figures.statistics.format) })
  }
}
