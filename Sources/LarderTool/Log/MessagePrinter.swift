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
    help: """
      Print one JSON object a line: "sequence", "message" (text, or the value that it is in a log \
      of CBOR; "base64" if it is neither), "partial" if its line was not ended, "lost" if messages \
      before it are missing.
      """)
  var json = false

  @Flag(
    name: .long,
    help: """
      Print the bytes of messages as they are stored: CBOR not as JSON, and control characters \
      as they are on a terminal, too.
      """)
  var raw = false

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
///
/// Messages of a log whose format is `cbor` are printed as the JSON that they amount to.
struct MessagePrinter: ~Copyable {
  private let format: MessageFormat
  private let path: String
  private let endsEveryMessage: Bool
  private var output: StandardOutput
  private var object = JSONObject()
  private var cbor = CBORText()
  private var owesTerminator = false
  /// Whether messages were missing before one that was printed.
  private(set) var hasMissed = false

  /// The log's coder, as its file names it. To be set before the first message.
  var contentFormat = ""

  /// - Parameters:
  ///   - endsEveryMessage: End partial messages too, for orders in which they are not the last.
  init(_ format: MessageFormat, path: String, endsEveryMessage: Bool = false) {
    self.format = format
    output = StandardOutput(raw: format.raw)
    self.path = path
    self.endsEveryMessage = endsEveryMessage || format.sequence
  }

  private var isCBOR: Bool { contentFormat == "cbor" && !format.raw }
  private var terminator: UInt8 { format.null ? 0 : UInt8(ascii: "\n") }

  /// - Parameter lost: How many messages are missing before this one.
  mutating func print(_ record: RingRecord, lost: UInt64) throws {
    if lost > 0 { hasMissed = true }
    if format.json { return try printObject(record, lost: lost) }
    if lost > 0 { try note(missing: lost, before: record.sequence) }
    if isCBOR {
      do {
        try cbor.convert(record.bytes)
      } catch {
        try flush()
        return StandardError.note(
          "\(path): message \(record.sequence) is left out, it is not valid CBOR: "
            + "\(reason(error)); --raw prints its bytes")
      }
    }
    if owesTerminator { try output.write(byte: terminator) }
    if format.sequence { try output.write("\(record.sequence)\t") }
    if isCBOR {
      try cbor.json.withUnsafeBytes { try output.write($0) }
    } else {
      try output.write(record.bytes)
    }
    owesTerminator = record.isPartial && !endsEveryMessage
    if !owesTerminator { try output.write(byte: terminator) }
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

  private mutating func printObject(_ record: RingRecord, lost: UInt64) throws {
    object.removeAll()
    object.add("sequence", record.sequence)
    add(message: record.bytes)
    if record.isPartial { object.add("partial", true) }
    if lost > 0 { object.add("lost", lost) }
    try object.write(to: &output)
  }

  private mutating func add(message bytes: UnsafeRawBufferPointer) {
    guard isCBOR else { return object.add(message: bytes) }
    do {
      try cbor.convert(bytes)
      object.add("message", json: cbor.json)
    } catch {
      // That it is there, and is not what the file says, shows in the key.
      object.add("base64", Data(bytes).base64EncodedString())
    }
  }

  private func reason(_ error: any Error) -> String {
    if case DecodingError.dataCorrupted(let context) = error { return context.debugDescription }
    return "\(error)"
  }
}
