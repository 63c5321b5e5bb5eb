// SPDX-License-Identifier: MIT

extension LarderError {
  /// What went wrong, for programs.
  ///
  /// A struct and not an enum, so that a later version can add codes without
  /// breaking a `switch` of yours; give every `switch` a `default`.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Value: String {
      case tooLarge, full, busy, incompatibleVersion, configurationMismatch, damaged
      case notALarderFile, readOnly, diskFull, closed, io, encoding, decoding, invalidArgument
      case conflict, remote, suspended, untrusted, duplicate, notFound
      case timedOut, replaced
    }

    private let value: Value

    private init(_ value: Value) { self.value = value }

    /// The message can never fit, however empty the log is; or a key, extended data or a
    /// batch is above its limit.
    public static let tooLarge = Code(.tooLarge)
    /// There is no room left: in a log that refuses when full, or for another
    /// named consumer.
    public static let full = Code(.full)
    /// Another writer has the file open, in this process or in another one; or a process
    /// that may only read it holds a lock on it.
    public static let busy = Code(.busy)
    /// A file or folder that was there before is not written to: another user owns it,
    /// every user may write to it, or a file has a second name, a hard link. It was left
    /// as it was.
    public static let untrusted = Code(.untrusted)
    /// The file was written by a version of Larder that this one cannot read, or the
    /// LMDB library is of a version that Larder does not work with.
    public static let incompatibleVersion = Code(.incompatibleVersion)
    /// The file exists with another capacity, policy or coder than asked for.
    public static let configurationMismatch = Code(.configurationMismatch)
    /// Bytes on disk contradict each other. Nothing was deleted; see
    /// ``MessageLog/salvage(from:to:progress:)-(StoreLocation,_,_)``, and the same of a disk cache.
    public static let damaged = Code(.damaged)
    /// The file is not empty and not one of Larder's. It was left as it was.
    public static let notALarderFile = Code(.notALarderFile)
    /// A write through something opened for reading only.
    public static let readOnly = Code(.readOnly)
    /// The disk, or the user's share of it, is full.
    public static let diskFull = Code(.diskFull)
    /// The file or folder that is open was deleted or moved, and something else has its name, or
    /// nothing: what is written to it cannot be found there again. What lies there was left as
    /// it was; open the log or store again.
    public static let replaced = Code(.replaced)
    /// Use after `close()`, or of a log inherited over `fork(2)`.
    public static let closed = Code(.closed)
    /// Use after `suspend()` and before `resume()`; or of something that a suspension
    /// interrupted, an enumeration for example: begin that again.
    public static let suspended = Code(.suspended)
    /// The system failed; see ``LarderError/errno``.
    public static let io = Code(.io)
    /// A coder could not turn a value into bytes; see ``LarderError/cause``.
    public static let encoding = Code(.encoding)
    /// A coder could not turn bytes into a value; see ``LarderError/cause``.
    public static let decoding = Code(.decoding)
    /// An argument that no call of this kind can take.
    public static let invalidArgument = Code(.invalidArgument)
    /// An entry was written meanwhile, again and again, so that what was to be based on
    /// it could not be stored.
    public static let conflict = Code(.conflict)
    /// There is one already: an element with that primary key, or with that value of a unique
    /// index.
    public static let duplicate = Code(.duplicate)
    /// There is nothing to change: no element with that primary key.
    public static let notFound = Code(.notFound)
    /// A load took longer than ``MemoryCacheConfiguration/loadTimeout``, or a server did not answer
    /// in time: whether it did what it was asked to is unknown then.
    public static let timedOut = Code(.timedOut)
    /// A remote tier failed; see ``LarderError/cause``.
    public static let remote = Code(.remote)

    /// The code's name, as in `tooLarge`.
    public var description: String { value.rawValue }
  }
}
