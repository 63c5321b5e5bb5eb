// SPDX-License-Identifier: MIT
import Foundation
import LarderCore
import LarderLogTool

/// Kills a writing process again and again, and looks at what is left each time.
enum DemoKill {
  private static let rounds = 10

  /// The log as the demo and the process that is killed both open it.
  static func open(_ file: URL) throws -> MessageLog<Data> {
    try MessageLog(at: .url(file), capacity: 64.megabytes, whenFull: .overwriteOldest, coder: .data)
  }

  static func run(_ tour: Tour) throws {
    try tour.heading("kill -9, ten times")
    tour.explain(
      """
      Another process appends as fast as it can, and reports each message through a pipe when its
      append has returned. It is killed at a random moment, and the log is opened again.
      """)
    let file = tour.file("kill.larder")
    tour.row(["acknowledged", "found", "damaged", "reopened in"])
    var acknowledgedBefore: UInt64 = 0
    for _ in 1...rounds {
      let acknowledged = try tour.killWriter(["demo-writer", file.path], after: 1_000...15_000)
      let clock = ContinuousClock()
      let start = clock.now
      let log = try open(file)
      let opening = start.duration(to: clock.now)
      let report = try log.recovery
      let (newest, isWhole) = try inspect(log)
      tour.row([
        Quantity.count(acknowledged), Quantity.count(newest), Quantity.count(report.lost),
        tour.time(opening),
      ])
      guard newest >= acknowledged, isWhole, report.lost == 0, !report.wasClosed,
        acknowledged > acknowledgedBefore
      else {
        return try tour.claim(
          false, "Every acknowledged message survived.",
          otherwise: "Message \(acknowledged) was acknowledged, the newest found is \(newest); "
            + "the recovery report: \(ReportText.findings(report).joined(separator: "; ")).")
      }
      acknowledgedBefore = newest
      try log.close()
    }
    try tour.claim(
      true, "Every acknowledged message survived every kill, byte for byte, without a gap.")
    try FileManager.default.removeItem(at: file)
  }

  /// Reads the whole log.
  /// - Returns: The newest number, and whether every message from the oldest on is there as it was
  ///   written.
  private static func inspect(_ log: MessageLog<Data>) throws -> (newest: UInt64, isWhole: Bool) {
    var newest = (try log.statistics.oldestSequence ?? 1) - 1
    var isWhole = true
    try log.forEachMessageBytes { sequence, bytes in
      isWhole =
        isWhole && sequence == newest + 1
        && DemoMessage.isEqual(bytes, to: DemoMessage.make(sequence))
      newest = sequence
    }
    return (newest, isWhole)
  }
}
