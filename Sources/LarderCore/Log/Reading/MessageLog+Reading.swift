// SPDX-License-Identifier: MIT

public import Foundation

extension MessageLog {
  /// All messages, the oldest first.
  ///
  /// For a log that fits into memory; ``entries`` reads one by one. Messages lost
  /// to damage are left out and counted in ``LogStatistics/lost``.
  ///
  /// - Returns: The messages; empty for an empty log.
  /// - Throws: `.decoding` for the first message that the coder refuses; of a log opened for
  ///   reading `.replaced` if it was deleted or another one has its name; `.replaced` if the log
  ///   was resumed meanwhile and its file was gone; `.closed`.
  /// - Complexity: O(bytes in the log) and the coder's own.
  @inlinable
  public func messages() throws -> [Message] {
    let (cursor, count) = try cursorOverAll()
    var messages: [Message] = []
    messages.reserveCapacity(count)
    while let raw = try cursor.next() {
      messages.append(try LogEntry(raw, coder: coder).message)
    }
    return messages
  }

  /// The messages from the oldest to the newest, read one by one.
  ///
  /// - Complexity: O(1); see ``LogEntries``.
  public var entries: LogEntries<Message> { entries(from: 0) }

  /// The messages from a number on, read one by one.
  ///
  /// - Parameter sequence: The first number to read; if that message is gone, the
  ///   next one there is. 0 begins with the oldest.
  /// - Returns: A lazy sequence; empty if there is no such message.
  /// - Complexity: O(1); see ``LogEntries``.
  public func entries(from sequence: UInt64) -> LogEntries<Message> {
    LogEntries(log: self, start: sequence, isReversed: false)
  }

  /// The messages that were appended at a time or later, the oldest first.
  ///
  /// For what fits into memory; ``entries(since:)`` reads one by one.
  ///
  /// ```swift
  /// let lastHour = try log.messages(since: Date() - 3600)
  /// ```
  ///
  /// - Parameter date: The time; messages whose time is unknown are older.
  /// - Returns: The messages; empty if there are none.
  /// - Throws: `.invalidArgument` if the log keeps no times, see
  ///   ``MessageLogConfiguration/keepsTimes``; else as ``messages()``.
  /// - Complexity: O(log messages), each step of which reads one, O(bytes of the
  ///   messages returned) and the coder's own.
  public func messages(since date: Date) throws -> [Message] {
    try entries(since: date).map { try $0.message }
  }

  /// The messages that were appended at a time or later, read one by one.
  ///
  /// - Parameter date: The time; messages whose time is unknown are older.
  /// - Returns: A lazy sequence; empty if there are no such messages. In a log that
  ///   keeps no times it gives one entry whose ``LogEntry/message`` throws
  ///   `.invalidArgument`.
  /// - Complexity: O(1); see ``LogEntries``.
  public func entries(since date: Date) -> LogEntries<Message> {
    LogEntries(
      log: self, start: 0, since: LogTime.nanoseconds(since: date), isReversed: false)
  }

  /// The messages from the newest to the oldest, read one by one.
  ///
  /// - Returns: A lazy sequence.
  /// - Complexity: O(1); see ``LogEntries``.
  public func reversed() -> LogEntries<Message> { entries.reversed() }

  /// A reader with a place of its own, that throws where a sequence cannot.
  ///
  /// - Returns: A reader that stands before the oldest message.
  /// - Throws: `.closed`, `.io` if there is not enough memory.
  /// - Complexity: O(1).
  public func makeReader() throws -> LogReader<Message> {
    LogReader(cursor: try LogCursor(handle), coder: coder)
  }

  /// Reads the bytes of messages without making messages of them.
  ///
  /// The fastest way to look at many: nothing is allocated or copied for each.
  ///
  /// ```swift
  /// var bytes = 0
  /// try log.forEachMessageBytes { _, message in bytes += message.count }
  /// ```
  ///
  /// - Parameters:
  ///   - sequence: The first number to read; 0, the default, begins with the oldest.
  ///   - body: Receives each message's number and its encoded bytes, which are
  ///     valid until it returns. What it throws ends the pass.
  /// - Throws: `.replaced` as ``messages()``, `.closed`, and what `body` throws.
  /// - Complexity: O(bytes read).
  public func forEachMessageBytes(
    from sequence: UInt64 = 0, _ body: (UInt64, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    let cursor = try cursor(from: sequence)
    while let raw = try cursor.next() { try body(raw.sequence, raw.bytes) }
  }

  /// A cursor at `sequence` that ends with the message that is the newest now.
  func cursor(from sequence: UInt64) throws(LarderError) -> LogCursor {
    try handle.refresh()
    let created = handle.opener.created
    let next = try handle.nextSequence()
    let cursor = try LogCursor(handle, ofLog: created, last: next.subtracting(clamping: 1))
    if sequence > 0 { try cursor.seek(to: sequence) }
    return cursor
  }

  func reverseCursor() throws(LarderError) -> LogCursor {
    try handle.refresh()
    let cursor = try LogCursor(handle)
    try cursor.seek(to: .max)
    return cursor
  }

  @usableFromInline
  func cursorOverAll() throws(LarderError) -> (LogCursor, count: Int) {
    try handle.refresh()
    let created = handle.opener.created
    let statistics = try handle.statistics()
    let next = statistics.nextSequence
    // A damaged count must not decide how much memory to ask for.
    let count = min(statistics.count, Int(clamping: statistics.size / 16))
    return (
      try LogCursor(handle, ofLog: created, last: next.subtracting(clamping: 1)), count
    )
  }
}
