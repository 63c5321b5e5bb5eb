// SPDX-License-Identifier: MIT

/// What a ``LogShipper`` has done since it was made.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct LogShipperStatistics: Sendable {
  /// Messages that the sink has confirmed.
  public internal(set) var messages: UInt64 = 0
  /// Their bytes.
  public internal(set) var bytes: UInt64 = 0
  /// Gaps that the sink has confirmed.
  public internal(set) var gaps: UInt64 = 0
  /// How many numbers were in these gaps.
  public internal(set) var missing: UInt64 = 0
  /// Calls of the sink that failed.
  public internal(set) var failures: UInt64 = 0
  /// How many of them came one after the other, up to now; 0 while all is well.
  public internal(set) var failuresInARow = 0
  /// What the last failure was; nil if there was none.
  public internal(set) var lastError: (any Error)?
  /// The last number that the sink is known to have; nil as long as that is not known, and if it
  /// has nothing.
  public internal(set) var lastSequence: UInt64?
  /// How many numbers of the log the sink does not have yet: messages, and gaps between them. 0 if
  /// the log is closed or suspended.
  public internal(set) var lag: UInt64 = 0

  /// Counts the records that a sink has.
  mutating func confirm(_ batch: LogBatch, through last: UInt64) {
    for record in batch.records where record.sequence <= last {
      switch record {
      case .message(let message):
        messages += 1
        bytes += UInt64(message.bytes.count)
      case .gap(let numbers):
        gaps += 1
        missing += numbers.upperBound - numbers.lowerBound + 1
      }
    }
  }
}
