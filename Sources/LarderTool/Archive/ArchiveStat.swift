// SPDX-License-Identifier: MIT
import ArgumentParser
import Larder
import LarderLogTool

struct ArchiveStat: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stat",
    abstract: "Show an archive's figures: elements, room, which process has it open.",
    discussion: """
      Works while a program uses the archive. Versions number its writes from the beginning. With \
      --json, sizes are in bytes and the time is in seconds since 1970.

      EXAMPLES
        larder archive stat users.archive
        larder archive stat --json users.archive | jq '.count, .writerProcess'
      """)

  @Argument(help: "The archive's folder.", completion: .directory)
  var folder: String

  @Flag(name: .long, help: "Print a JSON object.")
  var json = false

  func run() throws {
    let (archive, name, version) = try ArchiveFolder.read(folder)
    let format = name.map { $0.isEmpty ? "any" : $0 }
    try CacheFigures(folder, archive).print(
      json: json, noun: "elements",
      rows: [("element format", format ?? "a program's own"), ("schema version", "\(version)")],
      fields: {
        $0.add("format", format)
        $0.add("schemaVersion", version)
      })
  }
}
