// SPDX-License-Identifier: MIT

/// How to open a ``MessageLog``, beyond what every caller has to say.
///
/// ```swift
/// var configuration = MessageLogConfiguration()
/// configuration.durability = .power
/// configuration.maximumAge = .seconds(86_400)
/// let log = try MessageLog(
///   at: .url(url), capacity: 1.megabytes, whenFull: .refuse, coder: .string,
///   configuration: configuration)
/// ```
public struct MessageLogConfiguration: Sendable, Hashable {
  /// What to do with an existing file of another capacity or policy.
  public enum MismatchHandling: Sendable, Hashable {
    /// Give the file the capacity and policy that were asked for, if every message in it
    /// fits; else opening throws `.configurationMismatch`, and limits and messages are as they
    /// were.
    case adaptIfLossless

    /// Open it for reading: messages can be read, appending throws
    /// `.configurationMismatch`.
    case readOnly

    /// Give the file the capacity and policy that were asked for. The newest
    /// messages that fit are kept with their numbers; a log that refuses when
    /// full drops none and throws `.full` instead.
    case adapt
  }

  /// What an append survives, unless the call says otherwise.
  public var durability: Durability

  /// Sync in the background so that no message waits longer than this.
  ///
  /// `nil` never syncs by itself: what a power cut leaves is then up to the
  /// system. Has to be positive.
  public var syncInterval: Duration?

  /// How many named consumers a new file has room for: 0 to 1024, 64 bytes each.
  /// An existing file keeps its own number.
  public var consumerSlots: Int

  /// What to do with an existing file of another capacity or policy: adapt it if no message is
  /// lost by that, by default.
  public var onMismatch: MismatchHandling

  /// Open for writing also a file that another user owns, or that every user may
  /// write to; false by default.
  ///
  /// Whoever owns a file can read and change what is written to it, and in a folder
  /// like `/tmp` anybody can make one before you do. Root's files are always
  /// trusted, a group that may write is, too, and a file with a second name, a hard
  /// link, never.
  public var trustsOtherUsers = false

  /// Keep the time of each message, so that messages can be found by their time; false
  /// by default.
  ///
  /// Takes 8 bytes a message, and one reading of the clock for each append. The time is
  /// that of the wall clock, but never earlier than that of the newest message in the
  /// log, also after the clock was set back. See ``LogEntry/date``,
  /// ``MessageLog/entries(since:)`` and ``MessageLog/remove(before:)``.
  ///
  /// A file keeps times or not from its creation on: one that does goes on to, whatever
  /// later openings say, and earlier releases of Larder refuse it with
  /// `.incompatibleVersion`. One that does not counts as a file of another policy, see
  /// ``onMismatch``; when it is adapted, the times of its messages are unknown.
  public var keepsTimes = false

  /// Remove messages that are older than this; nil, the default, keeps them.
  ///
  /// Each append first removes what is too old by then, as
  /// ``MessageLog/remove(before:)`` does, whether or not consumers have read it: as a
  /// log that overwrites does not wait for them either. A log that nobody appends to
  /// keeps its messages. Has to be positive, and implies ``keepsTimes``.
  ///
  /// While the log is open, a clock that jumps ahead makes nothing older than it is: what
  /// counts then is a clock that nobody sets, which goes on while the machine sleeps. A message
  /// that was appended by a clock that was ahead is as old as those around it, to a
  /// thirty-second part of this age.
  public var maximumAge: Duration?

  /// What Apple's systems are told of the file: data protection, backups.
  public var files = FileAttributes()

  /// Makes a configuration.
  ///
  /// - Parameters:
  ///   - durability: What an append survives; the end of the process by default.
  ///   - syncInterval: How long a message waits for a sync in the background;
  ///     nil for ever, one second by default.
  ///   - consumerSlots: Named consumers of a new file, 8 by default.
  ///   - onMismatch: What to do with a file of another capacity or policy; by default
  ///     adapt it if no message is lost by that.
  /// - Complexity: O(1).
  public init(
    durability: Durability = .process, syncInterval: Duration? = .seconds(1),
    consumerSlots: Int = 8, onMismatch: MismatchHandling = .adaptIfLossless
  ) {
    self.durability = durability
    self.syncInterval = syncInterval
    self.consumerSlots = consumerSlots
    self.onMismatch = onMismatch
  }
}
