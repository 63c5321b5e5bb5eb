// SPDX-License-Identifier: MIT

public import Foundation

/// One message of a log, with its number.
///
/// **Concurrency.** A value; safe to pass between threads. It stays valid when
/// the log overwrites the message or is closed.
public struct LogEntry<Message: Sendable>: Sendable {
  /// The message's number: 1 for the first of a log, never used twice.
  public let sequence: UInt64

  /// How many messages are missing directly before this one.
  ///
  /// They were damaged, or overwritten before they could be read. Numbers that a
  /// log skips behind a power cut count, too (see ``LogStatistics/skipped``): which
  /// of them a message had, nobody can tell. Not counted before the first message of
  /// a pass, as nobody knows where it would have begun; a ``LogConsumer`` knows, and
  /// counts there too.
  public let lost: UInt64

  /// Whether the message was marked as not ended, as `larder log append` marks a
  /// last line without a newline, and a piece of a line that is too long for the log.
  public let isPartial: Bool

  @usableFromInline let time: Int64
  @usableFromInline let result: Result<Message, any Error>

  @inlinable
  init(
    sequence: UInt64, lost: UInt64, isPartial: Bool, time: Int64,
    result: Result<Message, any Error>
  ) {
    self.sequence = sequence
    self.lost = lost
    self.isPartial = isPartial
    self.time = time
    self.result = result
  }

  /// When the message was appended, by the wall clock; never before the date of the
  /// message before it.
  ///
  /// nil if the log keeps no times, or kept none then: see
  /// ``MessageLogConfiguration/keepsTimes``.
  ///
  /// - Complexity: O(1).
  public var date: Date? { LogTime.date(time) }

  /// The message itself.
  ///
  /// - Throws: `.decoding` if the coder refused the bytes (its own error is the
  ///   `cause`); in a lazy sequence also what ended it early, such as `.closed`.
  /// - Complexity: O(1): it was decoded when the entry was read.
  @inlinable
  public var message: Message {
    get throws { try result.get() }
  }
}
