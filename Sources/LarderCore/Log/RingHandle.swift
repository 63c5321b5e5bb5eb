// SPDX-License-Identifier: MIT

import CLarder

/// Frees a ring when its handle and the last of its readers are gone.
///
/// Sendable, although Swift cannot see it: the pointer never changes, and the C
/// core allows `larder_ring_close` on any thread as the last call, which `deinit` is.
final class RingOwner: @unchecked Sendable {
  let ring: OpaquePointer
  /// Whether the end waits for the device, if nobody has closed the ring before.
  private let syncsAtEnd: Bool

  init(_ ring: OpaquePointer, syncsAtEnd: Bool) {
    self.ring = ring
    self.syncsAtEnd = syncsAtEnd
  }

  deinit {
    // Nobody is left to be told of a failure.
    if !syncsAtEnd { _ = larder_ring_shutdown_unsynced(ring) }
    larder_ring_close(ring)
  }
}

/// Owns one `larder_ring`: bytes in, bytes out, every status an error.
///
/// Sendable, although Swift cannot see it: the pointer never changes, and every
/// function that is called with it may be called from any thread at any time.
package struct RingHandle: ~Copyable, @unchecked Sendable {
  let ring: OpaquePointer
  let owner: RingOwner
  /// As given to the system; for messages.
  package let path: String

  /// Opens the file at `path`.
  ///
  /// - Throws: what ``LarderError`` makes of the statuses of `larder_ring_open`;
  ///   the message of `.busy` names the process that holds the file.
  package init(path: String, options: RingOptions) throws(LarderError) {
    try Self.validate(path: path)
    var raw = try options.raw()
    var detail = larder_ring_detail()
    var opened: OpaquePointer?
    let status = larder_ring_open(path, &raw, &detail, &opened)
    guard status == LARDER_OK, let opened else {
      throw LarderError(
        status: status == LARDER_OK ? Int32(LARDER_EINVALID) : status, doing: "open \(path)",
        reason: RingFailure.reason(status, detail: detail, asked: raw))
    }
    self.ring = opened
    self.owner = RingOwner(opened, syncsAtEnd: options.syncsAtEnd)
    self.path = path
  }

  /// Ends all use: marks the file as closed, releases the lock. Any number of times.
  ///
  /// - Parameter syncs: Whether everything is synced before.
  package func shutdown(syncs: Bool = true) throws(LarderError) {
    try check(
      syncs ? larder_ring_shutdown(ring) : larder_ring_shutdown_unsynced(ring),
      "sync \(path) while closing it")
  }

  /// Appends one message and gives its sequence number.
  @inline(__always)
  package func append(_ bytes: UnsafeRawBufferPointer) throws(LarderError) -> UInt64 {
    var sequence: UInt64 = 0
    let status = larder_ring_append(ring, bytes.baseAddress, bytes.count, &sequence)
    if status != LARDER_OK { throw appendFailure(status, bytes: bytes.count) }
    return sequence
  }

  /// Appends one message and syncs it before it returns.
  package func appendSynced(_ bytes: UnsafeRawBufferPointer) throws(LarderError) -> UInt64 {
    var sequence: UInt64 = 0
    let status = larder_ring_append_synced(ring, bytes.baseAddress, bytes.count, &sequence)
    if status != LARDER_OK { throw appendFailure(status, bytes: bytes.count) }
    return sequence
  }

  /// Appends all messages of a batch, visible to readers all at once.
  ///
  /// - Returns: the number of the last one; 0 for an empty batch.
  @discardableResult
  package func append(_ batch: borrowing RingBatch) throws(LarderError) -> UInt64 {
    let (status, appended, last) = batch.withMessages { messages in
      var appended = 0
      var last: UInt64 = 0
      let status = larder_ring_append_batch(
        ring, messages.baseAddress, messages.count, &appended, &last)
      return (status, appended, last)
    }
    if status != LARDER_OK {
      throw LarderError(
        status: status,
        doing: "append \(batch.count) messages to \(path), of which \(appended) were appended")
    }
    return last
  }

  /// Removes the oldest messages up to and including `sequence`.
  package func remove(through sequence: UInt64) throws(LarderError) -> UInt64 {
    var removed: UInt64 = 0
    try check(
      larder_ring_remove_through(ring, sequence, &removed),
      "remove messages up to \(sequence) from \(path)")
    return removed
  }

  /// Makes everything appended so far survive a power cut.
  package func sync() throws(LarderError) {
    try check(larder_ring_sync(ring), "sync \(path)")
  }

  /// Makes messages up to `sequence` survive a power cut; concurrent callers share a sync.
  package func sync(through sequence: UInt64) throws(LarderError) {
    try check(larder_ring_sync_through(ring, sequence), "sync \(path) through \(sequence)")
  }

  /// Blocks until there is a message after `sequence`.
  ///
  /// - Returns: False when the timeout is reached.
  package func wait(after sequence: UInt64, timeout: Duration?) throws(LarderError) -> Bool {
    var nanoseconds: Int64 = -1
    if let timeout {
      let (seconds, attoseconds) = timeout.components
      let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
      nanoseconds = overflow ? .max : max(0, product + attoseconds / 1_000_000_000)
    }
    let status = larder_ring_wait(ring, sequence, nanoseconds)
    if status == LARDER_END { return false }
    try check(status, "wait for messages in \(path)")
    return true
  }

  /// Makes a reader that stands before the oldest message. The ring stays open
  /// until it is shut down, or this handle and all its readers are gone.
  package func makeReader() throws(LarderError) -> RingReader {
    try RingReader(owner: owner, path: path)
  }

  @inline(never)
  private func appendFailure(_ status: Int32, bytes: Int) -> LarderError {
    LarderError(status: status, doing: "append \(bytes) bytes to \(path)")
  }

  /// C ends a path at its first NUL, so one inside would name another file.
  static func validate(path: String) throws(LarderError) {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw LarderError(.invalidArgument, "A file's path must not be empty or contain NUL.")
    }
  }
}
