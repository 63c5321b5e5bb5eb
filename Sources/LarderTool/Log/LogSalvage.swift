// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore

struct LogSalvage: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "salvage",
    abstract: "Copy every intact message of a damaged log to a new log.",
    discussion: """
      The source is only read, however damaged it is: a torn header, a file that was cut off, \
      overwritten pages. Messages keep their numbers, consumers their places, and the new log has \
      the source's capacity and policy. Nobody should write to the source meanwhile. Exits with 0 \
      if nothing was lost and with 1 if something was, or may have been: where the header is \
      damaged, nobody can tell.

      EXAMPLES
        larder log salvage app.larder saved.larder
        larder log salvage --json app.larder saved.larder | jq '.intact, .lost'
      """)

  @Argument(help: "The damaged log.", completion: .file())
  var source: String

  @Argument(help: "The log to make; must not exist.", completion: .file())
  var target: String

  @Flag(name: .long, help: "Print a JSON object.")
  var json = false

  @Flag(name: .shortAndLong, help: "No report and no progress: the exit code alone.")
  var quiet = false

  func run() throws {
    Interruption.enable()
    try StandardStreams.requireOutput(outside: source)
    var progress = ProgressLine(isEnabled: !quiet)
    let report: LogReport
    do {
      report = try MessageLog<Data>.salvage(
        from: .path(source), to: .path(target)
      ) { done, total in
        if progress.isDue {
          progress.draw(
            "salvaging \(Quantity.bytes(done)) of \(Quantity.bytes(total)), "
              + Quantity.percent(done, of: total))
        }
        return !Interruption.isRequested
      }
      progress.erase()
    } catch {
      progress.erase()
      if Interruption.isRequested { throw ExitCode(ToolExit.interrupted) }
      throw error
    }
    if quiet {
      // The exit code says it.
    } else if json {
      var object = JSONObject()
      object.add("source", source)
      object.add("target", target)
      ReportText.add(report, to: &object)
      try StandardOutput.line(object.line)
    } else {
      try StandardOutput.line("\(target): \(ReportText.messages(report)) saved from \(source)")
      for finding in ReportText.findings(report) { try StandardOutput.line("  \(finding)") }
      if report.lost == 0 {
        try StandardOutput.line(
          report.isHeaderDamaged
            ? "  without the header nobody can tell whether something was lost"
            : "  nothing was lost")
      }
    }
    if report.lost > 0 || report.isHeaderDamaged { throw ExitCode(ToolExit.damage) }
  }
}
