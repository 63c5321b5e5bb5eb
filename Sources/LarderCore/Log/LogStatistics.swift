// SPDX-License-Identifier: MIT

public import Foundation

/// The figures of a log at one moment.
///
/// **Concurrency.** A value; safe to pass between threads. All figures are of
/// the same moment.
public struct LogStatistics: Sendable, Hashable {
  /// Size of the file, in bytes. Fixed.
  public internal(set) var capacity: UInt64
  /// Of that, room for messages with their 16-byte heads, in bytes. Fixed.
  public internal(set) var dataCapacity: UInt64
  /// Of that, in use, in bytes.
  public internal(set) var size: UInt64
  /// Messages in the log.
  public internal(set) var count: Int
  /// The number of the oldest message; nil in an empty log.
  public internal(set) var oldestSequence: UInt64?
  /// The number of the newest message; nil in an empty log.
  public internal(set) var newestSequence: UInt64?
  /// The number that the next message gets.
  public internal(set) var nextSequence: UInt64
  /// Every message up to this number survives a power cut.
  public internal(set) var syncedSequence: UInt64
  /// Messages overwritten since the file was created.
  public internal(set) var overwritten: UInt64
  /// Messages removed by a caller since the file was created.
  public internal(set) var removed: UInt64
  /// Messages lost to damage since the file was created.
  public internal(set) var lost: UInt64
  /// Numbers skipped since then: they were reserved when the power was cut, or the
  /// machine rebooted, and nobody can tell which of them had been assigned.
  public internal(set) var skipped: UInt64
  /// How often writing came round to the file's start.
  public internal(set) var wraps: UInt64
  /// The coder's format, as in ``Coder/format``; empty if the file says nothing.
  public internal(set) var format: String
  /// When the log was created; a resize changes nothing about it.
  public internal(set) var created: Date
  /// The version of the file format.
  public internal(set) var formatVersion: Int
  /// What the log does when it is full.
  public internal(set) var whenFull: OverflowPolicy
  /// How many named consumers the file has room for.
  public internal(set) var consumerSlots: Int
  /// Whether this log was opened for reading only.
  public internal(set) var isReadOnly: Bool
  /// Whether the file keeps the times of messages; see
  /// ``MessageLogConfiguration/keepsTimes``.
  public internal(set) var keepsTimes: Bool
  /// When the oldest message was appended; nil in an empty log, and if it is unknown.
  public internal(set) var oldestDate: Date?
  /// When the newest message was appended; nil in an empty log, and if it is unknown.
  public internal(set) var newestDate: Date?
  /// The process that has the file open for writing; nil if none has.
  public internal(set) var writerProcess: Int?
}
