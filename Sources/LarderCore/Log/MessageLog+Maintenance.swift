// SPDX-License-Identifier: MIT

import CLarderSystem
public import Foundation
import Synchronization

extension MessageLog {
  /// Removes the oldest messages.
  ///
  /// Their room can be used again at once, which is how a log that refuses when
  /// full goes on.
  ///
  /// - Parameter sequence: The number of the last message to remove. One beyond
  ///   the newest message removes all.
  /// - Returns: How many messages were removed.
  /// - Throws: `.readOnly`, `.configurationMismatch`, `.closed`.
  /// - Complexity: O(messages removed). Durable with the next sync.
  @discardableResult
  public func remove(through sequence: UInt64) throws -> Int {
    do {
      return Int(clamping: try handle.remove(through: sequence))
    } catch {
      throw appendFailure(error)
    }
  }

  /// Removes what every consumer and queue is done with, if an open queue is to see to that: to be
  /// called when one of them has got further, or is gone.
  func removeDone() throws(LarderError) {
    guard queues.removesDone, let through = try handle.cursors().values.min(), through > 0
    else { return }
    _ = try handle.remove(through: through)
  }

  /// Removes the messages that were appended before a time.
  ///
  /// - Parameter date: Messages of this time, and later ones, stay. Those whose time
  ///   is unknown are older than any other.
  /// - Returns: How many messages were removed.
  /// - Throws: `.invalidArgument` if the log keeps no times; else as
  ///   ``remove(through:)``.
  /// - Complexity: O(bytes removed). Durable with the next sync.
  @discardableResult
  public func remove(before date: Date) throws -> Int {
    do {
      return Int(clamping: try handle.remove(before: LogTime.nanoseconds(since: date)))
    } catch {
      throw appendFailure(error)
    }
  }

  /// Removes all messages. Numbers go on where they were.
  ///
  /// - Returns: How many messages were removed.
  /// - Throws: As ``remove(through:)``.
  /// - Complexity: O(messages). Durable with the next sync.
  @discardableResult
  public func removeAll() throws -> Int {
    try remove(through: .max)
  }

  /// Closes the log and deletes its file, and those of its queues and its identity beside it.
  ///
  /// What lies at its path once its own file was moved, deleted or replaced stays as it is. Whoever
  /// reads the log keeps what there is. Destroying twice is harmless.
  ///
  /// - Throws: `.replaced` (the file that was opened does not lie there any more), `.readOnly`,
  ///   `.suspended`, `.closed` (it was closed before, and is another's to open), and then nothing
  ///   has changed; `.io`.
  /// - Complexity: O(consumer slots).
  public func destroy() throws {
    if isDestroyed.load(ordering: .acquiring) { return }
    if isReader {
      throw LarderError(
        .readOnly, "\(fileURL.path) is not deleted: it is opened for reading only.")
    }
    let names = try handle.cursors().keys
    // The lock is held until the name is gone, so that nobody opens the file meanwhile.
    try handle.withSideFile("") { log in
      try check(larder_os_file_remove_in(log.folder, log.name), "remove \(log.path)")
      isDestroyed.store(true, ordering: .releasing)
      defer { signal.notify() }
      _ = queues.close(syncs: false)
      for name in names {
        // What is none of a queue's stays.
        _ = try? QueueFile.remove(log.beside(QueueOpening.suffix(of: name)))
      }
      IdentityFile(place: log.beside(IdentityFile.suffix), trustsOtherUsers: false).remove()
      // The file's name is gone, which is all that it has to say.
      try? handle.shutdown(syncs: false)
      try check(larder_os_folder_sync(log.folder), "sync the folder of \(log.path)")
    }
  }

  /// The log's figures, all of the same moment.
  ///
  /// - Throws: `.closed`.
  /// - Complexity: O(1); if the log keeps times, O(bytes of its oldest and its newest
  ///   message).
  public var statistics: LogStatistics {
    get throws { try handle.statistics() }
  }

  /// What opening found in the file: all zero for one that had been closed.
  ///
  /// - Throws: `.closed`.
  /// - Complexity: O(1).
  public var recovery: LogReport {
    get throws { try handle.recovery() }
  }

  /// Verifies the whole file: header, state, consumers, and every message's
  /// length, number and checksum.
  ///
  /// What a power cut took before it was synced is no damage: ``recovery`` tells of that, and so
  /// does `larder log verify`.
  ///
  /// - Returns: What was found; damage is not an error here.
  /// - Throws: `.replaced` if the file was deleted or another one has its name; `.closed`,
  ///   `.io`.
  /// - Complexity: O(capacity). Appends wait meanwhile.
  public func verify() throws -> LogReport {
    try handle.refresh()
    return try handle.verify()
  }

  /// When the log was created, which tells one log from another.
  package var created: Int64 { get throws { try handle.created() } }

  /// Copies every intact message of a file, however damaged, into a new log.
  ///
  /// Messages keep their numbers, and consumers that can be read their places. The
  /// source is only read, and should not be in use. A file that merely was not
  /// closed needs no salvage: opening it does what is needed.
  ///
  /// ```swift
  /// let report = try MessageLog<Data>.salvage(from: .url(damaged), to: .url(rescued))
  /// print(report.intact, "messages saved,", report.lost, "lost")
  /// ```
  ///
  /// - Parameters:
  ///   - source: The damaged file.
  ///   - target: The new file, which must not exist.
  ///   - progress: Receives the bytes done and their total from time to time, and
  ///     gives back whether to go on; nil, the default, if nobody wants to know.
  /// - Returns: What was found.
  /// - Throws: `.notALarderFile` if there is nothing of a log in it, `.io` with
  ///   errno `EEXIST` if the target exists, `CancellationError` if `progress` said
  ///   so, `.diskFull`, `.io`. No file is left at `target` then.
  /// - Complexity: O(size of the file).
  public static func salvage(
    from source: StoreLocation, to target: StoreLocation,
    progress: ((UInt64, UInt64) -> Bool)? = nil
  ) throws -> LogReport {
    try LogFile.salvage(
      from: try LogFile.path(of: source), to: try LogFile.path(of: target), progress: progress)
  }

  /// Gives a closed log another size, and another policy or times if wanted.
  ///
  /// Keeps the newest messages that fit, with numbers and times, and the consumers. A
  /// new file is written beside the old one, synced and renamed over it, so a
  /// crash leaves the one or the other. Whoever has the old file open for reading
  /// continues in the new one.
  ///
  /// - Parameters:
  ///   - location: The file, which nobody has open for writing.
  ///   - capacity: The size to have from now on.
  ///   - whenFull: The policy to have from now on; nil, the default, keeps it.
  ///   - consumerSlots: The consumers to have room for; nil, the default, keeps
  ///     their number.
  ///   - keepsTimes: Keep the times of messages from now on; those of messages that are
  ///     there are unknown. A log that keeps times does so with false, the default, too.
  ///   - trustsOtherUsers: As in the configuration; false by default.
  /// - Throws: `.full` if a log that refuses when full would have to drop messages
  ///   (nothing is changed then); `.busy`, `.untrusted`, `.invalidArgument`,
  ///   `.diskFull`, and as ``init(readingFrom:coder:)-(StoreLocation,_)``.
  /// - Complexity: O(size of both files). One sync of the device.
  public static func resize(
    at location: StoreLocation, to capacity: DataSize, whenFull: OverflowPolicy? = nil,
    consumerSlots: Int? = nil, keepsTimes: Bool = false, trustsOtherUsers: Bool = false
  ) throws {
    let path = try LogFile.path(of: location)
    let current = try RingHandle(path: path, options: RingOptions(readOnly: true, existing: true))
    let statistics = try current.statistics()
    let slots = try LogFile.cursorSlots(consumerSlots ?? statistics.consumerSlots)
    let keepsTimes = keepsTimes || statistics.keepsTimes
    var options = RingOptions(
      capacity: try LogFile.bytes(of: capacity, cursorSlots: slots, keepsTimes: keepsTimes),
      overwrite: (whenFull ?? statistics.whenFull) == .overwriteOldest,
      cursorSlots: slots, contentFormat: statistics.format)
    options.keepsTimes = keepsTimes
    options.trustsOtherUsers = trustsOtherUsers
    options.created = try current.created()
    try LogFile.resize(path, options)
  }

  /// The size of the file that holds exactly so many messages of one size.
  ///
  /// - Parameters:
  ///   - count: How many messages; at least 1.
  ///   - bytes: The size of each when encoded; 0 or more.
  ///   - consumerSlots: As in the configuration; 8 by default.
  ///   - keepsTimes: As in the configuration; false by default.
  /// - Returns: The capacity; nil if no log can be that large, or for
  ///   numbers that are too small.
  /// - Complexity: O(1).
  public static func capacity(
    forMessages count: Int, ofSize bytes: Int, consumerSlots: Int = 8, keepsTimes: Bool = false
  ) -> DataSize? {
    LogFile.capacity(
      count: count, bytes: bytes, consumerSlots: consumerSlots, keepsTimes: keepsTimes)
  }
}
