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
      "Only messages whose text, as it is printed, matches a regular expression; exits with 1 if "
        + "there is none.",
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

  /// Ends a command that printed what it was asked for, as grep(1) does.
  func end(hasPrinted: Bool) throws {
    if grep != nil && !hasPrinted { throw ExitCode(ToolExit.noMatch) }
  }

  func admits(_ record: StructuredRecord?) -> Bool {
    if let level { guard let record, record.level >= level else { return false } }
    if let label { guard let record, record.label == label else { return false } }
    return true
  }
}
