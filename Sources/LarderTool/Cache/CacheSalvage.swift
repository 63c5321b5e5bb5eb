// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderCore

struct CacheSalvage: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "salvage",
    abstract: "Copy every intact entry of a damaged cache to a new cache.",
    discussion: """
      The source is only read, however damaged it is: a torn or missing index, segments of the \
      log that were cut off or are missing. Entries keep their times and extended data. No \
      process may have the source open. Exits with 0 if nothing was lost and with 1 if something \
      was.

      EXAMPLES
        larder cache salvage users.cache saved.cache
        larder cache salvage --json users.cache saved.cache | jq '.intact, .damaged'
      """)

  @Argument(help: "The damaged cache's folder.", completion: .directory)
  var source: String

  @Argument(help: "The folder of the cache to make; must not exist.", completion: .directory)
  var target: String

  @Flag(name: .long, help: "Print a JSON object.")
  var json = false

  func run() throws {
    try StandardStreams.requireOutput(outside: source)
    let report = try salvage()
    let isWhole = report.isIntact && report.lost == 0
    if json {
      var object = JSONObject()
      object.add("source", source)
      object.add("target", target)
      CacheText.add(report, to: &object)
      try StandardOutput.line(object.line)
    } else {
      try StandardOutput.line("\(target): \(CacheText.intact(report)) saved from \(source)")
      for finding in CacheText.findings(report) { try StandardOutput.line("  \(finding)") }
      if isWhole { try StandardOutput.line("  nothing was lost") }
    }
    if !isWhole { throw ExitCode(ToolExit.damage) }
  }

  private func salvage() throws -> DiskCacheReport {
    do {
      return try EntryProgress.run("salvaging") {
        try RawCache.salvage(from: source, to: target, progress: $0)
      }
    } catch let error as LarderError where error.code == .busy {
      // The cache itself says who it is, if it is whole enough to be opened.
      guard let writer = try? CacheFolder.read(source).statistics.writerProcess else { throw error }
      throw ToolFailure(
        "Could not salvage \(source): process \(writer) has it open; close it there first.")
    }
  }
}
