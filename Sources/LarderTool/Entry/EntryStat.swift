// SPDX-License-Identifier: MIT
import ArgumentParser
import Larder
import LarderCore
import LarderLogTool

struct EntryStat: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stat",
    abstract: "Show an entry cache's figures: entries, values, room, which process has it open.",
    discussion: """
      Works while a program uses the cache. The cache's version is the number that its program \
      gives it, to start afresh with another one; the other versions number the writes from its \
      beginning. With --json, sizes are in bytes and the time is in seconds since 1970.

      EXAMPLES
        larder entry stat pages.entries
        larder entry stat --json pages.entries | jq '.count, .valueCount'
      """)

  @Argument(help: "The entry cache's folder.", completion: .directory)
  var folder: String

  @Flag(name: .long, help: "Print a JSON object.")
  var json = false

  func run() throws {
    let figures = try CacheFigures(folder, try EntryFolder.read(folder).cache)
    guard case .entries(let valueCount, let version) = figures.kind else { return }
    try figures.print(
      json: json,
      rows: [
        ("values an entry", Quantity.count(valueCount)), ("cache version", String(version)),
      ],
      fields: {
        $0.add("valueCount", valueCount)
        $0.add("cacheVersion", version)
      })
  }
}
