// SPDX-License-Identifier: MIT

/// Where following a log begins.
public enum FollowStart: Sendable, Hashable {
  /// With the oldest message there is.
  case oldest
  /// With the first message that is appended after the call.
  case newest
  /// With the first message whose number is greater; what is missing directly
  /// after it is counted in ``LogEntry/lost``.
  case after(UInt64)
}

/// The messages of a log, those there are and those to come.
///
/// ```swift
/// for try await entry in try log.follow(from: .newest) {
///   print(try entry.message)
/// }
/// ```
///
/// Appends are seen at once. For a log opened for reading one thread waits, however
/// many follow it, which its writer wakes. Where the file may not be written to, while
/// nobody has it open for writing, and beside a writer of a version that wakes nobody, it
/// looks every 2 ms instead, and less and less often, down to 20 times a second, while
/// nothing comes. A follower that the writer overtakes counts what it missed in
/// ``LogEntry/lost`` and goes on.
///
/// While the log is suspended the sequence waits, and continues with the next message when it is
/// resumed. It ends when the log is closed or the task is cancelled; messages not read by then
/// are not returned any more. It does not end when another process that writes the log ends,
/// because the next one may continue it. A writer that resizes the log makes another file: for a
/// log opened for reading the sequence continues in that, behind the last message it gave. If the
/// log is deleted, or another log gets its name, it gives what is left and then throws `.replaced`:
/// at once where a resize or the end of a writer wakes it, else when it looks, 20 seconds later at
/// most. Open the log again to follow the one that is there. If the log is resumed and its file was
/// gone, the sequence throws `.replaced` as well, for the numbers begin again: an iterator that is
/// asked once more goes on with the first message of the new file.
///
/// **Concurrency.** The sequence is a value; safe to pass between tasks. Each
/// iterator belongs to one task at a time, and any number may follow one log.
public struct MessageLogFollower<Message: Sendable>: AsyncSequence, Sendable {
  /// A message with its number.
  public typealias Element = LogEntry<Message>

  let log: MessageLog<Message>
  /// The first number to return; 0 begins with the oldest.
  let start: UInt64
  /// The number before the first that is known to have been there.
  let previous: UInt64?
  /// The log that the numbers are of.
  let created: Int64

  /// Begins to follow.
  ///
  /// - Returns: An iterator with a place of its own.
  /// - Complexity: O(1).
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(self)
  }

  /// One reader's way through the log.
  ///
  /// **Concurrency.** Belongs to one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let log: MessageLog<Message>
    private let start: UInt64
    private let created: Int64
    private var previous: UInt64?
    private var cursor: LogCursor?
    private var isFinished = false

    init(_ follower: MessageLogFollower) {
      log = follower.log
      start = follower.start
      created = follower.created
      previous = follower.previous
    }

    /// Waits for the next message.
    ///
    /// - Returns: The message; nil when the log was closed or the task cancelled.
    /// - Throws: `.replaced` if no message can come any more, and once if the log was resumed and
    ///   its file was gone; `.io` if the system fails.
    ///   A message that cannot be decoded throws when it is asked for, so that a follower
    ///   gets past it.
    /// - Complexity: O(bytes of the message) and the coder's own, amortised.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> LogEntry<Message>? {
      if isFinished { return nil }
      do {
        var idle = Idleness()
        let suspension = log.handle.suspension
        while !Task.isCancelled {
          let entry: LogEntry<Message>? = try await suspension.retryingWhenResumed(always: true) {
            if let entry = try step() { return entry }
            try await idle.wait(for: log)
            return nil
          }
          if let entry { return entry }
        }
      } catch let error as LarderError where error.code == .closed {
        // The end that the documentation promises.
      } catch is CancellationError {
        // Likewise.
      }
      isFinished = true
      cursor = nil
      return nil
    }

    private mutating func step() throws -> LogEntry<Message>? {
      let raw: RawEntry?
      do throws(LarderError) {
        let cursor = if let cursor { cursor } else { try makeCursor() }
        raw = try cursor.next(waits: false)
      } catch {
        // What comes next has other numbers.
        if error.code == .replaced { previous = nil }
        throw error
      }
      guard let raw else { return nil }
      var entry = LogEntry(raw, coder: log.coder)
      if let previous {
        let expected = previous.adding(clamping: 1)
        entry = entry.losing(raw.sequence.subtracting(clamping: expected))
        self.previous = nil
      }
      return entry
    }

    private mutating func makeCursor() throws(LarderError) -> LogCursor {
      let cursor = try LogCursor(log.handle, ofLog: created, waits: false)
      // Kept if it finds that it is another log, where it has a position then.
      self.cursor = cursor
      if start > 0 { try cursor.seek(to: start, waits: false) }
      return cursor
    }
  }
}

/// How a follower waits.
struct Idleness {
  private struct Seen: Equatable {
    let created: Int64
    let next: UInt64
  }

  /// The log and its next number when it was last found empty.
  private var seen: Seen?

  /// Returns when it is worth to look again.
  mutating func wait<Message>(
    for log: MessageLog<Message>, isolation: isolated (any Actor)? = #isolation
  ) async throws {
    // The number is taken before the last look, so that what is appended between
    // that look and the wait is noticed: the first time round just looks again.
    let created = log.handle.opener.created
    let next = try log.handle.nextSequence(waits: false)
    let now = Seen(created: created, next: next)
    if seen == now {
      await log.signal.wait {
        if log.isReader { log.watchWriter(from: next) }
        // A log that cannot say is closed or suspended: looking again finds that out.
        return (try? log.handle.nextSequence(waits: false)) != next
          || log.handle.opener.created != created
      }
      if log.isReader, Task.isCancelled, !log.signal.hasWaiters { log.handle.interrupt() }
    }
    seen = now
  }
}

extension MessageLog {
  /// Has the signal notified of what another process appends.
  ///
  /// - Parameter next: The next number as it was seen last.
  fileprivate func watchWriter(from next: UInt64) {
    watch.begin(signal, seen: next) { [weak self] seen, limit in
      guard
        let self,
        (try? handle.wait(after: seen.subtracting(clamping: 1), timeout: limit, waits: false))
          != nil
      else { return nil }
      return try? handle.nextSequence(waits: false)
    }
  }
}

extension MessageLog {
  /// The messages from some place on, and those to come.
  ///
  /// - Parameter start: Where to begin; with the oldest message by default. For
  ///   `.newest` that is what is appended after this call, not after the first
  ///   turn of the loop.
  /// - Returns: An asynchronous sequence; see ``MessageLogFollower``.
  /// - Throws: `.closed`.
  /// - Complexity: O(1).
  public func follow(from start: FollowStart = .oldest) throws -> MessageLogFollower<Message> {
    try follow(from: start, ofLog: handle.opener.created)
  }

  /// - Parameter created: The log that the start is of.
  func follow(
    from start: FollowStart, ofLog created: Int64
  ) throws -> MessageLogFollower<Message> {
    let next = try handle.nextSequence()
    return switch start {
    case .oldest:
      MessageLogFollower(log: self, start: 0, previous: nil, created: created)
    case .newest:
      MessageLogFollower(
        log: self, start: next, previous: next.subtracting(clamping: 1), created: created)
    case .after(let sequence):
      MessageLogFollower(
        log: self, start: sequence.adding(clamping: 1),
        previous: sequence == .max ? nil : sequence, created: created)
    }
  }
}
