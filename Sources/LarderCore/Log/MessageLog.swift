// SPDX-License-Identifier: MIT

public import Foundation
import Synchronization

/// A log of messages in one file of a fixed size, that survives `kill -9` at the
/// speed of memory.
///
/// Each message gets a number: 1 for the first, never used twice. A full log
/// either overwrites its oldest messages or refuses new ones, as you say when
/// you create it.
///
/// ```swift
/// let log = try MessageLog(
///   at: .named("events"), capacity: 1.megabytes, whenFull: .overwriteOldest, coder: .string)
/// try log.append("started")
/// for entry in log.entries {
///   print(entry.sequence, try entry.message)
/// }
/// ```
///
/// There are four ways to read: ``messages()`` gives an array, ``entries`` a lazy
/// sequence, ``follow(from:)`` an asynchronous one that goes on with what is
/// appended later, and ``consumer(named:)`` a reader that remembers its place
/// over a restart.
///
/// **Deleted and replaced files.** A log keeps the file that it opened. If that is deleted,
/// or another one gets its name, appends at `.process` go on without noticing, into a file
/// that no later opening finds. Whatever promises more throws `.replaced`: appends at
/// `.power`, `sync()`, acknowledgements, ``verify()``, `close()`, queues. A file that was
/// moved stays in use as long as nothing else is at its old path.
///
/// **Concurrency.** Safe to use from any number of threads and tasks at a time.
/// One log at a time has a file open for writing, in all processes together; a
/// second one gets `.busy`. Any number of logs made by
/// ``init(readingFrom:coder:)-(StoreLocation,_)`` read meanwhile, in this process or in others.
/// No call but those that sync the device blocks for longer than it takes to copy
/// the bytes; for tasks these have asynchronous forms, which block no thread.
///
/// **Durability.** When an append returns, its message survives the end of the
/// process, whatever ends it. After a power cut the log holds a prefix of what
/// was appended, with everything that was synced: see ``Durability``. Damage
/// costs the messages it hit, and is counted; nothing is ever wiped.
public final class MessageLog<Message: Sendable>: Sendable {
  /// The log's file, by a path from the root on.
  public var fileURL: URL { URL(fileURLWithPath: handle.opener.path, isDirectory: false) }

  let handle: RingHandle
  @usableFromInline let coder: Coder<Message>
  let durability: Durability
  let signal = ChangeSignal()
  /// Of a log that another process writes.
  let watch = LogWatch()
  let syncer = LogSyncer()
  let queues = QueueRegistry()
  let isDestroyed = Atomic(false)
  /// Why a log that was asked to write cannot: the file has other limits.
  package let mismatch: LarderError?
  /// Appends come through another log, so that ``signal`` tells nothing.
  let isReader: Bool

  /// Opens a log for reading and writing, and creates its file, and the folders above it, if they
  /// are missing, or the file is empty.
  ///
  /// The whole file is reserved on the disk when it is created, so a full disk is
  /// an error here and not later. An existing file of another capacity or policy
  /// is adapted if no message is lost by that, or what else ``MessageLogConfiguration/onMismatch``
  /// says.
  ///
  /// - Parameters:
  ///   - location: The file.
  ///   - capacity: The size of the file, which is all the log ever takes:
  ///     up to 1 TiB. See ``capacity(forMessages:ofSize:consumerSlots:keepsTimes:)``.
  ///   - whenFull: What a full log does with one more message.
  ///   - coder: Makes bytes of messages and messages of bytes.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: `.invalidArgument` (too few or too many bytes: the message says
  ///   which numbers are good), `.busy`, `.untrusted` (another user's file, see
  ///   ``MessageLogConfiguration/trustsOtherUsers``), `.configurationMismatch`
  ///   (another coder's messages, or more of them than fit), `.incompatibleVersion`,
  ///   `.notALarderFile`, `.damaged` (the file is shorter than its header says, or has other limits
  ///   and damage), `.full` (adapting would drop messages of a log that refuses), `.diskFull`,
  ///   `.io`.
  /// - Complexity: O(1) in the same start of the machine, also after a `kill`; after
  ///   a new start O(1) for a log that was closed at `.power`, else O(capacity).
  public init(
    at location: StoreLocation, capacity: DataSize, whenFull: OverflowPolicy,
    coder: Coder<Message>, configuration: MessageLogConfiguration = .init()
  ) throws {
    let path = try LogFile.path(of: location)
    let options = try LogFile.options(
      capacity: capacity, whenFull: whenFull, format: coder.format,
      configuration: configuration)
    var mismatch: LarderError?
    self.handle = try LogFile.open(
      path, options, onMismatch: configuration.onMismatch, mismatch: &mismatch)
    self.mismatch = mismatch
    self.isReader = mismatch != nil
    self.coder = coder
    self.durability = configuration.durability
  }

  /// Opens an existing log for reading only.
  ///
  /// It takes no lock, needs no permission to write, and reads what a writer in this or
  /// another process appends meanwhile. It writes nothing to the file, but for who
  /// follows it and may: that somebody waits.
  /// Capacity and policy are those of the file. If the log is resized, reading continues in
  /// its new file. If it was deleted, or another log has its name, ``messages()`` and
  /// ``entries`` throw `.replaced`; consumers, readers and followers do behind the last
  /// message.
  ///
  /// - Parameters:
  ///   - location: The file.
  ///   - coder: Makes messages of bytes.
  /// - Throws: `.io` with errno `ENOENT` if the file is missing;
  ///   `.configurationMismatch` (another coder's messages),
  ///   `.incompatibleVersion`, `.notALarderFile`, `.damaged`, `.io`.
  /// - Complexity: O(1) for a log that was closed or is being written, O(capacity)
  ///   for one that a crash left open.
  public init(readingFrom location: StoreLocation, coder: Coder<Message>) throws {
    let path = try LogFile.path(of: location)
    self.handle = try RingHandle(
      path: path,
      options: RingOptions(readOnly: true, existing: true, contentFormat: coder.format))
    self.mismatch = nil
    self.isReader = true
    self.coder = coder
    self.durability = .process
  }

  /// Whether messages can be appended.
  ///
  /// False for a log opened for reading, and for one whose file has another
  /// capacity or policy than was asked for, if it is not adapted.
  ///
  /// - Throws: `.closed`.
  /// - Complexity: O(1).
  public var isWritable: Bool {
    get throws { try !handle.statistics().isReadOnly }
  }

  /// Whether there are no messages.
  ///
  /// - Throws: `.closed`.
  /// - Complexity: O(1).
  public var isEmpty: Bool {
    get throws { try count == 0 }
  }

  /// How many messages there are.
  ///
  /// - Throws: `.closed`.
  /// - Complexity: O(1).
  public var count: Int {
    get throws { try handle.statistics().count }
  }

  /// Ends the use of the log: marks the file as closed and lets others write to it.
  ///
  /// A log of durability `.power` is synced. One of `.process` leaves that to the
  /// system, which takes half a minute or so: until then a power cut leaves a prefix
  /// of what was appended. Calls under way finish first; later ones throw `.closed`, and those who
  /// follow the log see its end. Closing twice is harmless. A log that nobody
  /// refers to any more, and no reader of which is left, closes itself.
  ///
  /// - Throws: `.io` or `.diskFull` if the sync failed; the log is closed all the
  ///   same, and holds what it would hold after a power cut. `.replaced` if something was
  ///   written and the next opening will not find it; it is closed then, too.
  /// - Complexity: At a durability of `.power` one sync of the device, for which it
  ///   blocks.
  public func close() throws {
    try closeBlocking(durability: durability)
  }

  /// Ends the use of the log, with a durability of its own.
  ///
  /// - Parameter durability: `.power` syncs everything, and then the next opening
  ///   takes O(1) in any start of the machine. `.process` leaves the sync to the
  ///   system: the next opening takes O(1) within the same boot, and O(capacity)
  ///   after a reboot.
  /// - Throws: As `close()`.
  /// - Complexity: At `.power` one sync of the device, for which it blocks.
  public func close(durability: Durability) throws {
    try closeBlocking(durability: durability)
  }

  func closeBlocking(durability: Durability) throws {
    defer { signal.notify() }
    let failure = queues.close(syncs: durability == .power)
    try handle.shutdown(syncs: durability == .power)
    if let failure { throw failure }
  }
}

extension MessageLog where Message: Codable {
  /// Opens a log of `Codable` messages for reading and writing.
  ///
  /// - Parameters:
  ///   - location: The file.
  ///   - capacity: The size of the file, which is all the log ever takes.
  ///   - whenFull: What a full log does with one more message.
  ///   - configuration: Everything else; see there for the defaults.
  /// - Throws: As ``init(at:capacity:whenFull:coder:configuration:)``.
  /// - Complexity: As ``init(at:capacity:whenFull:coder:configuration:)``.
  public convenience init(
    at location: StoreLocation, capacity: DataSize, whenFull: OverflowPolicy,
    configuration: MessageLogConfiguration = .init()
  ) throws {
    try self.init(
      at: location, capacity: capacity, whenFull: whenFull, coder: .cbor,
      configuration: configuration)
  }

  /// Opens an existing log of `Codable` messages for reading only.
  ///
  /// - Parameter location: The file.
  /// - Throws: As ``init(readingFrom:coder:)-(StoreLocation,_)``.
  /// - Complexity: As ``init(readingFrom:coder:)-(StoreLocation,_)``.
  public convenience init(readingFrom location: StoreLocation) throws {
    try self.init(readingFrom: location, coder: .cbor)
  }
}
