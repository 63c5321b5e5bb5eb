// SPDX-License-Identifier: MIT

/// The figures of a queue at one moment.
///
/// **Concurrency.** A value; safe to pass between threads. All figures are of the same moment.
public struct LogQueueStatistics: Sendable, Hashable {
  /// Messages that can be received now, or as soon as the window admits them.
  public internal(set) var ready: Int
  /// Messages that workers have, and whose leases last.
  public internal(set) var leased: Int
  /// Messages that were released, and whose time has not come.
  public internal(set) var delayed: Int
  /// Messages acknowledged since the queue was opened.
  public internal(set) var done: UInt64
  /// Messages moved to the dead-letter log since the queue was opened.
  public internal(set) var dead: UInt64
  /// Messages that were given up since the queue was opened: delivered too often and in no
  /// dead-letter log, because there is none and they cannot be decoded, or because it cannot hold
  /// so large a letter. `removesDone` removes them.
  public internal(set) var skipped: UInt64
  /// Deliveries since the queue was opened of messages that had been delivered before.
  public internal(set) var redelivered: UInt64
  /// Messages overwritten, removed or damaged since the queue was opened, before they were
  /// delivered. Numbers that the log skipped when it was opened this time are none; those that
  /// it skipped earlier, behind messages that were not delivered since, count.
  public internal(set) var lost: UInt64
  /// Every message up to this number is done, dead, skipped or lost; 0 before the first.
  public internal(set) var acknowledged: UInt64
}
