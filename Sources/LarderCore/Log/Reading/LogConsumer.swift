// SPDX-License-Identifier: MIT

import Synchronization

/// A reader of a log whose place is kept in the log's file.
///
/// Read, do the work, acknowledge: after a restart, however sudden, reading goes on
/// behind the last message acknowledged. So each message is seen at least once,
/// and twice only if the program ended between work and acknowledgement.
///
/// ```swift
/// let uploader = try log.consumer(named: "uploader")
/// while let entry = try uploader.next() {
///   try upload(entry.message)
///   try uploader.acknowledge(through: entry.sequence)
/// }
/// ```
///
/// A log that overwrites does not wait for its consumers: what one did not read in
/// time is counted in the ``LogEntry/lost`` of the next message it gets. To keep
/// every message until it was read, refuse when full and
/// ``MessageLog/remove(through:)`` what all consumers have acknowledged.
///
/// If the log is resumed after its file was gone, its numbers begin again. Then ``next()`` throws
/// `.replaced` once, and goes on with the first message of the new file; until it has, or
/// ``follow()`` was called, numbers are those of the old file, and ``acknowledge(through:)``
/// throws `.replaced`.
///
/// **Concurrency.** Safe to use from any number of threads; each message is given
/// to one of them. Two consumers of one name, in one process or in several, share
/// what is acknowledged but not their places.
///
/// **Durability.** What was acknowledged survives the end of the process, and a
/// power cut from the next sync on; see `MessageLog.sync()`.
public final class LogConsumer<Message: Sendable>: Sendable {
  private struct Place: ~Copyable {
    var cursor: LogCursor?
    /// The number of the message before the next one; 0 if there was none, nil if nobody knows.
    var previous: UInt64?
  }

  /// The consumer's name.
  public let name: String

  private let log: MessageLog<Message>
  private let place = Mutex(Place())
  /// The log that the numbers are of.
  private let created: Atomic<Int64>

  init(name: String, log: MessageLog<Message>, ofLog created: Int64) {
    self.name = name
    self.log = log
    self.created = Atomic(created)
  }

  /// The log that the numbers are of.
  var logCreated: Int64 { created.load(ordering: .acquiring) }

  /// The number of the last message acknowledged under this name; if none was, of the last one that
  /// had left the log when the name was new, or 0.
  ///
  /// - Throws: `.closed`.
  /// - Complexity: O(consumer slots).
  public var acknowledged: UInt64 {
    get throws { try log.handle.acknowledged(name) ?? 0 }
  }

  /// Reads the next message.
  ///
  /// The first call begins behind what was acknowledged, later ones go on from
  /// there whether or not anything was acknowledged since.
  ///
  /// - Returns: The message; nil if there is none at present.
  /// - Throws: `.closed`; of a log opened for reading `.replaced` if there is no message and
  ///   none can come, as the log was deleted or another one has its name; once `.replaced` if the
  ///   log was resumed and its file was gone. A message that cannot be decoded throws when it is
  ///   asked for, so that a consumer gets past it.
  /// - Complexity: O(bytes of the message) and the coder's own, amortised. The
  ///   first call is O(messages in the log).
  public func next() throws -> LogEntry<Message>? { try next(changesLog: true) }

  /// - Parameter changesLog: Else whoever calls next is told, too, that it is another log.
  private func next(changesLog: Bool) throws(LarderError) -> LogEntry<Message>? {
    try place.withLock { place throws(LarderError) -> LogEntry<Message>? in
      do throws(LarderError) {
        let cursor = try open(&place)
        guard let raw = try cursor.next() else { return nil }
        let entry = LogEntry(raw, coder: log.coder)
        defer { place.previous = raw.sequence }
        guard let previous = place.previous else { return entry }
        return entry.losing(raw.sequence.subtracting(clamping: previous.adding(clamping: 1)))
      } catch {
        // A log opened for reading never becomes another one.
        if error.code == .replaced, !log.isReader {
          place = Place()
          if changesLog { created.store(log.handle.opener.created, ordering: .releasing) }
        }
        throw error
      }
    }
  }

  /// Reads several messages.
  ///
  /// - Parameter count: The most to read; 0 and less give nothing.
  /// - Returns: The messages, the oldest first; fewer than `count`, possibly none,
  ///   if there are no more at present.
  /// - Throws: As ``next()``.
  /// - Complexity: As ``next()``, for each.
  public func read(upTo count: Int) throws -> [LogEntry<Message>] {
    var entries: [LogEntry<Message>] = []
    do throws(LarderError) {
      while entries.count < count, let entry = try next(changesLog: entries.isEmpty) {
        entries.append(entry)
      }
    } catch {
      // Else the next call says so again; these were read.
      if error.code != .replaced || entries.isEmpty { throw error }
    }
    return entries
  }

  /// The messages behind what was acknowledged, and those to come.
  ///
  /// Has a place of its own: it neither moves the one of ``next()`` nor is moved
  /// by it.
  ///
  /// - Returns: An asynchronous sequence; see ``MessageLogFollower``.
  /// - Throws: `.closed`.
  /// - Complexity: O(consumer slots).
  public func follow() throws -> MessageLogFollower<Message> {
    let current = log.handle.opener.created
    let acknowledged = try acknowledged
    created.store(current, ordering: .releasing)
    return try log.follow(
      from: acknowledged == 0 ? .oldest : .after(acknowledged), ofLog: current)
  }

  /// Remembers that every message up to `sequence` is done with.
  ///
  /// A place only moves forward: a smaller number than before changes nothing. The
  /// first call for a name takes one of the file's consumer slots.
  ///
  /// - Parameter sequence: The number of the last message that is done with.
  /// - Throws: `.invalidArgument` for a number that no message has got yet,
  ///   `.full` if all slots are taken, `.readOnly`, `.configurationMismatch`,
  ///   `.closed`; `.replaced` if the log's file was deleted or replaced, or was gone when the log
  ///   was resumed and the consumer has not gone on since; then nothing is acknowledged.
  /// - Complexity: O(consumer slots), and one system call.
  public func acknowledge(through sequence: UInt64) throws {
    do {
      try log.handle.acknowledge(name, through: sequence, ofLog: logCreated)
      try log.removeDone()
    } catch {
      throw log.appendFailure(error)
    }
  }

  /// Goes back to the first message that is not acknowledged.
  ///
  /// For messages that were read and could not be dealt with.
  ///
  /// - Complexity: O(1); the next read is O(messages in the log).
  public func rewind() {
    place.withLock { $0 = Place() }
  }

  private func open(_ place: inout Place) throws(LarderError) -> LogCursor {
    if let cursor = place.cursor { return cursor }
    let cursor = try LogCursor(log.handle, ofLog: logCreated)
    place.previous = try log.handle.acknowledged(name)
    if let previous = place.previous, previous > 0 {
      try cursor.seek(to: previous.adding(clamping: 1))
    }
    place.cursor = cursor
    return cursor
  }
}

extension MessageLog {
  /// A reader that remembers its place over a restart.
  ///
  /// A new name takes one of the file's consumer slots at once, so that a consumer
  /// whose place cannot be kept is refused before it has done any work. A log opened
  /// for reading has consumers too; they take no slot, and cannot acknowledge.
  ///
  /// - Parameter name: 1 to 32 bytes of UTF-8; new or used before.
  /// - Returns: A consumer that stands behind what was acknowledged under that
  ///   name, or before the oldest message.
  /// - Throws: `.invalidArgument` for a name of another length, `.full` if all slots
  ///   are taken: the message says what to do. `.replaced` for a new name if the log's file was
  ///   deleted or replaced; `.closed`.
  /// - Complexity: O(consumer slots).
  public func consumer(named name: String) throws -> LogConsumer<Message> {
    try LogFile.validate(consumer: name)
    let created = handle.opener.created
    if try handle.acknowledged(name) == nil, !isReader {
      // What is gone already, the consumer does not miss.
      let oldest = try handle.statistics().oldestSequence ?? handle.nextSequence()
      try handle.acknowledge(name, through: oldest.subtracting(clamping: 1), ofLog: created)
    }
    return LogConsumer(name: name, log: self, ofLog: created)
  }

  /// The names of all consumers that have a slot, with the number of the last message
  /// each has acknowledged, as ``LogConsumer/acknowledged``.
  ///
  /// - Throws: `.closed`.
  /// - Complexity: O(consumer slots).
  public var consumers: [String: UInt64] {
    get throws { try handle.cursors() }
  }

  /// Forgets a consumer's place and frees its slot.
  ///
  /// - Parameter name: The consumer's name.
  /// - Returns: Whether there was something to forget.
  /// - Throws: `.invalidArgument` for a name that no consumer can have,
  ///   `.readOnly`, `.configurationMismatch`, `.closed`.
  /// - Complexity: O(consumer slots).
  @discardableResult
  public func removeConsumer(named name: String) throws -> Bool {
    try LogFile.validate(consumer: name)
    do {
      let wasThere = try handle.removeCursor(name)
      if wasThere { try removeDone() }
      return wasThere
    } catch {
      throw appendFailure(error)
    }
  }
}
