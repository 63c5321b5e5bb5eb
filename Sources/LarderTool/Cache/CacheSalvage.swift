// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Larder
import LarderCore
import LarderLogTool

struct CacheSalvage: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "salvage",
    abstract: "Copy every intact entry of a damaged cache to a new cache.",
    discussion: """
      The source is only read, however damaged it is: a torn or missing index, segments of the \
      log that were cut off or are missing. Entries keep their times and extended data. Where all \
      that is known is that something was lost, entries that may be older are left out, unless \
      --keep-uncertain keeps them. No process may have the source open. Exits with 0 if nothing \
      was lost and with 1 if something was, or may have been: without the whole index nobody can \
      tell whether a segment is missing.

      EXAMPLES
        larder cache salvage users.cache saved.cache
        larder cache salvage --json users.cache saved.cache | jq '.intact, .damaged'
      """)

  @Argument(help: "The damaged cache's folder.", completion: .directory)
  var source: String

  @Argument(help: "The folder of the cache to make; must not exist.", completion: .directory)
  var target: String

  @Flag(name: .long, help: "Keep entries that may be older than what was lost.")
  var keepUncertain = false

  @Flag(name: .long, help: "Print a JSON object.")
  var json = false

  @Flag(name: .shortAndLong, help: "No report and no progress: the exit code alone.")
  var quiet = false

  func run() throws {
    try StandardStreams.requireOutput(outside: source)
    let report = try CacheFolder.alone(source, "salvage") {
      try EntryProgress.run("salvaging", isShown: !quiet) {
        try RawCache.salvage(
          from: .path(source), to: .path(target), keepsUncertain: keepUncertain, progress: $0)
      }
    }
    if quiet {
      // The exit code says it.
    } else if json {
      var object = JSONObject()
      object.add("source", source)
      object.add("target", target)
      CacheText.add(report, to: &object)
      try StandardOutput.line(object.line)
    } else {
      try StandardOutput.line("\(target): \(CacheText.intact(report)) saved from \(source)")
      for finding in CacheText.findings(report, keptUncertain: keepUncertain) {
        try StandardOutput.line("  \(finding)")
      }
      if report.isIntact { try StandardOutput.line("  nothing was lost") }
      if report.damagedPages > 0 {
        try StandardOutput.line("  without all of data.mdb nobody can tell whether more was lost")
      }
    }
    if !report.isIntact { throw ExitCode(ToolExit.damage) }
  }
}
