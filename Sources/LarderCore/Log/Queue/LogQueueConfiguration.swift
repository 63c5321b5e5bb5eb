// SPDX-License-Identifier: MIT

import Foundation

/// How a ``LogQueue`` works, beyond what every caller has to say.
///
/// ```swift
/// var configuration = LogQueueConfiguration<Mail>()
/// configuration.deadLetters = try MessageLog(
///   at: .url(deadURL), capacity: 1.megabytes, whenFull: .overwriteOldest,
///   coder: .deadLetters(of: .cbor))
/// configuration.maximumAttempts = 3
/// let queue = try log.queue(named: "mailer", configuration: configuration)
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct LogQueueConfiguration<Message: Sendable>: Sendable {
  /// How far a message may be ahead of the oldest one that is not done: 1 to 65,536.
  ///
  /// What is farther ahead is not delivered until that one is done. It bounds what the queue
  /// has in memory, the size of its file, which has 16 bytes for each, and what can be delivered
  /// again if the file is damaged. An existing file keeps its own number.
  public var window = 1024

  /// Where messages go that were delivered too often; nil, the default, delivers them again and
  /// again, but for those that cannot be decoded: they are given up, and counted in
  /// ``LogQueueStatistics/skipped``. So are those that are too large for that log.
  ///
  /// Several queues may share one log. As long as it refuses a letter because it is full, or is
  /// suspended or closed, receiving throws that error: no message is dropped.
  public var deadLetters: MessageLog<DeadLetter<Message>>?

  /// How often a message is delivered before it goes to ``deadLetters``, or is given up if it
  /// cannot be decoded, at least 1; 5 by default.
  public var maximumAttempts = 5

  /// Whether messages that are done are removed from the log, so that one that refuses when full
  /// goes on; false by default.
  ///
  /// A message is removed when it and all before it are done for every consumer and queue of the
  /// log, whoever is the last, as long as a queue that says so is open.
  public var removesDone = false

  /// What leases and delays are measured by; the system's by default. A clock that is moved by hand
  /// needs a `sleep` of its own, or waiting calls wait for the system's.
  public var clock = CacheClock.system

  /// Makes a configuration.
  ///
  /// - Complexity: O(1).
  public init() {}

  func validate() throws(LarderError) {
    guard QueueHeader.windows.contains(window) else {
      throw LarderError(
        .invalidArgument,
        "A queue has a window from 1 to \(QueueHeader.windows.upperBound), and not \(window).")
    }
    guard maximumAttempts >= 1 else {
      throw LarderError(
        .invalidArgument, "A queue makes at least 1 attempt, and not \(maximumAttempts).")
    }
    if let deadLetters, deadLetters.isReader {
      throw LarderError(
        .invalidArgument,
        "The dead-letter log at \(deadLetters.fileURL.path) is opened for reading.")
    }
  }

  /// Whether two queues of one name may be opened so.
  func agrees(with other: LogQueueConfiguration) -> Bool {
    window == other.window && deadLetters === other.deadLetters
      && maximumAttempts == other.maximumAttempts && removesDone == other.removesDone
  }
}
