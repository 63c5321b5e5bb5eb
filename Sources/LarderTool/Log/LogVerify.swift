// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore

struct LogVerify: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Check every byte of a log that matters, and change nothing.",
    discussion: """
      Verifies the header and its backup, the ring's state, and every message's length, number and \
      checksum. Prints what is wrong and where. Exits with 0 if all is well and with 1 if there is \
      damage; damage costs the messages it hit and no others, and larder log salvage copies the \
      rest.

      EXAMPLES
        larder log verify app.larder
        larder log verify --json app.larder | jq .lost
        larder log verify app.larder || larder log salvage app.larder saved.larder
      """)

  @Argument(help: "The log.", completion: .file())
  var file: String

  @Flag(name: .long, help: "Print a JSON object.")
  var json = false

  func run() throws {
    let ring = try RingHandle(path: file, options: RingOptions(readOnly: true))
    let size = try ring.statistics().capacity
    let start = ContinuousClock.now
    let ticker = ProgressTicker {
      "verifying \(Quantity.bytes(size))  \(Quantity.time(.now - start))"
    }
    let found = Result { try ring.verify() }
    ticker.stop()
    let opening = try ring.recovery()
    let report = try found.get()
    // What opening found is gone from the ring that the check then sees.
    let isIntact = report.isIntact && opening.isIntact
    if json {
      var object = JSONObject()
      object.add("file", file)
      object.add("isIntact", isIntact)
      ReportText.add(opening.isIntact ? report : opening, to: &object)
      print(object.line)
    } else {
      describe(report, opening)
    }
    if !isIntact { throw ExitCode(ToolExit.damage) }
  }

  private func describe(_ report: LogReport, _ opening: LogReport) {
    let findings = ReportText.findings(opening.isIntact ? report : opening)
    if report.isIntact && opening.isIntact {
      let closed =
        opening.wasClosed ? "" : "; its last writer has not closed it, which is no damage"
      print("\(file): all is well, \(ReportText.messages(report))\(closed)")
    } else {
      print("\(file): damaged, \(ReportText.messages(report))")
      for finding in findings { print("  \(finding)") }
      print("  larder log salvage copies what is intact to a new log")
    }
  }
}
