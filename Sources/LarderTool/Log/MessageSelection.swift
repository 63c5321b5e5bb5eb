// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore

/// The options of `cat` and `tail` that say which messages are printed, by what they hold.
struct MessageSelection: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "Only structured records of this level or a more severe one.", valueName: "level"))
  var level: RecordLevel?

  @Option(
    name: .long,
    help: ArgumentHelp("Only structured records with this label.", valueName: "label"))
  var label: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Only messages whose text, as it is printed, matches a regular expression.",
      valueName: "pattern"),
    transform: TextPattern.init)
  var grep: TextPattern?

  /// Whether a message may be left out.
  var isActive: Bool { level != nil || label != nil || grep != nil }

  /// Whether this needs structured records.
  var wantsRecords: Bool { level != nil || label != nil }

  /// - Throws: `ToolFailure` for a log that can have no records.
  func require(_ format: String, of path: String) throws {
    guard wantsRecords, format != "cbor" else { return }
    throw ToolFailure(
      "\(path): its messages are no structured records, of which --level and --label tell; "
        + "--grep finds text in any message")
  }

  func admits(_ record: StructuredRecord?) -> Bool {
    if let level { guard let record, record.level >= level else { return false } }
    if let label { guard let record, record.label == label else { return false } }
    return true
  }
}

/// The options of `cat` that say which messages are printed, by their times.
struct TimeRange: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "Only messages of this time or a later one: 10m, 2h, 2026-03-01, 2026-03-01T14:30Z.",
      valueName: "time"),
    transform: Moment.init)
  var since: Moment?

  @Option(
    name: .long, help: ArgumentHelp("Only messages before this time.", valueName: "time"),
    transform: Moment.init)
  var until: Moment?

  /// The numbers of the messages in the range, from those of the log.
  ///
  /// - Throws: `ToolFailure` for a log that knows no times.
  func numbers(
    _ ring: borrowing RingHandle, _ statistics: LogStatistics, path: String
  ) throws -> (first: UInt64, last: UInt64) {
    let newest = statistics.newestSequence ?? 0
    guard since != nil || until != nil else { return (0, newest) }
    guard statistics.keepsTimes else {
      if statistics.format == "cbor" { return (0, newest) }
      throw ToolFailure(
        "\(path): keeps no times of its messages, which --since and --until need; a new log does "
          + "with larder log append --timestamps, and this one from now on after larder log resize "
          + "--timestamps")
    }
    let first = try since.map { try ring.firstSequence(since: LogTime.nanoseconds(since: $0.date)) }
    let end = try until.map { try ring.firstSequence(since: LogTime.nanoseconds(since: $0.date)) }
    return (first ?? 0, min(newest, (end ?? .max).subtracting(clamping: 1)))
  }

  /// For a log that knows no times itself.
  func admits(_ record: StructuredRecord?) -> Bool {
    guard since != nil || until != nil else { return true }
    guard let record else { return false }
    return since.map { record.time >= $0.date } ?? true
      && until.map { record.time < $0.date } ?? true
  }
}

/// What `--grep` looks for.
struct TextPattern {
  private let literal: [UInt8]?
  private let expression: Regex<AnyRegexOutput>

  init(_ pattern: String) throws {
    do {
      expression = try Regex(pattern)
    } catch {
      throw ValidationError("'\(pattern)' is not a regular expression. \(error)")
    }
    // Text that means itself is found a hundred times as fast.
    let isPlain = !pattern.isEmpty && !pattern.contains { #"\.[]{}()*+?|^$"#.contains($0) }
    literal = isPlain ? Array(pattern.utf8) : nil
  }

  func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    if let literal { return text.firstRange(of: literal) != nil }
    return String(decoding: text, as: UTF8.self).contains(expression)
  }
}
