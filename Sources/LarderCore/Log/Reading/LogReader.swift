// SPDX-License-Identifier: MIT

public import Foundation

/// A place in a log that moves both ways.
///
/// Where ``LogEntries`` is a pass from end to end, a reader can turn round, jump,
/// and go on at the end when more was appended.
///
/// ```swift
/// let reader = try log.makeReader()
/// try reader.seek(to: 42)
/// while let entry = try reader.next() {
///   print(try entry.message)
/// }
/// ```
///
/// A reader keeps its log open, as a reference to the log does.
///
/// **Concurrency.** Belongs to one thread at a time; make one for each.
public final class LogReader<Message: Sendable> {
  @usableFromInline let cursor: LogCursor
  @usableFromInline let coder: Coder<Message>

  init(cursor: LogCursor, coder: Coder<Message>) {
    self.cursor = cursor
    self.coder = coder
  }

  /// Reads the next message, towards the newest.
  ///
  /// - Returns: The message; nil at the end. A later call finds what was appended
  ///   since.
  /// - Throws: `.closed`; of a log opened for reading `.replaced` if there is no message and
  ///   none can come, as the log was deleted or another one has its name; once `.replaced` if the
  ///   log was resumed and its file was gone, and then the reader stands before the first message
  ///   of the new one. A message that cannot be decoded throws when it is asked for, so that a
  ///   reader gets past it.
  /// - Complexity: O(bytes of the message) and the coder's own, amortised.
  @inlinable
  public func next() throws -> LogEntry<Message>? {
    if let raw = try cursor.next() { LogEntry(raw, coder: coder) } else { nil }
  }

  /// Reads the message before the reader's place, towards the oldest: after
  /// ``next()`` gave message 7, this gives message 7.
  ///
  /// - Returns: The message; nil at the start.
  /// - Throws: As ``next()``.
  /// - Complexity: As ``next()``.
  @inlinable
  public func previous() throws -> LogEntry<Message>? {
    if let raw = try cursor.previous() { LogEntry(raw, coder: coder) } else { nil }
  }

  /// Goes before the first message whose number is at least `sequence`.
  ///
  /// - Parameter sequence: 0 goes before the oldest message, `UInt64.max` behind
  ///   the newest.
  /// - Throws: `.closed`; `.replaced` as ``next()``, if that has not said so yet.
  /// - Complexity: O(messages in the log).
  public func seek(to sequence: UInt64) throws {
    try cursor.seek(to: sequence)
  }

  /// Goes before the first message that was appended at a time or later.
  ///
  /// - Parameter date: The time. After the newest message, the reader goes behind
  ///   that, and reads what is appended later.
  /// - Throws: `.invalidArgument` if the log keeps no times, see
  ///   ``MessageLogConfiguration/keepsTimes``; else as ``seek(to:)-(UInt64)``.
  /// - Complexity: O(log messages), each step of which reads one message.
  public func seek(to date: Date) throws {
    try cursor.seek(toTime: LogTime.nanoseconds(since: date))
  }
}
