// SPDX-License-Identifier: MIT
import Foundation
import LarderCore

/// Several logs, printed as one in the order of their times.
///
/// Belongs to one thread.
final class MergedLogs {
  /// A message that is not printed yet.
  private struct Pending {
    let source: Int
    let sequence: UInt64
    let lost: UInt64
    let isPartial: Bool
    let time: Int64
    /// By what it is ordered: the time, or when it was seen.
    let order: Int64
    let bytes: Data
  }

  private let sources: [MergedLog]
  private let selection: MessageSelection
  private let follows: Bool
  private var pending: [Pending] = []

  init(
    _ files: [String], last: UInt64, _ span: TimeSpan, _ selection: MessageSelection,
    _ format: MessageFormat, follows: Bool
  ) throws {
    self.selection = selection
    self.follows = follows
    // Their paths, as they were given, where files of several folders have one name.
    let short = files.map { URL(fileURLWithPath: $0).lastPathComponent }
    let names = Set(short).count == short.count ? short : files
    sources = try zip(files, names).map { file, name in
      try MergedLog(file, named: name, last: last, span, selection, format, follows: follows)
    }
  }

  func run() throws {
    try gather()
    try show(before: .max)
    while follows && !Interruption.isRequested {
      try StandardOutput.checkReader()
      // What was appended before this moment is there to be seen; of what came later one log may
      // show an older message after the other has shown a newer one. So that waits for its turn.
      let moment = Self.now - Self.precision
      if try !gather() && pending.isEmpty { try wait() }
      try show(before: moment)
    }
    try show(before: .max)
    for source in sources { try source.end() }
    if !follows { try selection.end(hasPrinted: sources.contains(where: \.hasPrinted)) }
  }

  /// In nanoseconds: a date has fewer digits than a time.
  private static let precision: Int64 = 1000

  private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1e9) }

  /// Takes what the logs have by now.
  /// - Returns: Whether that was anything.
  @discardableResult
  private func gather() throws -> Bool {
    let before = pending.count
    for (index, source) in sources.enumerated() {
      try source.read { record, lost in
        pending.append(
          Pending(
            source: index, sequence: record.sequence, lost: lost, isPartial: record.isPartial,
            time: record.time, order: record.time > 0 ? record.time : Self.now,
            bytes: Data(record.bytes)))
      }
    }
    // Sorting is not stable, and messages of one log may have one time.
    pending.sort { ($0.order, $0.source, $0.sequence) < ($1.order, $1.source, $1.sequence) }
    return pending.count > before
  }

  private func show(before moment: Int64) throws {
    let count = pending.firstIndex { $0.order >= moment } ?? pending.count
    for message in pending.prefix(count) {
      try message.bytes.withUnsafeBytes { bytes in
        try sources[message.source].print(
          RingRecord(
            sequence: message.sequence, lost: message.lost, isPartial: message.isPartial,
            time: message.time, bytes: bytes))
      }
    }
    pending.removeFirst(count)
  }

  /// Waits for messages in one log after the other, a little while each.
  private func wait() throws {
    for source in sources where !Interruption.isRequested {
      if try source.wait(.milliseconds(20)) { return }
    }
  }
}

/// One of them.
private final class MergedLog {
  private let file: String
  private let name: String
  private let log: FollowedLog
  private var reader: RingReader
  private var printer: MessagePrinter
  /// The number of the last message read; nil before the first.
  private var last: UInt64?

  init(
    _ file: String, named name: String, last count: UInt64, _ span: TimeSpan,
    _ selection: MessageSelection, _ format: MessageFormat, follows: Bool
  ) throws {
    self.file = file
    self.name = TerminalText.escaped(name, isLine: true)
    log = try FollowedLog(file, follows: follows)
    reader = try log.ring.makeReader()
    printer = MessagePrinter(format, selection, span, path: file, endsEveryMessage: true)
    printer.name = self.name
    let statistics = try log.ring.statistics()
    try printer.begin(statistics)
    let newest = statistics.newestSequence ?? 0
    let first = try span.numbers(log.ring, statistics, path: file).first
    try reader.seek(to: newest.adding(clamping: 1))
    try reader.stepBack(count, from: newest, notBefore: first, printedBy: &printer)
  }

  /// Reads to the end, also of another file that has taken the log's name.
  func read(_ body: (RingRecord, UInt64) -> Void) throws {
    let isReplaced = try log.isReplaced
    // What was appended before it was replaced is there by now.
    try readRest(body)
    guard isReplaced, let isSame = try log.openSuccessor() else { return }
    reader = try log.ring.makeReader()
    try printer.begin(try log.ring.statistics())
    if !isSame { last = 0 }
    try reader.seek(to: last?.adding(clamping: 1) ?? 0)
    try readRest(body)
  }

  private func readRest(_ body: (RingRecord, UInt64) -> Void) throws {
    while !Interruption.isRequested, let record = try reader.next() {
      let gap = last.map { record.sequence.subtracting(clamping: $0).subtracting(clamping: 1) } ?? 0
      body(record, max(gap, record.lost))
      last = record.sequence
    }
  }

  func print(_ record: RingRecord) throws {
    try printer.print(record, lost: record.lost)
    try printer.flush()
  }

  func wait(_ time: Duration) throws -> Bool {
    let newest = try log.ring.statistics().newestSequence ?? 0
    // Something damaged at the end is nothing to wake up for again and again.
    if let isAwake = try log.wait(after: max(newest, last ?? 0), timeout: time) { return isAwake }
    Thread.sleep(forTimeInterval: time.inSeconds)
    return false
  }

  var hasPrinted: Bool { printer.hasPrinted }

  func end() throws {
    try LogFinding.endPrinting(log.ring, file, missed: printer.hasMissed, damage: log.damage)
  }
}
