// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderCore

/// The options of `cat` and `tail` that say what a message looks like.
struct MessageFormat: ParsableArguments {
  @Flag(name: .long, help: "Put each message's number and a tab before it.")
  var sequence = false

  @Flag(
    name: .long,
    help: "Put the time of each message, in UTC, and a tab before it; - where it is unknown.")
  var time = false

  @Flag(
    name: .long,
    help: """
      Print one JSON object a line: "sequence", "time" if it is known, "message" (text, or the \
      value that it is in a log of CBOR; "base64" if it is neither), "partial" if its line was not \
      ended, "lost" if messages before it are missing.
      """)
  var json = false

  @Flag(
    name: .long,
    help: """
      Print the bytes of messages as they are stored: CBOR not as text, and control characters as \
      they are on a terminal, too.
      """)
  var raw = false

  @Flag(name: [.customShort("0"), .long], help: "End messages with a NUL byte, not a newline.")
  var null = false

  func validate() throws {
    if json && (sequence || time || null) {
      throw ValidationError("--json goes with none of --sequence, --time and --null.")
    }
  }
}

/// Prints messages to the standard output, so that what went in as lines comes out byte for byte.
///
/// A terminator goes behind every message but a partial one, the last line of an input that did not
/// end with one; behind that it is written only when another message follows. None goes between the
/// pieces of a line that was too long for the log.
///
/// Messages of a log whose format is `cbor` are printed as text if they are structured records,
/// else as the JSON that they amount to.
struct MessagePrinter: ~Copyable {
  private let format: MessageFormat
  private let selection: MessageSelection
  private let span: TimeSpan
  private let path: String
  private let endsEveryMessage: Bool
  private var output: StandardOutput
  private var object = JSONObject()
  private var cbor = CBORText()
  private var owesTerminator = false
  private var limits: LineLimits?
  /// The number of the message that goes on with the line of the last one.
  private var continuation: UInt64?
  /// Messages missing before the next one that is printed as JSON.
  private var owesLost: UInt64 = 0
  /// Whether messages were missing before one that was printed.
  private(set) var hasMissed = false
  /// Whether a message was printed.
  private(set) var hasPrinted = false
  /// Messages that are no structured records, where these were asked for, and whether one is.
  private var (unstructuredCount, hasStructured) = (0, false)

  /// The log's coder, as its file names it.
  private var contentFormat = ""
  /// Whether the span was applied to the numbers of messages already.
  private var knowsTimes = true
  /// The log's name, where several are printed.
  var name: String?

  /// - Parameters:
  ///   - endsEveryMessage: End partial messages too, for orders in which they are not the last.
  init(
    _ format: MessageFormat, _ selection: MessageSelection, _ span: TimeSpan = TimeSpan(),
    path: String, endsEveryMessage: Bool = false
  ) {
    self.format = format
    self.selection = selection
    self.span = span
    output = StandardOutput(raw: format.raw)
    self.path = path
    self.endsEveryMessage = endsEveryMessage || format.sequence || format.time
  }

  /// To be called before the first message of a log.
  ///
  /// - Throws: `ToolFailure` for a log that has nothing of what is to be selected.
  mutating func begin(_ statistics: LogStatistics) throws {
    contentFormat = statistics.format
    limits = LineLimits(statistics)
    knowsTimes = statistics.keepsTimes || span.isOpen
    try selection.require(statistics.format, of: path)
  }

  private var isCBOR: Bool { contentFormat == "cbor" && !format.raw }
  private var terminator: UInt8 { format.null ? 0 : UInt8(ascii: "\n") }
  /// Whether a message may be left out for what it holds.
  var selects: Bool { selection.isActive || !knowsTimes }

  /// What there is to print of a message.
  private enum Content {
    case bytes, json
    case record(StructuredRecord)
    case invalid(any Error)
  }

  /// Whether a message is printed.
  mutating func isSelected(_ record: RingRecord) -> Bool { content(of: record) != nil }

  /// - Returns: nil for a message that is left out. `cbor` holds the text of what is JSON.
  private mutating func content(of record: RingRecord) -> Content? {
    var content = Content.bytes
    var structured: StructuredRecord?
    if contentFormat == "cbor", !format.raw || selection.wantsRecords || !knowsTimes {
      do {
        let value = try CBORValue(record.bytes)
        structured = StructuredRecord(value)
        if structured == nil { unstructuredCount += 1 } else { hasStructured = true }
        if let structured, !format.json, !format.raw {
          content = .record(structured)
        } else if !format.raw {
          cbor.convert(value)
          content = .json
        }
      } catch {
        content = .invalid(error)
      }
    }
    guard selection.admits(structured), knowsTimes || span.admits(structured) else { return nil }
    guard let pattern = selection.grep else { return content }
    let isMatch =
      switch content {
      case .json: cbor.json.withUnsafeBytes { pattern.matches($0) }
      case .record(let structured):
        Array(line(structured).utf8).withUnsafeBytes { pattern.matches($0) }
      case .bytes, .invalid: pattern.matches(record.bytes)
      }
    return isMatch ? content : nil
  }

  private func line(_ record: StructuredRecord) -> String {
    "\(record.timeText) \(record.level.rawValue) \(record.text)"
  }

  /// - Parameter lost: How many messages are missing before this one.
  mutating func print(_ record: RingRecord, lost: UInt64) throws {
    if lost > 0 { hasMissed = true }
    owesLost = owesLost.adding(clamping: lost)
    if lost > 0 && !format.json { try note(missing: lost, before: record.sequence) }
    guard let content = content(of: record) else { return }
    hasPrinted = true
    if format.json { return try printObject(record, content) }
    if case .invalid(let error) = content, !format.raw {
      try flush()
      return StandardError.note(
        "\(path): message \(record.sequence) is left out, it is not valid CBOR: "
          + "\(reason(error)); --raw prints its bytes")
    }
    if owesTerminator && continuation != record.sequence { try output.write(byte: terminator) }
    if let name { try output.write("\(name): ", style: .dim) }
    if format.sequence { try output.write("\(record.sequence)\t") }
    if format.time { try output.write((LogTime.date(record.time).map(TimeText.utc) ?? "-") + "\t") }
    switch content {
    case .json: try cbor.json.withUnsafeBytes { try output.write($0) }
    case .bytes, .invalid: try output.write(record.bytes)
    case .record(let structured):
      try output.write(structured.timeText, style: .dim)
      try output.write(" ")
      try output.write(structured.level.rawValue, style: structured.level.style)
      try output.write(" \(structured.text)")
    }
    owesTerminator = record.isPartial && !endsEveryMessage
    continuation = limits?.isPiece(record) == true ? record.sequence.adding(clamping: 1) : nil
    if !owesTerminator { try output.write(byte: terminator) }
  }

  /// Ends a command that printed what it was asked for.
  ///
  /// - Throws: `ToolFailure` if no message could have been selected; an exit code as grep(1).
  func end() throws {
    if unstructuredCount > 0, !hasStructured, selection.wantsRecords || !knowsTimes {
      throw ToolFailure(
        "\(path): none of its messages is a structured record; --level and --label tell of those "
          + "alone, as --since and --until do in a log that keeps no times")
    }
    try selection.end(hasPrinted: hasPrinted)
  }

  /// Says that messages are missing.
  mutating func note(missing: UInt64, before sequence: UInt64) throws {
    hasMissed = true
    try flush()
    StandardError.note(
      "\(path): \(Quantity.count(missing, "number")) missing before message "
        + "\(Quantity.count(sequence)): overwritten before they were read, damaged, or skipped "
        + "after a power cut")
  }

  mutating func flush() throws { try output.flush() }

  private mutating func printObject(_ record: RingRecord, _ content: Content) throws {
    object.removeAll()
    if let name { object.add("log", name) }
    object.add("sequence", record.sequence)
    if let date = LogTime.date(record.time) { object.add("time", TimeText.utc(date)) }
    switch content {
    case .json: object.add("message", json: cbor.json)
    // That it is there, and is not what the file says, shows in the key.
    case .invalid: object.add("base64", Data(record.bytes).base64EncodedString())
    case .bytes, .record: object.add(message: record.bytes)
    }
    if record.isPartial { object.add("partial", true) }
    if owesLost > 0 { object.add("lost", owesLost) }
    owesLost = 0
    try object.write(to: &output)
  }

  private func reason(_ error: any Error) -> String {
    if case DecodingError.dataCorrupted(let context) = error { return context.debugDescription }
    return "\(error)"
  }
}
