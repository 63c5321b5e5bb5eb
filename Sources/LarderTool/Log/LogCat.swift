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
      of damage, the exit code is 1. Of a log that is too damaged to be opened, as one that was \
      cut off, what is intact is printed, from a copy among the temporary files, and then what is \
      wrong; the exit code is 1. It is 1, too, if --grep matches nothing.

      Messages that are CBOR, which Codable types are unless their log was made with another \
      coder, come out as JSON, one message a line: dates as text, bytes as base64url. A message \
      that is not valid CBOR is left out, and a note says which. --raw prints what is stored.

      Structured records, which a logging backend writes, are CBOR maps with a time, a level, a \
      label and a message. They come out as lines of text, in colours at a terminal unless \
      NO_COLOR is set; with --json as objects, and all that they hold. Levels are trace, debug, \
      info, notice, warning, error and critical.

      --since and --until go by the times that the log keeps, and find the first message at once, \
      however long the log is. In a log that keeps none they go by the times of structured \
      records. A time is how long ago (90s, 10m, 12h, 2d), today or yesterday, which begin at \
      midnight, seconds since 1970 (@1772375400), or a date; without a zone it is local. --last \
      counts the messages that are printed.

      EXAMPLES
        larder log cat app.larder > app.log           everything, as it was
        larder log cat --last 100 app.larder          the 100 newest
        larder log cat --from 5001 app.larder         from message 5,001 on
        larder log cat --reverse app.larder | less    newest first
        larder log cat events.larder | jq .level      CBOR as JSON
        larder log cat --json app.larder | jq .sequence
        larder log cat --since 10m app.larder         the last ten minutes
        larder log cat --since 2026-03-01 --until 2026-03-02 app.larder
        larder log cat --level warning --label db --grep timeout server.larder
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
    name: [.customShort("n", allowingJoined: true), .long],
    help: ArgumentHelp("Only so many of the newest messages.", valueName: "count"))
  var last: UInt64?

  @OptionGroup(title: "Times") var range: TimeRange

  @OptionGroup(title: "Selection") var selection: MessageSelection

  @OptionGroup(title: "Format") var format: MessageFormat

  func run() throws {
    let log = try LogCreation.readIntact(file)
    // A log that is being written to could go on for ever: the end is where it is now.
    let statistics = try log.ring.statistics()
    var printer = MessagePrinter(
      format, selection, range.span, path: file, endsEveryMessage: reverse)
    try printer.begin(statistics)
    let (first, newest) = try range.span.numbers(log.ring, statistics, path: file)
    let oldest = max(statistics.oldestSequence ?? 1, from ?? 1, first, 1)
    if newest >= oldest, last != 0 {
      let reader = try log.ring.makeReader()
      if reverse {
        try printBackwards(reader, from: newest, to: oldest, with: &printer)
      } else {
        try printForwards(reader, from: oldest, to: newest, with: &printer)
      }
    }
    try printer.flush()
    try LogFinding.endPrinting(log.ring, file, missed: printer.hasMissed, damage: log.damage)
    try printer.end()
  }

  /// Whether all messages are asked for, also those that are there only after this began.
  private var isWhole: Bool { from == nil && range.since == nil }

  private func printForwards(
    _ reader: borrowing RingReader, from oldest: UInt64, to newest: UInt64,
    with printer: inout MessagePrinter
  ) throws {
    try reader.seek(to: isWhole ? 0 : oldest)
    if let last {
      try reader.stepBack(
        last, from: newest, notBefore: isWhole ? 0 : oldest, printedBy: &printer)
    }
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
      let isCounted = !printer.selects || printer.isSelected(record)
      try printer.print(record, lost: 0)
      before = record.sequence
      if isCounted { remaining -= 1 }
    }
    if remaining > 0, before > oldest {
      try printer.note(missing: before - oldest, before: before)
    }
  }
}
