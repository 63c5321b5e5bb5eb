// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport

/// One open ring, closed with the last reference to it.
final class Ring: @unchecked Sendable {
  let raw: OpaquePointer
  private var isClosed = false

  /// Opens with the default options, changed by `change`.
  init(
    _ url: URL, detail: UnsafeMutablePointer<larder_ring_detail>? = nil,
    _ change: (inout larder_ring_options) -> Void = { _ in }
  ) throws {
    var options = larder_ring_options()
    larder_ring_options_init(&options)
    change(&options)
    var opened: OpaquePointer?
    try check(larder_ring_open(url.path, &options, detail, &opened))
    guard let opened else { throw RingFailure(status: LARDER_OK) }
    raw = opened
  }

  /// Creates a ring with so many bytes of data.
  convenience init(
    _ url: URL, data bytes: UInt64, overwrite: Bool = true, slots: UInt32 = 8,
    syncInterval: Int64 = 0
  ) throws {
    try self.init(url) { options in
      options.capacity_bytes = capacity(data: bytes, slots: slots)
      options.flags = overwrite ? UInt32(LARDER_RING_OVERWRITE) : 0
      options.cursor_slots = slots
      options.sync_interval_ns = syncInterval
    }
  }

  /// Opens an existing ring for reading.
  convenience init(reading url: URL) throws {
    try self.init(url) { $0.flags = UInt32(LARDER_RING_READ_ONLY) }
  }

  deinit { close() }

  /// Closes the ring; the last call.
  func close() {
    if !isClosed { larder_ring_close(raw) }
    isClosed = true
  }

  func shutdown() throws { try check(larder_ring_shutdown(raw)) }

  // MARK: - Writing

  @discardableResult func append(_ bytes: [UInt8]) throws -> UInt64 {
    var sequence: UInt64 = 0
    try check(larder_ring_append(raw, bytes, bytes.count, &sequence))
    return sequence
  }

  /// Appends what `payload(_:_:)` gives for the number that is next.
  @discardableResult func append(length: Int) throws -> UInt64 {
    try append(payload(statistics.next_sequence, length))
  }

  /// Appends messages of these lengths.
  func append(lengths: some Sequence<Int>) throws {
    var next = try statistics.next_sequence
    for length in lengths {
      try append(payload(next, length))
      next += 1
    }
  }

  @discardableResult func remove(through sequence: UInt64) throws -> UInt64 {
    var removed: UInt64 = 0
    try check(larder_ring_remove_through(raw, sequence, &removed))
    return removed
  }

  @discardableResult func remove(before time: Int64) throws -> UInt64 {
    var removed: UInt64 = 0
    try check(larder_ring_remove_before(raw, time, &removed))
    return removed
  }

  func sync() throws { try check(larder_ring_sync(raw)) }

  // MARK: - Cursors

  func acknowledge(_ name: String, _ sequence: UInt64) throws {
    try Array(name.utf8).withUnsafeBytes { bytes in
      let name = larder_bytes(data: bytes.baseAddress, length: bytes.count)
      try check(larder_ring_acknowledge(raw, name, sequence))
    }
  }

  /// nil if there is no cursor of this name.
  func acknowledged(_ name: String) throws -> UInt64? {
    try Array(name.utf8).withUnsafeBytes { bytes in
      var sequence: UInt64 = 0
      let name = larder_bytes(data: bytes.baseAddress, length: bytes.count)
      let status = larder_ring_acknowledged(raw, name, &sequence)
      if status == LARDER_ENOTFOUND { return nil }
      try check(status)
      return sequence
    }
  }

  func removeCursor(_ name: String) throws {
    try Array(name.utf8).withUnsafeBytes { bytes in
      let name = larder_bytes(data: bytes.baseAddress, length: bytes.count)
      try check(larder_ring_cursor_remove(raw, name))
    }
  }

  // MARK: - Looking

  var statistics: larder_ring_statistics {
    get throws {
      var statistics = larder_ring_statistics()
      try check(larder_ring_statistics_get(raw, &statistics))
      return statistics
    }
  }

  /// The number that the next message gets.
  var nextSequence: UInt64 {
    get throws {
      var sequence: UInt64 = 0
      try check(larder_ring_next_sequence(raw, &sequence))
      return sequence
    }
  }

  var recovery: larder_ring_report {
    get throws {
      var report = larder_ring_report()
      try check(larder_ring_recovery(raw, &report))
      return report
    }
  }

  /// The deep validator's verdict.
  func verify() -> (status: Int, report: larder_ring_report) {
    var report = larder_ring_report()
    let status = larder_ring_check(raw, &report)
    return (Int(status), report)
  }

  var isSound: Bool { verify().status == LARDER_OK }

  /// All messages, the oldest first, by a reader of this call's own.
  var messages: [RingMessage] {
    get throws {
      let reader = try RingReader(self)
      var messages: [RingMessage] = []
      while let message = try reader.next() { messages.append(message) }
      return messages
    }
  }

  var sequences: [UInt64] {
    get throws { try messages.map(\.sequence) }
  }
}

/// One pass over a ring. Keeps it alive.
final class RingReader {
  let raw: OpaquePointer
  private let ring: Ring

  init(_ ring: Ring, borrowing: Bool = false) throws {
    self.ring = ring
    var opened: OpaquePointer?
    let flags = borrowing ? UInt32(LARDER_RING_BORROW) : 0
    try check(larder_ring_reader_open(ring.raw, flags, &opened))
    guard let opened else { throw RingFailure(status: LARDER_OK) }
    raw = opened
  }

  deinit { larder_ring_reader_close(raw) }

  /// nil at the end.
  func nextRecord() throws -> larder_ring_record? {
    var record = larder_ring_record()
    let status = larder_ring_reader_next(raw, &record)
    if status == LARDER_END { return nil }
    try check(status)
    return record
  }

  func next() throws -> RingMessage? { try nextRecord().map(RingMessage.init) }

  /// nil at the oldest.
  func previous() throws -> RingMessage? {
    var record = larder_ring_record()
    let status = larder_ring_reader_previous(raw, &record)
    if status == LARDER_END { return nil }
    try check(status)
    return RingMessage(record)
  }

  func seek(_ sequence: UInt64) throws { try check(larder_ring_reader_seek(raw, sequence)) }

  func seek(time: Int64) throws { try check(larder_ring_reader_seek_time(raw, time)) }
}
