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

/// Owns one `larder_ring`, which can be suspended: bytes in, bytes out, every status an error.
package struct RingHandle: ~Copyable, Sendable {
  let suspension: SuspendableHandle
  let opener: RingOpener
  /// As given to the system; for messages.
  package let path: String

  /// Opens the file at `path`.
  ///
  /// - Throws: what ``LarderError`` makes of the statuses of `larder_ring_open`;
  ///   the message of `.busy` names the process that holds the file.
  package init(path: String, options: RingOptions) throws(LarderError) {
    let opener = try RingOpener(path: path, options: options)
    suspension = SuspendableHandle(
      "The log at \(path)", try opener.open(expecting: options.created))
    self.opener = opener
    self.path = path
  }

  // Readers that are left go on with an open log; one that is suspended is so for good.
  deinit { suspension.abandon() }

  var trustsOtherUsers: Bool { opener.options.trustsOtherUsers }
  var files: FileAttributes { opener.options.files }

  /// Ends all use: marks the file as closed, releases the lock. Any number of times.
  ///
  /// - Parameter syncs: Whether everything is synced before.
  package func shutdown(syncs: Bool = true) throws(LarderError) {
    try suspension.close { ring throws(LarderError) in
      try check(
        syncs ? larder_ring_shutdown(ring) : larder_ring_shutdown_unsynced(ring),
        "sync \(path) while closing it")
    }
  }

  /// Syncs and releases the file until ``resume()``.
  package func suspend(calls: SuspendedCalls) throws(LarderError) {
    try suspension.suspend(calls: calls) { ring throws(LarderError) in
      try check(larder_ring_shutdown(ring), "sync \(path) while suspending it")
    }
  }

  /// Opens the file as it was opened first.
  package func resume() throws(LarderError) {
    try suspension.resume { () throws(LarderError) in try opener.open() }
  }

  /// Appends one message and gives its sequence number.
  @inline(__always)
  package func append(
    _ bytes: UnsafeRawBufferPointer, waits: Bool = true
  ) throws(LarderError) -> UInt64 {
    var sequence: UInt64 = 0
    let status = try suspension.call(waits: waits) { ring in
      larder_ring_append(ring, bytes.baseAddress, bytes.count, &sequence)
    }
    if status != LARDER_OK { throw appendFailure(status, bytes: bytes.count) }
    return sequence
  }

  /// Appends one message and syncs it before it returns.
  package func appendSynced(_ bytes: UnsafeRawBufferPointer) throws(LarderError) -> UInt64 {
    // Not in one call: one that finds the ring shut in between must not append again.
    let sequence = try append(bytes)
    try sync(through: sequence)
    return sequence
  }

  /// Appends all messages of a batch, visible to readers all at once.
  ///
  /// - Returns: the number of the last one; 0 for an empty batch.
  @discardableResult
  package func append(
    _ batch: borrowing RingBatch, waits: Bool = true
  ) throws(LarderError) -> UInt64 {
    var appended = 0
    var last: UInt64 = 0
    let status = try suspension.call(waits: waits) { ring in
      batch.withMessages { messages in
        larder_ring_append_batch(ring, messages.baseAddress, messages.count, &appended, &last)
      }
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
      suspension.call { larder_ring_remove_through($0, sequence, &removed) },
      "remove messages up to \(sequence) from \(path)")
    return removed
  }

  /// Removes the messages that are older than a time, in nanoseconds since 1970.
  package func remove(before time: Int64) throws(LarderError) -> UInt64 {
    var removed: UInt64 = 0
    let status = try suspension.call { larder_ring_remove_before($0, time, &removed) }
    try RingFailure.checkTimes(status, "remove old messages from \(path)")
    return removed
  }

  /// Makes everything appended so far survive a power cut.
  package func sync() throws(LarderError) {
    try check(suspension.call { larder_ring_sync($0) }, "sync \(path)")
  }

  /// Makes messages up to `sequence` survive a power cut; concurrent callers share a sync.
  package func sync(through sequence: UInt64) throws(LarderError) {
    var status = suspension.withPointer { larder_ring_sync_through($0, sequence) }
    if status ?? Int32(LARDER_ECLOSED) == LARDER_ECLOSED {
      // What was appended before a suspension was synced by it.
      if suspension.isSuspendedWell { return }
      status = try suspension.call { larder_ring_sync_through($0, sequence) }
    }
    try check(status ?? Int32(LARDER_ECLOSED), "sync \(path) through \(sequence)")
  }

  /// Blocks until there is a message after `sequence`.
  ///
  /// - Returns: False when the timeout is reached, or the wait was interrupted.
  package func wait(
    after sequence: UInt64, timeout: Duration?, waits: Bool = true
  ) throws(LarderError) -> Bool {
    var nanoseconds: Int64 = -1
    if let timeout {
      let (seconds, attoseconds) = timeout.components
      let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
      nanoseconds = overflow ? .max : max(0, product + attoseconds / 1_000_000_000)
    }
    let status = try suspension.call(waits: waits) { larder_ring_wait($0, sequence, nanoseconds) }
    if status == ETIMEDOUT || status == ECANCELED { return false }
    try check(status, "wait for messages in \(path)")
    return true
  }

  /// Ends a wait that finds nothing: one that is under way, or the next.
  package func interrupt() { suspension.withPointer { larder_ring_interrupt($0) } }

  /// Makes a reader that stands before the oldest message. The ring stays open
  /// until it is shut down, or this handle and all its readers are gone.
  package func makeReader(waits: Bool = true) throws(LarderError) -> RingReader {
    try RingReader(suspension, path: path, waits: waits)
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
