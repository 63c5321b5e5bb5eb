// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore

struct LogTail: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tail",
    abstract: "Print the newest messages of logs, and follow them.",
    discussion: """
      Following needs nothing from the program that writes: it may start, stop, be killed and come \
      back, or give the log another size. When the log gets another file, a note on the standard \
      error says so: a log that was resized goes on behind its last message, and another log that \
      has taken the name is printed from its beginning. Messages that were overwritten before they \
      could be printed are counted in a note on the standard error; if messages are missing \
      because of damage, the exit code is 1, as it is if --grep matches nothing without -f. Ctrl-C \
      ends it. Messages that are CBOR come out as \
      JSON, and structured records as text, as larder log cat prints them.

      Several logs are printed as one, in the order of their times, each message behind the name \
      of its log. Messages whose time is unknown come when they are seen. -n is of each log. Times \
      are written as larder log cat takes them.

      EXAMPLES
        larder log tail app.larder                    the 10 newest messages
        larder log tail -f app.larder                 and what comes after
        larder log tail -n 0 -f app.larder            only that
        larder log tail -f events.larder | jq .text   CBOR as JSON
        larder log tail -f --json app.larder | jq     for a program
        larder log tail -f --level error app.larder   errors alone
        larder log tail --since today -f app.larder   today's, and what comes after
        larder log tail -f app.larder db.larder       two logs, merged
      """)

  @Argument(help: "The log, or several.", completion: .file())
  var files: [String]

  @Option(
    name: [.customShort("n", allowingJoined: true), .long],
    help: ArgumentHelp(
      "How many of the newest messages to print first. (default: 10; with --since, all)",
      valueName: "count"))
  var last: UInt64?

  @Option(
    name: .long,
    help: ArgumentHelp("Only messages of this time or a later one.", valueName: "time"),
    transform: Moment.init)
  var since: Moment?

  @Flag(name: .shortAndLong, help: "Go on with what is appended, until Ctrl-C.")
  var follow = false

  @OptionGroup(title: "Selection") var selection: MessageSelection

  @OptionGroup(title: "Format") var format: MessageFormat

  private var file: String { files.first ?? "" }

  /// How long one wait for messages lasts before the tool looks whether it was interrupted or the
  /// file replaced. Messages end a wait at once.
  private static let slice = Duration.milliseconds(200)

  func run() throws {
    if follow { Interruption.enable() }
    let last = last ?? (since == nil ? 10 : .max)
    let span = TimeSpan(since: since?.date)
    if files.count > 1 {
      let logs = try MergedLogs(
        files, last: last, span, selection, format, follows: follow)
      return try logs.run()
    }
    var printer = MessagePrinter(format, selection, span, path: file)
    var place = Place()
    let log = try FollowedLog(file, follows: follow)
    repeat {
      let statistics = try log.ring.statistics()
      let newest = statistics.newestSequence ?? 0
      try printer.begin(statistics)
      let reader = try log.ring.makeReader()
      if let printed = place.last {
        try reader.seek(to: printed.adding(clamping: 1))
      } else {
        try reader.seek(to: .max)
        let first = try span.numbers(log.ring, statistics, path: file).first
        try reader.stepBack(last, from: newest, notBefore: first, printedBy: &printer)
        // From the oldest on: what is missing before the first message is a gap, too.
        if !printer.selects, span.isOpen, let oldest = statistics.oldestSequence,
          last > newest.subtracting(clamping: oldest)
        {
          place.last = oldest.subtracting(clamping: 1)
        }
      }
      try printNext(reader, &place, &printer)
      if let printed = place.last, printed < newest, !Interruption.isRequested {
        try printer.note(missing: newest - printed, before: newest.adding(clamping: 1))
      }
      place.last = max(place.last ?? 0, newest)
      guard follow else {
        try LogFinding.endPrinting(
          log.ring, file, missed: printer.hasMissed, damage: log.damage)
        return try printer.end()
      }
      try follow(log, reader, &place, &printer)
    } while !Interruption.isRequested
  }

  /// Prints what comes until the log has another file, which is open then.
  private func follow(
    _ log: FollowedLog, _ reader: borrowing RingReader, _ place: inout Place,
    _ printer: inout MessagePrinter
  ) throws {
    while !Interruption.isRequested {
      try StandardOutput.checkReader()
      let isAwake = try log.wait(after: max(place.last ?? 0, place.skipped), timeout: Self.slice)
      let found = try printNext(reader, &place, &printer)
      if isAwake == nil, !found {
        if let isSame = try log.openSuccessor() {
          if !isSame { place = Place(last: 0) }
          return
        }
        // Its writer may go on, until there is another one.
        Thread.sleep(forTimeInterval: Self.slice.inSeconds)
      }
      // Something is there that cannot be read, a damaged message: wait for what comes after it.
      if isAwake == true && !found {
        place.skipped = try log.ring.statistics().newestSequence ?? 0
      }
    }
    try LogFinding.endPrinting(log.ring, file, missed: printer.hasMissed)
  }

  /// How far the log was printed.
  private struct Place {
    /// The number of the last message printed; the newest one at the start if none was yet.
    var last: UInt64?
    /// Numbers up to here are known to be unreadable.
    var skipped: UInt64 = 0
  }

  /// Prints what the reader finds by now.
  /// - Returns: Whether that was anything.
  @discardableResult
  private func printNext(
    _ reader: borrowing RingReader, _ place: inout Place, _ printer: inout MessagePrinter
  ) throws -> Bool {
    var found = false
    while !Interruption.isRequested, let record = try reader.next() {
      // A reader counts from the first message it returns; the gap before that is ours to count.
      let gap = place.last.map { record.sequence > $0 ? record.sequence - $0 - 1 : 0 } ?? 0
      try printer.print(record, lost: max(gap, record.lost))
      place.last = record.sequence
      found = true
    }
    try printer.flush()
    return found
  }
}
