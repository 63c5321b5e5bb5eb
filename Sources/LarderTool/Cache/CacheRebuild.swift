// SPDX-License-Identifier: MIT
import ArgumentParser
import Larder
import LarderLogTool

struct CacheRebuild: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rebuild",
    abstract: "Rebuild the index of a cache in place, from its log.",
    discussion: """
      For a cache whose data.mdb is damaged or missing: its log has every entry. No value is \
      copied, and after a crash or Ctrl-C in the middle the cache is as it was. No process may \
      have it open. Exits with 0 if nothing of the log was found damaged and with 1 if something \
      was; whether a segment is missing, only the old index could tell. Where the log is damaged, \
      too, salvage makes a cache without damage. Where entries may be older than what was lost, \
      nothing is changed without --keep-uncertain, which keeps them.

      EXAMPLES
        larder cache rebuild users.cache
        larder cache verify users.cache || larder cache rebuild users.cache
      """)

  @Argument(help: "The cache's folder.", completion: .directory)
  var folder: String

  @Flag(name: .long, help: "Keep entries that may be older than what was lost.")
  var keepUncertain = false

  @Flag(name: .shortAndLong, help: "No report and no progress.")
  var quiet = false

  @OptionGroup
  var others: OtherUsers

  func run() throws {
    try StandardStreams.requireOutput(outside: folder)
    let report = try CacheFolder.alone(folder, "rebuild") {
      try EntryProgress.run("rebuilding", isShown: !quiet) {
        try RawCache.rebuild(
          at: .path(folder), trustsOtherUsers: others.areTrusted, keepsUncertain: keepUncertain,
          progress: $0)
      }
    }
    let isWhole = report.damaged == 0 && report.lost == 0 && report.uncertain == 0
    if !quiet {
      try StandardOutput.line("\(folder): \(CacheText.intact(report)) in the new index")
      for finding in isWhole ? [] : CacheText.findings(report, keptUncertain: keepUncertain) {
        try StandardOutput.line("  \(finding)")
      }
    }
    if !isWhole { throw ExitCode(ToolExit.damage) }
  }
}
