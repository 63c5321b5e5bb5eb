// SPDX-License-Identifier: MIT

import CLarder
import Foundation

/// Words for what `larder_ring_detail` knows.
enum RingFailure {
  /// Why opening failed, with numbers and advice; nil where the status says it all.
  static func reason(
    _ status: Int32, path: String, detail: larder_ring_detail, asked: larder_ring_options
  ) -> String? {
    switch Int(status) {
    case Int(ENOENT):
      access(path, F_OK) == 0 ? "the file is empty, as a log is that is just being made" : nil
    case LARDER_EBUSY: busy(detail)
    case LARDER_ELOCKED: locked(detail)
    case LARDER_EVERSION:
      """
      the file has format version \(detail.version), and this version of Larder does not know it; \
      use a newer one
      """
    case LARDER_EMISMATCH: mismatch(detail, asked: asked)
    case LARDER_EDAMAGED: damage(detail)
    case LARDER_EINVALID: invalid(detail, asked: asked)
    default: nil
    }
  }

  /// Throws what is not LARDER_OK, of a call that needs times.
  static func checkTimes(_ status: Int32, _ doing: String) throws(LarderError) {
    guard status == LARDER_EINVALID else { return try check(status, doing) }
    throw LarderError(
      status: status, doing: doing,
      reason: """
        the log keeps no times; a new one does with MessageLogConfiguration.keepsTimes, and \
        resizing an existing one gives it times
        """)
  }

  private static func busy(_ detail: larder_ring_detail) -> String {
    let holder =
      detail.holder_pid > 0 ? "process \(detail.holder_pid)" : "another process or handle"
    return """
      \(holder) has it open for writing; close it there, or open it here for reading, which any \
      number of readers can do meanwhile
      """
  }

  private static func locked(_ detail: larder_ring_detail) -> String {
    let holder = detail.holder_pid > 0 ? "process \(detail.holder_pid)" : "a process"
    return """
      no writer has it open, but \(holder) that only reads it holds a lock on it; end that \
      process, or take from it the permission to read the file
      """
  }

  private static func mismatch(
    _ detail: larder_ring_detail, asked: larder_ring_options
  ) -> String {
    if differsInFormat(detail, asked: asked) {
      let there = RingOptions.description(ofFormat: detail.content_format)
      let here = RingOptions.description(ofFormat: asked.content_format)
      return "its messages are in the format \(there), and the coder's is \(here)"
    }
    let times = UInt32(LARDER_RING_KEEP_TIMES)
    let wantsTimes = asked.flags & times != 0 || asked.maximum_age_ns > 0
    if wantsTimes && detail.flags & times == 0 {
      return """
        the file keeps no times of its messages, and asked for was one that does; use it without, \
        or resize it, which gives it times
        """
    }
    return """
      the file has \(detail.capacity_bytes) bytes and \(policy(detail.flags)), and asked for were \
      \(asked.capacity_bytes) bytes and \(policy(asked.flags)); use those of the file, or resize it
      """
  }

  /// Whether it is the coder that does not match; capacity and policy can be
  /// adapted, messages cannot.
  static func differsInFormat(
    _ detail: larder_ring_detail, asked: larder_ring_options
  ) -> Bool {
    detail.content_format != 0 && asked.content_format != 0
      && detail.content_format != asked.content_format
  }

  private static func policy(_ flags: UInt32) -> String {
    flags & UInt32(LARDER_RING_OVERWRITE) != 0 ? "overwrites its oldest" : "refuses when full"
  }

  private static func damage(_ detail: larder_ring_detail) -> String? {
    if detail.capacity_bytes > detail.file_bytes, detail.file_bytes > 0 {
      return """
        the file has \(detail.file_bytes) bytes where its header says \(detail.capacity_bytes); \
        it was left as it is, and salvage copies what is intact
        """
    }
    return """
      the data is damaged at offset \(detail.offset); the file was left as it is, and salvage \
      copies what is intact
      """
  }

  private static func invalid(_ detail: larder_ring_detail, asked: larder_ring_options) -> String {
    let most = LARDER_RING_CURSOR_SLOTS_MAX
    if asked.cursor_slots > most {
      return "\(asked.cursor_slots) consumer slots are too many; the most is \(most)"
    }
    let least =
      detail.capacity_bytes > 0
      ? detail.capacity_bytes : larder_ring_minimum_capacity(asked.cursor_slots)
    return """
      a capacity of \(asked.capacity_bytes) bytes is out of range; it has to be from \(least) to \
      \(UInt64(1) << 40) bytes
      """
  }
}
