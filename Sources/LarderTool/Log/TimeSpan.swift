// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore

/// The options of `cat` that say which messages are printed, by their times.
struct TimeRange: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "Only messages of this time or a later one: 10m, 2h, today, 2026-03-01, 2026-03-01T14:30Z.",
      valueName: "time"),
    transform: Moment.init)
  var since: Moment?

  @Option(
    name: .long, help: ArgumentHelp("Only messages before this time.", valueName: "time"),
    transform: Moment.init)
  var until: Moment?

  var span: TimeSpan { TimeSpan(since: since?.date, until: until?.date) }
}

/// From when to when messages are printed.
struct TimeSpan {
  var since: Date?
  var until: Date?

  /// Whether it has no ends.
  var isOpen: Bool { since == nil && until == nil }

  /// The numbers of the messages in the span, from those of the log.
  ///
  /// - Throws: `ToolFailure` for a log that knows no times.
  func numbers(
    _ ring: borrowing RingHandle, _ statistics: LogStatistics, path: String
  ) throws -> (first: UInt64, last: UInt64) {
    let newest = statistics.newestSequence ?? 0
    if isOpen { return (0, newest) }
    guard statistics.keepsTimes else {
      if statistics.format == "cbor" { return (0, newest) }
      throw ToolFailure(
        "\(path): keeps no times of its messages, which --since and --until need; a new log does "
          + "with larder log append --timestamps, and this one from now on after larder log resize "
          + "--timestamps")
    }
    let first = try since.map { try ring.firstSequence(since: LogTime.nanoseconds(since: $0)) }
    let end = try until.map { try ring.firstSequence(since: LogTime.nanoseconds(since: $0)) }
    return (first ?? 0, min(newest, (end ?? .max).subtracting(clamping: 1)))
  }

  /// For a log that knows no times itself.
  func admits(_ record: StructuredRecord?) -> Bool {
    if isOpen { return true }
    guard let record else { return false }
    return since.map { record.time >= $0 } ?? true && until.map { record.time < $0 } ?? true
  }
}
