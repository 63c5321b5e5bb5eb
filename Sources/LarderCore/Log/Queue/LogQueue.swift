// SPDX-License-Identifier: MIT

/// A queue of a log's messages, for several workers at a time.
///
/// Receive a message, do the work, acknowledge. A message that is not acknowledged within its lease
/// is delivered again, to any worker; so is one that a worker releases.
///
/// ```swift
/// let queue = try log.queue(named: "mailer")
/// while let job = try queue.poll(leaseFor: .seconds(60)) {
///   try send(job.message)
///   try queue.acknowledge(job)
/// }
/// ```
///
/// Delivery is at least once. Messages come in their order; those that are delivered again come
/// before those that never were.
///
/// **After a kill** every message that was not acknowledged is delivered again, at once: the
/// workers that had leases are gone with the process. So repeats are bounded by the leases that
/// lasted when it was killed, and no acknowledgement that returned is forgotten. A suspension of
/// the log ends leases, too.
///
/// **Overflow.** A log that overwrites does not wait for its queues: what it overwrites before the
/// queue has read it is counted in ``LogQueueStatistics/lost``. A message that was delivered is in
/// memory until it is done, and so can be delivered again. To lose none, refuse when full and set
/// ``LogQueueConfiguration/removesDone``.
///
/// **Concurrency.** Safe to use from any number of threads and tasks. Two queues of one name share
/// one state.
///
/// **Durability.** What was acknowledged survives the end of the process. In a log of durability
/// `.power` it survives a power cut, too; in others a power cut may bring messages back.
public final class LogQueue<Message: Sendable>: Sendable {
  let core: QueueCore<Message>

  init(core: QueueCore<Message>) { self.core = core }

  /// The queue's name.
  public var name: String { core.name }

  /// Receives a message, if there is one.
  ///
  /// - Parameter lease: For how long the message is not delivered to others; more than zero.
  /// - Returns: The message; nil if there is none at present.
  /// - Throws: `.invalidArgument`, `.suspended`, `.closed`, `.io`, `.diskFull`; what the
  ///   dead-letter log refuses a letter with, other than for its size. No message is lost then.
  /// - Complexity: O(bytes of the message) and the coder's own, amortised O(log window).
  public func poll(leaseFor lease: Duration) throws -> LogJob<Message>? {
    try validate(lease)
    let delivery = try core.retrying { try core.poll(leaseFor: lease) }
    return delivery.map { LogJob($0, core) }
  }

  /// Receives a message, and blocks the thread until there is one.
  ///
  /// - Parameter lease: For how long the message is not delivered to others; more than zero.
  /// - Returns: The message.
  /// - Throws: `.closed` when the log is closed, and as ``poll(leaseFor:)``. While the log is
  ///   suspended, it waits.
  /// - Complexity: As ``poll(leaseFor:)``.
  public func receive(leaseFor lease: Duration) throws -> LogJob<Message> {
    try validate(lease)
    while true {
      switch try core.retrying(always: true, { try core.look(leaseFor: lease) }) {
      case .delivery(let delivery): return LogJob(delivery, core)
      case .nothing(let seen): core.log.signal.block { core.hasChanged(since: seen) }
      }
    }
  }

  /// Says that a message is done: it is not delivered again.
  ///
  /// Also after its lease has ended, and if another worker has it meanwhile.
  ///
  /// - Parameter job: The message.
  /// - Returns: Whether this call did it; false if the message was done before, or is in the
  ///   dead-letter log.
  /// - Throws: `.invalidArgument` for a job of another queue; `.replaced` if the log's file or
  ///   the queue's was deleted or replaced, or it is a job of the file that the log had before it
  ///   was resumed and that was gone, and then the message is not done; `.suspended`,
  ///   `.closed`, `.io`, `.diskFull`. At `.power`, a failed sync throws, and the message is done
  ///   all the same.
  /// - Complexity: O(consumer slots), amortised O(log window). At a durability of `.power` one sync
  ///   of the device, for which it blocks.
  @discardableResult
  public func acknowledge(_ job: LogJob<Message>) throws -> Bool {
    try validate(job)
    return try core.retrying { try acknowledgeBlocking(job) }
  }

  /// Gives a message back, to be delivered again.
  ///
  /// One that was delivered as often as the configuration allows goes to the dead-letter log, or is
  /// given up if it is too large for that, or cannot be decoded and there is none.
  ///
  /// - Parameters:
  ///   - job: The message.
  ///   - delay: How long to wait before; zero, the default, does not wait. Not kept over a
  ///     restart.
  /// - Returns: Whether it was given back; false if it is done, or its lease has ended.
  /// - Throws: As ``poll(leaseFor:)``; `.invalidArgument` for a job of another queue.
  /// - Complexity: O(log window).
  @discardableResult
  public func release(_ job: LogJob<Message>, after delay: Duration = .zero) throws -> Bool {
    try validate(job)
    return try core.retrying { try core.release(job, after: delay) }
  }

  /// Extends a lease, or shortens it.
  ///
  /// - Parameters:
  ///   - job: The message.
  ///   - lease: How long the lease lasts from now on; more than zero.
  /// - Returns: Whether the lease lasts; false if it had ended, or the message is done.
  /// - Throws: `.invalidArgument`, `.suspended`, `.closed`.
  /// - Complexity: O(log window).
  @discardableResult
  public func extendLease(of job: LogJob<Message>, for lease: Duration) throws -> Bool {
    try validate(lease)
    try validate(job)
    return try core.retrying { try core.extend(job, by: lease) }
  }

  /// The messages of the queue, those there are and those to come.
  ///
  /// - Parameter lease: For how long each message is not delivered to others; more than zero.
  /// - Returns: An asynchronous sequence; see ``LogJobs``.
  /// - Complexity: O(1).
  public func jobs(leaseFor lease: Duration) -> LogJobs<Message> {
    LogJobs(queue: self, lease: lease)
  }

  /// The queue's figures, all of the same moment.
  ///
  /// - Throws: `.suspended`, `.closed`.
  /// - Complexity: O(window).
  public var statistics: LogQueueStatistics {
    get throws { try core.retrying { try core.statistics() } }
  }

  /// What opening found in the queue's file.
  ///
  /// - Throws: `.suspended`, `.closed`.
  /// - Complexity: O(1).
  public var recovery: LogQueueRecovery {
    get throws { try core.retrying { try core.recovery } }
  }

  func acknowledgeBlocking(_ job: LogJob<Message>) throws -> Bool {
    let isDone = try core.acknowledge(job)
    if core.log.durability == .power { try core.sync() }
    return isDone
  }

  func validate(_ lease: Duration) throws(LarderError) {
    guard lease > .zero else {
      throw LarderError(.invalidArgument, "A lease lasts for more than zero, and not \(lease).")
    }
  }

  func validate(_ job: LogJob<Message>) throws(LarderError) {
    guard job.core === core else {
      throw LarderError(
        .invalidArgument, "Message \(job.sequence) was not received from queue \(name).")
    }
  }
}
