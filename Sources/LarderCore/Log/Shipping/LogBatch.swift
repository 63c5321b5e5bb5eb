// SPDX-License-Identifier: MIT

public import Foundation

/// Consecutive numbers of a log, on their way to a ``LogSink``: each is that of a message, or in a
/// gap.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct LogBatch: Sendable, Hashable {
  /// A message, or numbers without one.
  public enum Record: Sendable, Hashable {
    /// A message, as its coder encoded it.
    case message(Message)
    /// Numbers whose messages are gone: overwritten or removed before they were shipped, damaged,
    /// or skipped after a power cut.
    case gap(ClosedRange<UInt64>)

    /// Its number; of a gap the last one.
    public var sequence: UInt64 {
      switch self {
      case .message(let message): message.sequence
      case .gap(let numbers): numbers.upperBound
      }
    }
  }

  /// One message.
  public struct Message: Sendable, Hashable {
    /// Its number: 1 for the first of a log.
    public let sequence: UInt64
    /// Nanoseconds since 1970 at which it was appended; nil if the log keeps no times.
    public let time: Int64?
    /// Whether it was marked as not ended; see ``LogEntry/isPartial``.
    public let isPartial: Bool
    /// Its bytes.
    public let bytes: Data

    /// Makes a message, for tests of a sink.
    ///
    /// - Parameters:
    ///   - sequence: Its number.
    ///   - bytes: Its bytes.
    ///   - time: Nanoseconds since 1970; nil if unknown.
    ///   - isPartial: Whether it was marked as not ended.
    /// - Complexity: O(1).
    public init(sequence: UInt64, bytes: Data, time: Int64? = nil, isPartial: Bool = false) {
      self.sequence = sequence
      self.bytes = bytes
      self.time = time
      self.isPartial = isPartial
    }
  }

  /// The records in order; the first follows on what the sink has last, each on the one before.
  public private(set) var records: [Record] = []
  /// How many messages are among them.
  public private(set) var messageCount = 0
  /// The bytes of these messages.
  public private(set) var byteCount = 0

  /// Makes an empty batch.
  ///
  /// - Complexity: O(1).
  public init() {}

  /// Adds a record.
  ///
  /// - Parameter record: It has to follow on the one before.
  /// - Complexity: O(1), amortised.
  public mutating func append(_ record: Record) {
    records.append(record)
    guard case .message(let message) = record else { return }
    messageCount += 1
    byteCount += message.bytes.count
  }
}
