// SPDX-License-Identifier: MIT

/// One message as read, for the generic code around it.
@usableFromInline
struct RawEntry {
  @usableFromInline let sequence: UInt64
  @usableFromInline let lost: UInt64
  @usableFromInline let isPartial: Bool
  /// Borrowed: valid until the cursor's next call.
  @usableFromInline let bytes: UnsafeRawBufferPointer

  @inline(__always)
  init(_ record: RingRecord) {
    self.sequence = record.sequence
    self.lost = record.lost
    self.isPartial = record.isPartial
    self.bytes = record.bytes
  }
}

/// A place in a log, for the generic code around it. Belongs to one thread at a time.
@usableFromInline
final class LogCursor {
  private let reader: RingReader
  /// The last number to return, so that a pass over a log that is being written ends.
  private let last: UInt64

  init(_ reader: consuming RingReader, last: UInt64 = .max) {
    self.reader = reader
    self.last = last
  }

  @usableFromInline
  func next() throws(LarderError) -> RawEntry? {
    guard let record = try reader.next(), record.sequence <= last else { return nil }
    return RawEntry(record)
  }

  @usableFromInline
  func previous() throws(LarderError) -> RawEntry? {
    try reader.previous().map(RawEntry.init)
  }

  func seek(to sequence: UInt64) throws(LarderError) { try reader.seek(to: sequence) }
}
