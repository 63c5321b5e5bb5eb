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
        larder log verify -q app.larder || larder log salvage app.larder saved.larder
      """)

  @Argument(help: "The log.", completion: .file())
  var file: String

  @Flag(name: .long, help: "Print a JSON object.")
  var json = false

  @Flag(name: .shortAndLong, help: "No report and no progress: the exit code alone.")
  var quiet = false

  func run() throws {
    let finding: LogFinding
    do {
      finding = try find(LogCreation.read(file))
    } catch let error as LarderError where error.code == .damaged {
      // Damage so deep that it cannot even be opened is what was asked for, and not a failure.
      if !quiet { try ReportText.print(damage: error, of: file, as: "file", json: json) }
      throw ExitCode(ToolExit.damage)
    }
    if json && !quiet { try StandardOutput.line(object(finding).line) }
    if !json && !quiet { try describe(finding) }
    if !finding.isIntact { throw ExitCode(ToolExit.damage) }
  }

  private func find(_ ring: borrowing RingHandle) throws -> LogFinding {
    let size = try ring.statistics().capacity
    let start = ContinuousClock.now
    let ticker =
      quiet
      ? nil
      : ProgressTicker { "verifying \(Quantity.bytes(size))  \(Quantity.time(.now - start))" }
    defer { ticker?.stop() }
    return try LogFinding(ring)
  }

  private func object(_ finding: LogFinding) -> JSONObject {
    var object = JSONObject()
    object.add("file", file)
    object.add("isIntact", finding.isIntact)
    object.add("writerProcess", finding.writer)
    if let report = finding.report {
      ReportText.add(report, to: &object)
    } else {
      object.add("intact", finding.intact)
      object.add("lost", finding.walk?.missingCount ?? 0)
    }
    object.add(
      "missing",
      (finding.walk?.missing ?? []).map { range in
        var object = JSONObject()
        object.add("firstSequence", range.lowerBound)
        object.add("lastSequence", range.upperBound)
        return object
      })
    return object
  }

  private func describe(_ finding: LogFinding) throws {
    let messages =
      finding.report.map(ReportText.messages) ?? Quantity.count(finding.intact, "intact message")
    try StandardOutput.line("\(file): \(finding.isIntact ? "all is well" : "damaged"), \(messages)")
    for line in finding.report.map(ReportText.findings) ?? [] {
      try StandardOutput.line("  \(line)")
    }
    let missing = finding.walk?.missing ?? []
    for range in missing.prefix(Self.mostRanges) {
      let isOne = range.lowerBound == range.upperBound
      let numbers =
        Quantity.count(range.lowerBound)
        + (isOne ? "" : " to " + Quantity.count(range.upperBound))
      try StandardOutput.line("  missing: \(isOne ? "message" : "messages") \(numbers)")
    }
    if missing.count > Self.mostRanges {
      try StandardOutput.line(
        "  and \(Quantity.count(missing.count - Self.mostRanges)) places more")
    }
    if let writer = finding.writer {
      try StandardOutput.line(
        "  process \(writer) is writing to it, so only its messages were checked")
    } else if finding.isIntact, finding.report?.wasClosed == false {
      try StandardOutput.line("  its last writer did not close it, which is no damage")
    }
    if !finding.isIntact {
      try StandardOutput.line("  larder log salvage copies what is intact to a new log")
    }
  }

  private static let mostRanges = 20
}
