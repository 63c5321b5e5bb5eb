// SPDX-License-Identifier: MIT

extension MessageLog {
  /// Whether the log is suspended.
  ///
  /// - Complexity: O(1).
  public var isSuspended: Bool { handle.suspension.isSuspended }

  /// Syncs the log and releases its lock, descriptor and mapping until `resume()`, so that
  /// another process can open the file for writing.
  ///
  /// For an app in an app group's container: the system ends one that it suspends while it
  /// holds a lock there. Also works for a log opened for reading.
  ///
  /// ```swift
  /// try log.suspend()
  /// // … in the background …
  /// try log.resume()
  /// ```
  ///
  /// Calls under way finish first; later ones fail or wait, as `calls` says. Readers,
  /// consumers and loops over the log keep their position: they return what they have read
  /// ahead, which is up to 64 KiB, and continue by number after the resumption. So does whoever
  /// follows the log, who waits meanwhile in either case. What others overwrote or removed until
  /// then counts as ``LogEntry/lost``. `close()` ends a suspended log, too. Suspending twice is
  /// harmless: the first `calls` holds.
  ///
  /// - Parameter calls: What calls do until the log is resumed; they fail by default.
  /// - Throws: `.io` or `.diskFull` if the sync failed; the log is suspended all the same, and
  ///   the file holds what it would hold after a power cut. `.replaced` if something was written
  ///   and the next opening will not find it; it is suspended then, too. `.closed`.
  /// - Complexity: One sync of the device, for which it blocks.
  public func suspend(calls: SuspendedCalls = .fail) throws {
    try suspendBlocking(calls)
  }

  /// Opens the log again after `suspend(calls:)`, as it was opened first.
  ///
  /// A missing file is created again, with numbers from 1 on: that is another log. Whoever has a
  /// position in the old one, a reader, consumer, follower or loop, gets `.replaced` once instead
  /// of its next message, and what it had read ahead is not returned any more; it goes on with the
  /// first message of the new log. Numbers of the old one cannot be acknowledged in it. Resuming a
  /// log that is not suspended is harmless.
  ///
  /// - Throws: As ``init(at:capacity:whenFull:coder:configuration:)``, `.busy` for
  ///   example; `.replaced` if another log has its name by now. The log stays suspended then,
  ///   and can be resumed later. `.closed`.
  /// - Complexity: As opening.
  public func resume() throws {
    try resumeBlocking()
  }

  /// Suspends the log without blocking the thread; see `suspend(calls:)`.
  ///
  /// - Parameter calls: What calls do until the log is resumed; they fail by default.
  /// - Throws: `.io`, `.diskFull`, `.replaced`, `.closed`.
  /// - Complexity: One sync of the device.
  public func suspend(calls: SuspendedCalls = .fail) async throws {
    try await SuspendableHandle.run { try self.suspendBlocking(calls) }
  }

  /// Resumes the log without blocking the thread; see `resume()`.
  ///
  /// - Throws: As opening. The log stays suspended then.
  /// - Complexity: As opening.
  public func resume() async throws {
    try await SuspendableHandle.run { try self.resumeBlocking() }
  }

  private func suspendBlocking(_ calls: SuspendedCalls) throws {
    let failure = queues.hold()
    try handle.suspend(calls: calls)
    if let failure { throw failure }
  }

  private func resumeBlocking() throws {
    try handle.resume()
    queues.unhold()
    // Another process may have appended.
    signal.notify()
  }
}
