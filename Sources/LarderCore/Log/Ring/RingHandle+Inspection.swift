// SPDX-License-Identifier: MIT

import CLarder
import Foundation

extension RingHandle {
  /// The ring's figures at this moment.
  package func statistics() throws(LarderError) -> LogStatistics {
    try LogStatistics(rawStatistics())
  }

  func rawStatistics(waits: Bool = true) throws(LarderError) -> larder_ring_statistics {
    var statistics = larder_ring_statistics()
    try check(
      suspension.call(waits: waits) { larder_ring_statistics_get($0, &statistics) },
      "look into \(path)")
    return statistics
  }

  /// The number that the next message gets.
  func nextSequence(waits: Bool = true) throws(LarderError) -> UInt64 {
    var next: UInt64 = 0
    try check(
      suspension.call(waits: waits) { larder_ring_next_sequence($0, &next) }, "look into \(path)")
    return next
  }

  /// The number of the first message at or after a time, in nanoseconds since 1970; the largest
  /// there is if there is none.
  package func firstSequence(since time: Int64) throws(LarderError) -> UInt64 {
    try RingReader.firstSequence(in: suspension, path: path, since: time)
  }

  /// What opening found in the file.
  package func recovery() throws(LarderError) -> LogReport {
    var report = larder_ring_report()
    try check(suspension.call { larder_ring_recovery($0, &report) }, "look into \(path)")
    return LogReport(report)
  }

  /// Verifies everything in the ring. Damage is a result and not an error.
  package func verify() throws(LarderError) -> LogReport {
    var report = larder_ring_report()
    let status = try suspension.call { larder_ring_check($0, &report) }
    if status != LARDER_EDAMAGED { try check(status, "verify \(path)") }
    var result = LogReport(report)
    result.isIntact = status == LARDER_OK && result.isIntact
    return result
  }

  /// Remembers under `name` that messages up to `sequence` are done with; with 0 it only takes a
  /// slot.
  ///
  /// - Parameter created: The log that the number is of; nil for whichever is open.
  package func acknowledge(
    _ name: String, through sequence: UInt64, ofLog created: Int64? = nil
  ) throws(LarderError) {
    let doing =
      sequence == 0
      ? "open consumer \"\(name)\" of \(path)"
      : "acknowledge message \(sequence) for consumer \"\(name)\" in \(path)"
    var isAnother = false
    let status = try withName(name) { [opener] ring, name in
      isAnother = created.map { $0 != opener.created } ?? false
      return isAnother ? Int32(LARDER_EREPLACED) : larder_ring_acknowledge(ring, name, sequence)
    }
    if isAnother { throw opener.anotherLog(doing) }
    if status == LARDER_ENOSLOT {
      let slots = try rawStatistics().cursor_slots
      throw LarderError(
        status: status, doing: "keep a place for consumer \"\(name)\" in \(path)",
        reason: """
          all \(slots) of its consumer slots are taken; remove a consumer, or resize the log \
          with more of them: MessageLogConfiguration.consumerSlots says how many a new file has
          """)
    }
    if status == LARDER_EINVALID, (1...32).contains(name.utf8.count) {
      let newest = try nextSequence().subtracting(clamping: 1)
      throw LarderError(
        status: status, doing: doing,
        reason: "it was not appended yet; the newest message is \(newest)")
    }
    try check(status, doing)
  }

  /// What was acknowledged under `name`; nil if that name was never used.
  package func acknowledged(_ name: String) throws(LarderError) -> UInt64? {
    var sequence: UInt64 = 0
    let status = try withName(name) { larder_ring_acknowledged($0, $1, &sequence) }
    if status == LARDER_ENOTFOUND { return nil }
    try check(status, "find consumer \"\(name)\" in \(path)")
    return sequence
  }

  /// Forgets `name`.
  ///
  /// - Returns: false if there was nothing to forget.
  package func removeCursor(_ name: String) throws(LarderError) -> Bool {
    let status = try withName(name) { larder_ring_cursor_remove($0, $1) }
    if status == LARDER_ENOTFOUND { return false }
    try check(status, "remove consumer \"\(name)\" from \(path)")
    return true
  }

  /// All names with what was acknowledged under them.
  package func cursors() throws(LarderError) -> [String: UInt64] {
    let empty = larder_ring_cursor()
    let slots = try rawStatistics().cursor_slots
    var cursors = [larder_ring_cursor](repeating: empty, count: max(1, Int(slots)))
    var count = 0
    try check(
      suspension.call { larder_ring_cursors($0, &cursors, cursors.count, &count) },
      "list the consumers of \(path)")
    var result: [String: UInt64] = [:]
    for cursor in cursors.prefix(count) {
      let name = withUnsafeBytes(of: cursor.name) {
        String(decoding: $0.prefix(Int(cursor.name_length)), as: UTF8.self)
      }
      result[name] = cursor.acknowledged
    }
    return result
  }

  private func withName(
    _ name: String, _ body: (OpaquePointer, larder_bytes) -> Int32
  ) throws(LarderError) -> Int32 {
    var name = name
    return try suspension.call { ring in
      name.withUTF8 { body(ring, larder_bytes(data: $0.baseAddress, length: $0.count)) }
    }
  }
}

extension LogStatistics {
  init(_ raw: larder_ring_statistics) {
    self.capacity = raw.capacity_bytes
    self.dataCapacity = raw.data_bytes
    self.size = raw.used_bytes
    self.count = Int(clamping: raw.count)
    self.oldestSequence = raw.oldest_sequence == 0 ? nil : raw.oldest_sequence
    self.newestSequence = raw.newest_sequence == 0 ? nil : raw.newest_sequence
    self.nextSequence = raw.next_sequence
    self.syncedSequence = raw.synced_sequence
    self.overwritten = raw.overwritten
    self.removed = raw.removed
    self.lost = raw.lost
    self.skipped = raw.skipped
    self.wraps = raw.wraps
    self.format = RingOptions.format(ofNumber: raw.content_format)
    self.created = Date(timeIntervalSince1970: Double(raw.created_ns) / 1e9)
    self.formatVersion = Int(clamping: raw.version)
    self.whenFull =
      raw.flags & UInt32(LARDER_RING_OVERWRITE) != 0 ? .overwriteOldest : .refuse
    self.consumerSlots = Int(clamping: raw.cursor_slots)
    self.isReadOnly = raw.read_only != 0
    self.keepsTimes = raw.flags & UInt32(LARDER_RING_KEEP_TIMES) != 0
    self.oldestDate = LogTime.date(raw.oldest_time_ns)
    self.newestDate = LogTime.date(raw.newest_time_ns)
    self.writerProcess = raw.writer_pid == 0 ? nil : Int(clamping: raw.writer_pid)
  }
}

extension LogReport {
  init(_ raw: larder_ring_report) {
    self.intact = raw.intact
    self.lost = raw.lost
    self.damagedPlaces = raw.damaged_places
    self.damagedBytes = raw.damaged_bytes
    self.cut = raw.cut
    self.firstDamageOffset = raw.first_damage_offset == 0 ? nil : raw.first_damage_offset
    self.oldestSequence = raw.oldest_sequence == 0 ? nil : raw.oldest_sequence
    self.newestSequence = raw.newest_sequence == 0 ? nil : raw.newest_sequence
    self.wasClosed = raw.was_closed != 0
    self.isHeaderDamaged = raw.header_damaged != 0
    self.isStateDamaged = raw.state_damaged != 0
    self.isIntact =
      raw.lost == 0 && raw.damaged_places == 0 && raw.header_damaged == 0
      && raw.state_damaged == 0
  }
}
