// SPDX-License-Identifier: MIT
import ArgumentParser
import LarderCore

/// The options of `cat` and `tail` that say what a message looks like.
struct MessageFormat: ParsableArguments {
  @Flag(name: .long, help: "Put each message's number and a tab before it.")
  var sequence = false

  @Flag(
    name: .long,
    help: """
      Print one JSON object a line: "sequence", "message" (or "base64" if it is not UTF-8), \
      "partial" if its line was not ended, "lost" if messages before it are missing.
      """)
  var json = false

  @Flag(name: [.customShort("0"), .long], help: "End messages with a NUL byte, not a newline.")
  var null = false

  func validate() throws {
    if json && (sequence || null) {
      throw ValidationError("--json goes with neither --sequence nor --null.")
    }
  }
}

/// Prints messages to the standard output, so that what went in as lines comes out byte for byte.
///
/// A terminator goes behind every message but a partial one, the last line of an input that did not
/// end with one; behind that it is written only when another message follows.
struct MessagePrinter: ~Copyable {
  private let format: MessageFormat
  private let path: String
  private let endsEveryMessage: Bool
  private var output = StandardOutput()
  private var object = JSONObject()
  private var owesTerminator = false

  /// - Parameters:
  ///   - endsEveryMessage: End partial messages too, for orders in which they are not the last.
  init(_ format: MessageFormat, path: String, endsEveryMessage: Bool = false) {
    self.format = format
    self.path = path
    self.endsEveryMessage = endsEveryMessage || format.sequence
  }

  private var terminator: UInt8 { format.null ? 0 : UInt8(ascii: "\n") }

  /// - Parameter lost: How many messages are missing before this one.
  mutating func print(_ record: RingRecord, lost: UInt64) throws {
    if format.json { return try printObject(record, lost: lost) }
    if lost > 0 {
      try flush()
      StandardError.note(
        "\(path): \(Quantity.count(lost, "message")) lost before message "
          + "\(record.sequence): overwritten before they were read, or damaged")
    }
    if owesTerminator { try output.write(byte: terminator) }
    if format.sequence { try output.write("\(record.sequence)\t") }
    try output.write(record.bytes)
    owesTerminator = record.isPartial && !endsEveryMessage
    if !owesTerminator { try output.write(byte: terminator) }
  }

  mutating func flush() throws { try output.flush() }

  private mutating func printObject(_ record: RingRecord, lost: UInt64) throws {
    object.removeAll()
    object.add("sequence", record.sequence)
    object.add(message: record.bytes)
    if record.isPartial { object.add("partial", true) }
    if lost > 0 { object.add("lost", lost) }
    try object.write(to: &output)
  }
}
