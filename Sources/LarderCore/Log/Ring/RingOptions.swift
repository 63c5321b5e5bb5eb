// SPDX-License-Identifier: MIT

import CLarder

/// How to open a ring file: `larder_ring_options` in Swift's types.
package struct RingOptions: Sendable {
  /// Size of the whole file in bytes; 0 takes an existing file as it is.
  package var capacity: UInt64
  package var overwrite: Bool
  package var readOnly: Bool
  /// Fail if the file is missing, rather than create it.
  package var existing: Bool
  package var cursorSlots: UInt32
  /// Up to 8 ASCII characters; empty matches every file.
  package var contentFormat: String
  /// Sync in the background this often; nil never.
  package var syncInterval: Duration?
  /// Whether a handle that nobody closed waits for the device when it goes.
  package var syncsAtEnd = true
  /// Whether a file may be another user's, or for everybody to write to.
  package var trustsOtherUsers = false
  /// Whether a new file keeps the times of messages, and another one has to.
  package var keepsTimes = false
  /// An append removes what is older; nil nothing.
  package var maximumAge: Duration?
  /// When the log was created that an existing file has to be of, as in its statistics; 0 for any.
  package var created: Int64 = 0
  /// What the file gets when it is opened for writing.
  package var files = FileAttributes()

  package init(
    capacity: UInt64 = 0, overwrite: Bool = false, readOnly: Bool = false, existing: Bool = false,
    cursorSlots: UInt32 = LARDER_RING_DEFAULT_CURSOR_SLOTS, contentFormat: String = "",
    syncInterval: Duration? = nil
  ) {
    self.capacity = capacity
    self.overwrite = overwrite
    self.readOnly = readOnly
    self.existing = existing
    self.cursorSlots = cursorSlots
    self.contentFormat = contentFormat
    self.syncInterval = syncInterval
  }

  /// The same for the C core.
  func raw() throws(LarderError) -> larder_ring_options {
    var options = larder_ring_options()
    larder_ring_options_init(&options)
    options.capacity_bytes = capacity
    options.cursor_slots = cursorSlots
    options.content_format = try Self.number(ofFormat: contentFormat)
    options.sync_interval_ns = try Self.nanoseconds(syncInterval, "A sync interval")
    options.maximum_age_ns = try Self.nanoseconds(maximumAge, "A maximum age")
    options.created_ns = created
    if keepsTimes { options.flags |= UInt32(LARDER_RING_KEEP_TIMES) }
    if overwrite { options.flags |= UInt32(LARDER_RING_OVERWRITE) }
    if readOnly { options.flags |= UInt32(LARDER_RING_READ_ONLY) }
    if existing { options.flags |= UInt32(LARDER_RING_EXISTING) }
    if trustsOtherUsers { options.flags |= UInt32(LARDER_RING_TRUST_OTHERS) }
    return options
  }

  /// A format's name as the number in the file: its bytes, the first one lowest,
  /// so that they can be read in a dump.
  package static func number(ofFormat format: String) throws(LarderError) -> UInt64 {
    guard format.utf8.count <= 8, format.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw LarderError(
        .invalidArgument,
        "A coder's format is up to 8 visible ASCII characters, not \"\(format)\".")
    }
    return format.utf8.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// The name that belongs to a number in a file; what is not ASCII is shown as "?".
  package static func format(ofNumber number: UInt64) -> String {
    var bytes: [UInt8] = []
    var rest = number
    while rest != 0 {
      let byte = UInt8(truncatingIfNeeded: rest)
      bytes.append((0x21...0x7E).contains(byte) ? byte : UInt8(ascii: "?"))
      rest >>= 8
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// What an error says of a format: its name, or the number where that is none.
  package static func description(ofFormat number: UInt64) -> String {
    let name = format(ofNumber: number)
    return name.contains("?") ? "0x" + String(number, radix: 16) : "\"\(name)\""
  }

  private static func nanoseconds(
    _ interval: Duration?, _ what: String
  ) throws(LarderError) -> Int64 {
    guard let interval else { return 0 }
    guard interval > .zero else {
      throw LarderError(
        .invalidArgument, "\(what) is longer than 0, not \(interval); nil means never.")
    }
    // 292 years and more are as good as for ever.
    if interval >= .nanoseconds(Int64.max) { return .max }
    let (seconds, attoseconds) = interval.components
    return max(1, seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
  }
}
