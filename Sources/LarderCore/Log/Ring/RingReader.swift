// SPDX-License-Identifier: MIT

import CLarder

/// One message as read.
package struct RingRecord {
  package let sequence: UInt64
  /// Messages missing before this one; see `larder_ring_record`.
  package let lost: UInt64
  package let isPartial: Bool
  /// Nanoseconds since 1970; 0 if it is unknown.
  package let time: Int64
  /// Borrowed: valid until the reader's next call.
  package let bytes: UnsafeRawBufferPointer

  package init(
    sequence: UInt64, lost: UInt64, isPartial: Bool, time: Int64, bytes: UnsafeRawBufferPointer
  ) {
    self.sequence = sequence
    self.lost = lost
    self.isPartial = isPartial
    self.time = time
    self.bytes = bytes
  }
}

/// Owns one `larder_ring_reader`, and keeps the memory of its ring.
package struct RingReader: ~Copyable {
  private let reader: OpaquePointer
  /// Keeps the ring, also one that was suspended since: that is a little memory.
  private let owner: any SuspendableHandle.Owner
  private let path: String

  init(_ ring: SuspendableHandle, path: String, waits: Bool) throws(LarderError) {
    var opened: OpaquePointer?
    let (status, owner) = try ring.callKeeping(waits: waits) {
      larder_ring_reader_open($0, 0, &opened)
    }
    guard status == LARDER_OK, let opened else {
      throw LarderError(
        status: status == LARDER_OK ? Int32(LARDER_EINVALID) : status, doing: "read \(path)")
    }
    self.reader = opened
    self.owner = owner
    self.path = path
  }

  // The reader goes first: stored properties, and with them the ring, follow.
  deinit { larder_ring_reader_close(reader) }

  /// The next message towards the newest; nil at the end, where a later call
  /// finds what was appended since.
  @inline(__always)
  package func next() throws(LarderError) -> RingRecord? {
    var record = larder_ring_record()
    return try result(larder_ring_reader_next(reader, &record), record)
  }

  /// The message before the reader's place, towards the oldest; nil at the start.
  @inline(__always)
  package func previous() throws(LarderError) -> RingRecord? {
    var record = larder_ring_record()
    return try result(larder_ring_reader_previous(reader, &record), record)
  }

  /// Goes before the first message whose number is at least `sequence`.
  package func seek(to sequence: UInt64) throws(LarderError) {
    try check(larder_ring_reader_seek(reader, sequence), "find message \(sequence) in \(path)")
  }

  /// The number of the first message at or after a time, in nanoseconds since 1970; the largest
  /// there is if there is none.
  static func firstSequence(
    in ring: SuspendableHandle, path: String, since time: Int64
  ) throws(LarderError) -> UInt64 {
    var found = larder_ring_record()
    let status = try ring.call { ring in
      var opened: OpaquePointer?
      let status = larder_ring_reader_open(ring, 0, &opened)
      guard let opened else { return status }
      defer { larder_ring_reader_close(opened) }
      let sought = larder_ring_reader_seek_time(opened, time)
      return sought == LARDER_OK ? larder_ring_reader_next(opened, &found) : sought
    }
    if status == LARDER_END { return .max }
    try RingFailure.checkTimes(status, "find messages by their time in \(path)")
    return found.sequence
  }

  @inline(__always)
  private func result(
    _ status: Int32, _ record: larder_ring_record
  ) throws(LarderError) -> RingRecord? {
    if status == LARDER_OK {
      return RingRecord(
        sequence: record.sequence, lost: record.lost,
        isPartial: record.flags & UInt32(LARDER_MESSAGE_PARTIAL) != 0, time: record.time_ns,
        bytes: UnsafeRawBufferPointer(start: record.payload.data, count: record.payload.length))
    }
    if status == LARDER_END { return nil }
    throw LarderError(status: status, doing: "read \(path)")
  }
}
