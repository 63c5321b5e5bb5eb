// SPDX-License-Identifier: MIT

/// Where a ``LogShipper`` ships a log to.
///
/// Whatever can say what it has last and append conditionally gives exactly once: after any
/// crash, of the shipper, the sink or the network between them, each number of the log is in the
/// sink once, in order.
///
/// - `lastSequence()` is the number up to which the sink has everything, and stays so: what it
///   says once is not lost later.
/// - `append(_:after:)` appends only if `lastSequence()` is the number it was given, both in one
///   step that no other append comes between. It appends records in order, each as a whole. If it
///   throws, it may have appended all, the first ones or none; but one that comes too late, as its
///   caller has long given up, is refused by what it was to come after.
///
/// A sink that cannot ask and append in one step is at-least-once at best.
///
/// Both should end soon when their task is cancelled: a shipper waits for that.
///
/// **Concurrency.** Called from any task; by one shipper one call at a time.
public protocol LogSink: Sendable {
  /// The number of the last message that the sink has, or of the end of the last gap; nil if it
  /// has nothing.
  ///
  /// - Throws: As ``append(_:after:)``.
  func lastSequence() async throws -> UInt64?

  /// Appends records behind what is there.
  ///
  /// - Parameters:
  ///   - batch: What to append: at least one record.
  ///   - last: What ``lastSequence()`` has to be for that; nil: nothing may be there.
  /// - Throws: `.conflict` if it is something else: nothing was appended then. What cannot
  ///   succeed later, either, ends the shipper: `.configurationMismatch`, `.invalidArgument`,
  ///   `.tooLarge`, `.incompatibleVersion`, `.closed`. Anything else is tried again.
  func append(_ batch: LogBatch, after last: UInt64?) async throws
}
