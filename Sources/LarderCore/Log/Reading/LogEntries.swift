// SPDX-License-Identifier: MIT

/// The messages of a log, read one by one as they are asked for.
///
/// ```swift
/// for entry in log.entries {
///   if entry.lost > 0 { print(entry.lost, "messages are missing here") }
///   print(entry.sequence, try entry.message)
/// }
/// let lastThree = log.reversed().prefix(3)
/// ```
///
/// A pass begins with the first message at or after the number it was made for,
/// and ends with what was the newest one when it began; messages overwritten
/// meanwhile are counted in the ``LogEntry/lost`` of the next one. A sequence
/// cannot throw: a message that cannot be decoded is an entry whose
/// ``LogEntry/message`` throws, and a log that cannot be read any further, closed
/// for example, gives one last such entry, with the number 0.
///
/// **Concurrency.** The sequence is a value; safe to pass between threads. Each
/// iterator belongs to one thread at a time.
public struct LogEntries<Message: Sendable>: Sequence, Sendable {
  let log: MessageLog<Message>
  let start: UInt64
  /// Not 0: the first time to read instead, in nanoseconds since 1970.
  var since: Int64 = 0
  let isReversed: Bool

  /// Begins a pass.
  ///
  /// - Returns: An iterator with a place of its own.
  /// - Complexity: O(1) from the oldest or newest message, else O(log messages).
  public func makeIterator() -> Iterator {
    do {
      let start = since > 0 ? try log.handle.firstSequence(since: since) : start
      return Iterator(
        cursor: try isReversed ? log.reverseCursor() : log.cursor(from: start),
        coder: log.coder, end: isReversed ? start : nil)
    } catch {
      return Iterator(failure: error, coder: log.coder)
    }
  }

  /// The same messages from the newest to the oldest, just as lazily.
  ///
  /// - Returns: A sequence of the same messages the other way round.
  /// - Complexity: O(1).
  public func reversed() -> LogEntries {
    LogEntries(log: log, start: start, since: since, isReversed: !isReversed)
  }

  /// One pass over a log's messages.
  ///
  /// **Concurrency.** Belongs to one thread at a time.
  public struct Iterator: IteratorProtocol {
    @usableFromInline let cursor: LogCursor?
    @usableFromInline let coder: Coder<Message>
    /// Backwards: where to stop. Forwards: nil.
    @usableFromInline let end: UInt64?
    /// What to end with.
    @usableFromInline var failure: (any Error)?
    @usableFromInline var isFinished = false

    init(cursor: LogCursor, coder: Coder<Message>, end: UInt64?) {
      self.cursor = cursor
      self.coder = coder
      self.end = end
    }

    init(failure: any Error, coder: Coder<Message>) {
      self.cursor = nil
      self.coder = coder
      self.end = nil
      self.failure = failure
    }

    /// Reads the next message.
    ///
    /// - Returns: The message with its number; nil at the end.
    /// - Complexity: O(bytes of the message) and the coder's own, amortised.
    @inlinable
    public mutating func next() -> LogEntry<Message>? {
      if isFinished { return nil }
      do {
        if let cursor {
          if let end {
            if let raw = try cursor.previous(), raw.sequence >= end {
              return LogEntry(raw, coder: coder)
            }
          } else if let raw = try cursor.next() {
            return LogEntry(raw, coder: coder)
          }
        }
      } catch {
        failure = error
      }
      return finish()
    }

    @usableFromInline
    mutating func finish() -> LogEntry<Message>? {
      isFinished = true
      guard let failure else { return nil }
      return LogEntry(
        sequence: 0, lost: 0, isPartial: false, time: 0, result: .failure(failure))
    }
  }
}
