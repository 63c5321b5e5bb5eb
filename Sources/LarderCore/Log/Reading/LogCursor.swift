// SPDX-License-Identifier: MIT

/// One message as read, for the generic code around it.
@usableFromInline
struct RawEntry {
  @usableFromInline let sequence: UInt64
  @usableFromInline let lost: UInt64
  @usableFromInline let isPartial: Bool
  /// Nanoseconds since 1970; 0 if it is unknown.
  @usableFromInline let time: Int64
  /// Borrowed: valid until the cursor's next call.
  @usableFromInline let bytes: UnsafeRawBufferPointer

  /// - Parameter missing: Messages missing before it that the reader does not know of.
  @inline(__always)
  init(_ record: RingRecord, missing: UInt64 = 0) {
    self.sequence = record.sequence
    self.lost = record.lost.adding(clamping: missing)
    self.isPartial = record.isPartial
    self.time = record.time
    self.bytes = record.bytes
  }
}

/// A place in a log, for the generic code around it. Belongs to one thread at a time.
///
/// Continues by the number of the next message when the log was suspended and resumed. If that was
/// with another log, as the file was gone, it throws `.replaced` once and stands before the first
/// message of the new one; what it had read ahead of the old one is dropped.
///
/// Its variables are not checked for exclusive access, which took a third of the time to read a
/// message: no call of a cursor runs inside another.
@usableFromInline
final class LogCursor {
  @exclusivity(unchecked) private var reader: RingReader
  private let ring: SuspendableHandle
  private let opener: RingOpener
  private let path: String
  /// The log that the position is in.
  @exclusivity(unchecked) private var created: Int64
  /// The last number to return, so that a pass over a log that is being written ends.
  private let last: UInt64
  /// The least number that `next` may return; 0 as long as it begins with the oldest.
  @exclusivity(unchecked) private var place: UInt64 = 0
  /// The place is after a message that was returned, so that a gap before the next counts.
  @exclusivity(unchecked) private var isBehindMessage = false
  /// The same, and the reader does not know because it is a new one.
  @exclusivity(unchecked) private var countsGap = false
  /// The file was replaced, and what was appended to it before may still have to be read.
  @exclusivity(unchecked) private var isReplaced = false

  /// - Parameter created: The log that the numbers are of which it is given; nil for whichever is
  ///   open.
  init(
    _ handle: borrowing RingHandle, ofLog created: Int64? = nil, last: UInt64 = .max,
    waits: Bool = true
  ) throws(LarderError) {
    // Before the reader: of that one or a newer one, which the first call finds.
    self.created = created ?? handle.opener.created
    reader = try handle.makeReader(waits: waits)
    ring = handle.suspension
    opener = handle.opener
    path = handle.path
    self.last = last
  }

  @usableFromInline
  func next() throws(LarderError) -> RawEntry? { try next(waits: true) }

  /// - Parameter waits: Whether the thread may be blocked until the log is resumed.
  func next(waits: Bool) throws(LarderError) -> RawEntry? {
    while true {
      if created != opener.created { try begin(waits: waits) }
      do {
        guard let record = try reader.next(), record.sequence <= last else {
          if try goesOn() { continue }
          return nil
        }
        let missing = countsGap ? record.sequence.subtracting(clamping: place) : 0
        place = record.sequence.adding(clamping: 1)
        isBehindMessage = true
        countsGap = false
        return RawEntry(record, missing: missing)
      } catch {
        try reopen(after: error, waits: waits)
      }
    }
  }

  /// At the end: whether there may be more, because the log has another file.
  ///
  /// - Throws: `.replaced` if nothing more can come.
  @inline(never)
  private func goesOn() throws(LarderError) -> Bool {
    // A pass ends with what was the newest message when it began.
    if last != .max { return false }
    if isReplaced {
      isReplaced = false
      try opener.reopen(ring)
      return true
    }
    // What was appended before the file was replaced can be read now, if it could not before.
    isReplaced = opener.isReplaced(ring)
    return isReplaced
  }

  @usableFromInline
  func previous() throws(LarderError) -> RawEntry? {
    while true {
      if created != opener.created { try begin(waits: true) }
      do {
        guard let record = try reader.previous() else { return nil }
        place = record.sequence
        isBehindMessage = false
        countsGap = false
        return RawEntry(record)
      } catch {
        try reopen(after: error, waits: true)
      }
    }
  }

  func seek(to sequence: UInt64, waits: Bool = true) throws(LarderError) {
    place = sequence
    isBehindMessage = false
    countsGap = false
    if created != opener.created { try begin(waits: waits) }
    do {
      try reader.seek(to: sequence)
    } catch {
      try reopen(after: error, waits: waits)
    }
  }

  /// Goes before the first message at or after a time, in nanoseconds since 1970.
  func seek(toTime time: Int64) throws(LarderError) {
    try seek(to: RingReader.firstSequence(in: ring, path: path, since: time))
  }

  /// Goes before the first message of the log that was made when this one was resumed, and throws
  /// that it has.
  @inline(never)
  private func begin(waits: Bool) throws(LarderError) {
    let new = opener.created
    reader = try RingReader(ring, path: path, waits: waits)
    created = new
    place = 0
    isBehindMessage = false
    countsGap = false
    throw opener.anotherLog("read \(path) any further")
  }

  /// Goes to the same place of a log that was resumed; throws the error for any other.
  @inline(never)
  private func reopen(after error: LarderError, waits: Bool) throws(LarderError) {
    var error = error
    while true {
      guard error.code == .closed, try ring.waitForResumption(waits: waits) else { throw error }
      do {
        if created != opener.created { try begin(waits: waits) }
        reader = try RingReader(ring, path: path, waits: waits)
        countsGap = isBehindMessage
        return try reader.seek(to: place)
      } catch let failure {
        error = failure
      }
    }
  }
}
