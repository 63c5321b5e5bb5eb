// SPDX-License-Identifier: MIT
import ArgumentParser
import LarderCore

struct LogCat: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cat",
    abstract: "Print the messages of a log, oldest first.",
    discussion: """
      Lines that `larder log append` stored come out byte for byte: a newline goes behind each, \
      and not behind a last line that had none. It works on a log of any program, also while that \
      program writes to it; what is appended after the start is not printed. If messages are \
      missing between two others, a note on the standard error says how many; if that is because \
      of damage, the exit code is 1.

      Messages that are CBOR, which Codable types are unless their log was made with another \
      coder, come out as JSON, one message a line: dates as text, bytes as base64url. A message \
      that is not valid CBOR is left out, and a note says which. --raw prints what is stored.

      EXAMPLES
        larder log cat app.larder > app.log           everything, as it was
        larder log cat --last 100 app.larder          the 100 newest
        larder log cat --from 5001 app.larder         from message 5,001 on
        larder log cat --reverse app.larder | less    newest first
        larder log cat events.larder | jq .level      CBOR as JSON
        larder log cat --json app.larder | jq .sequence
      """)

  @Argument(help: "The log.", completion: .file())
  var file: String

  @Flag(name: [.customShort("r"), .long], help: "Newest first.")
  var reverse = false

  @Option(
    name: .long,
    help: ArgumentHelp("Only messages with this number or a higher one.", valueName: "sequence"))
  var from: UInt64?

  @Option(
    name: [.customShort("n"), .long],
    help: ArgumentHelp("Only so many of the newest messages.", valueName: "count"))
  var last: UInt64?

  @OptionGroup(title: "Format") var format: MessageFormat

  func run() throws {
    let ring = try LogCreation.read(file)
    // A log that is being written to could go on for ever: the end is where it is now.
    let statistics = try ring.statistics()
    let newest = statistics.newestSequence ?? 0
    var printer = MessagePrinter(format, path: file, endsEveryMessage: reverse)
    printer.contentFormat = statistics.format
    if newest > 0, last != 0 {
      let reader = try ring.makeReader()
      let oldest = max(statistics.oldestSequence ?? 1, from ?? 1, 1)
      if reverse {
        try printBackwards(reader, from: newest, to: oldest, with: &printer)
      } else {
        try printForwards(reader, from: oldest, to: newest, with: &printer)
      }
    }
    try printer.flush()
    try LogFinding.endPrinting(ring, file, missed: printer.hasMissed)
  }

  private func printForwards(
    _ reader: borrowing RingReader, from oldest: UInt64, to newest: UInt64,
    with printer: inout MessagePrinter
  ) throws {
    try reader.seek(to: from ?? 0)
    if let last { try reader.stepBack(last, from: newest, notBefore: from ?? 0) }
    var printed = oldest - 1
    while printed < newest, let record = try reader.next() {
      guard record.sequence <= newest else { break }
      // A reader counts from the first message it returns; before it, only what was to be there.
      let isFirst = printed == oldest - 1 && last == nil
      try printer.print(
        record, lost: isFirst ? record.sequence.subtracting(clamping: oldest) : record.lost)
      printed = record.sequence
    }
    if printed < newest {
      try printer.note(missing: newest - printed, before: newest.adding(clamping: 1))
    }
  }

  private func printBackwards(
    _ reader: borrowing RingReader, from newest: UInt64, to oldest: UInt64,
    with printer: inout MessagePrinter
  ) throws {
    var before = newest.adding(clamping: 1)
    try reader.seek(to: before)
    var remaining = last ?? .max
    while remaining > 0, let record = try reader.previous(), record.sequence >= oldest {
      let missing = before.subtracting(clamping: record.sequence.adding(clamping: 1))
      if missing > 0 { try printer.note(missing: missing, before: before) }
      try printer.print(record, lost: 0)
      before = record.sequence
      remaining -= 1
    }
    if remaining > 0, before > oldest {
      try printer.note(missing: before - oldest, before: before)
    }
  }
}
