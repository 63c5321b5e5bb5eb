// SPDX-License-Identifier: MIT

import CLarder
import Foundation

/// What opening and maintaining a log's file have in common, whatever its messages are.
enum LogFile {
  /// What the time of a message takes: `LARDER_RING_TIME_BYTES`, whose type Swift cannot read.
  static var timeBytes: Int { 8 }

  static func path(of location: StoreLocation) throws(LarderError) -> String {
    let path = try location.path(in: .applicationSupportDirectory)
    try RingHandle.validate(path: path)
    return path
  }

  static func options(
    capacity: DataSize, whenFull: OverflowPolicy, format: String,
    configuration: MessageLogConfiguration
  ) throws(LarderError) -> RingOptions {
    let slots = try cursorSlots(configuration.consumerSlots)
    let keepsTimes = configuration.keepsTimes || configuration.maximumAge != nil
    var options = RingOptions(
      capacity: try bytes(of: capacity, cursorSlots: slots, keepsTimes: keepsTimes),
      overwrite: whenFull == .overwriteOldest, cursorSlots: slots,
      contentFormat: format, syncInterval: configuration.syncInterval)
    options.syncsAtEnd = configuration.durability == .power
    options.files = configuration.files
    options.trustsOtherUsers = configuration.trustsOtherUsers
    options.keepsTimes = keepsTimes
    options.maximumAge = configuration.maximumAge
    return options
  }

  /// Refuses capacities that no log can have. To the core one of 0 means "the file's own", which is
  /// not what a caller means who computed one.
  static func bytes(
    of capacity: DataSize, cursorSlots: UInt32, keepsTimes: Bool
  ) throws(LarderError) -> UInt64 {
    let least =
      larder_ring_minimum_capacity(cursorSlots) + (keepsTimes ? UInt64(timeBytes) : 0)
    let most = UInt64(1) << 40
    guard let bytes = UInt64(exactly: capacity.bytes), (least...most).contains(bytes) else {
      throw LarderError(
        .invalidArgument,
        "A log has from \(least) to \(most) bytes, and not \(capacity.bytes).")
    }
    return bytes
  }

  static func cursorSlots(_ count: Int) throws(LarderError) -> UInt32 {
    let most = LARDER_RING_CURSOR_SLOTS_MAX
    guard let slots = UInt32(exactly: count), slots <= most else {
      throw LarderError(
        .invalidArgument, "A log has from 0 to \(most) consumer slots, and not \(count).")
    }
    return slots
  }

  /// Opens for writing, or does what is to be done about other limits.
  ///
  /// - Parameter mismatch: receives why the handle can only read, if it can only read.
  static func open(
    _ path: String, _ options: RingOptions, onMismatch: MessageLogConfiguration.MismatchHandling,
    mismatch: inout LarderError?
  ) throws(LarderError) -> RingHandle {
    let failure: LarderError
    do {
      return try RingHandle(path: path, options: options)
    } catch {
      if error.errno == ENOENT, try DiskFolder.makeParents(of: path) {
        return try RingHandle(path: path, options: options)
      }
      guard error.code == .configurationMismatch else { throw error }
      failure = error
    }
    // Limits can be adapted, another coder's messages cannot: this throws for them.
    let reader = try RingHandle(
      path: path,
      options: RingOptions(readOnly: true, existing: true, contentFormat: options.contentFormat))
    if onMismatch == .readOnly {
      mismatch = failure
      return reader
    }
    var adapted = options
    let statistics = try reader.statistics()
    adapted.cursorSlots = UInt32(clamping: statistics.consumerSlots)
    adapted.created = try reader.created()
    if adapted.contentFormat.isEmpty { adapted.contentFormat = statistics.format }
    if onMismatch == .adaptIfLossless { try resizeWithoutLoss(reader, adapted, failure) }
    if onMismatch == .adapt || options.overwrite { try resize(path, adapted) }
    var options = options
    options.created = adapted.created
    return try RingHandle(path: path, options: options)
  }

  /// Gives a closed file the capacity of `options`, and the policy to refuse, by which no message
  /// is dropped.
  private static func resizeWithoutLoss(
    _ reader: borrowing RingHandle, _ options: RingOptions, _ mismatch: LarderError
  ) throws(LarderError) {
    let report = try reader.verify()
    // What a power cut took is no damage. Beside a writer nobody can tell, and resizing is refused.
    if report.lost > 0, report.cut == 0, try reader.statistics().writerProcess == nil {
      throw LarderError(
        .damaged,
        "\(mismatch.message) It is damaged, and was left as it is: salvage copies what is intact.")
    }
    var options = options
    options.overwrite = false
    do {
      try resize(reader.path, options)
    } catch  where error.code == .full {
      throw LarderError(
        .configurationMismatch,
        "\(mismatch.message) Its messages do not fit: set onMismatch to .adapt to drop the oldest, "
          + "or to .readOnly.",
        cause: error)
    }
  }

  /// Gives a closed file the capacity, policy and slots of `options`.
  static func resize(_ path: String, _ options: RingOptions) throws(LarderError) {
    var raw = try options.raw()
    var detail = larder_ring_detail()
    let status = larder_ring_resize(path, &raw, &detail)
    if status == LARDER_OK { return }
    throw LarderError(
      status: status, doing: "resize \(path) to \(options.capacity) bytes",
      reason: RingFailure.reason(status, path: path, detail: detail, asked: raw))
  }
}

extension LogFile {
  static func validate(consumer name: String) throws(LarderError) {
    let most = Int(LARDER_RING_CURSOR_NAME_MAX_BYTES)
    guard (1...most).contains(name.utf8.count) else {
      throw LarderError(
        .invalidArgument,
        "A consumer's name has from 1 to \(most) bytes of UTF-8, and not \(name.utf8.count).")
    }
  }
}
