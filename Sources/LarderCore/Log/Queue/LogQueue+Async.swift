// SPDX-License-Identifier: MIT

/// The calls that wait, for tasks: they suspend, and block no thread that runs tasks.
extension LogQueue {
  /// Receives a message, and suspends until there is one.
  ///
  /// - Parameter lease: For how long the message is not delivered to others; more than zero.
  /// - Returns: The message.
  /// - Throws: `CancellationError` if the task is cancelled; `.closed` when the log is closed, and
  ///   as ``poll(leaseFor:)``. While the log is suspended, it waits.
  /// - Complexity: As ``poll(leaseFor:)``.
  public nonisolated(nonsending) func receive(
    leaseFor lease: Duration
  ) async throws -> LogJob<Message> {
    try validate(lease)
    let core = core
    while true {
      try Task.checkCancellation()
      switch try await core.retrying(always: true, { try core.look(leaseFor: lease) }) {
      case .delivery(let delivery): return LogJob(delivery, core)
      case .nothing(let seen): await core.log.signal.wait { core.hasChanged(since: seen) }
      }
    }
  }

  /// Says that a message is done: it is not delivered again.
  ///
  /// - Parameter job: The message.
  /// - Returns: Whether this call did it.
  /// - Throws: As the form that blocks.
  /// - Complexity: As the form that blocks. At a durability of `.power` one sync of the device.
  @discardableResult
  public nonisolated(nonsending) func acknowledge(
    _ job: LogJob<Message>
  ) async throws -> Bool {
    try validate(job)
    return try await core.retrying { try self.acknowledgeBlocking(job) }
  }

  /// Gives a message back, to be delivered again.
  ///
  /// - Parameters:
  ///   - job: The message.
  ///   - delay: How long to wait before; zero, the default, does not wait.
  /// - Returns: Whether it was given back; false if it is done, or its lease has ended.
  /// - Throws: As the form that blocks.
  /// - Complexity: O(log window). One sync of the device if the message goes to a dead-letter log
  ///   of durability `.power`.
  @discardableResult
  public nonisolated(nonsending) func release(
    _ job: LogJob<Message>, after delay: Duration = .zero
  ) async throws -> Bool {
    try validate(job)
    let core = core
    return try await core.retrying { try core.release(job, after: delay) }
  }
}

/// The messages of a queue, those there are and those to come.
///
/// ```swift
/// for try await job in queue.jobs(leaseFor: .seconds(60)) {
///   try await send(job.message)
///   try await queue.acknowledge(job)
/// }
/// ```
///
/// Ends when the log is closed or the task is cancelled. Leaving the loop with a job that was not
/// acknowledged leaves that to its lease.
///
/// **Concurrency.** The sequence is a value; safe to pass between tasks. Any number of tasks may
/// iterate over it: each message goes to one of them.
public struct LogJobs<Message: Sendable>: AsyncSequence, Sendable {
  /// A message with its lease.
  public typealias Element = LogJob<Message>

  let queue: LogQueue<Message>
  let lease: Duration

  /// Begins to receive.
  ///
  /// - Returns: An iterator for one worker.
  /// - Complexity: O(1).
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(queue: queue, lease: lease) }

  /// One worker's way through the queue.
  ///
  /// **Concurrency.** Belongs to one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let queue: LogQueue<Message>
    let lease: Duration

    /// Waits for the next message.
    ///
    /// - Returns: The message; nil when the log was closed or the task cancelled.
    /// - Throws: As ``LogQueue/poll(leaseFor:)``, but not `.closed`.
    /// - Complexity: As ``LogQueue/poll(leaseFor:)``.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws -> LogJob<Message>? {
      do {
        return try await queue.receive(leaseFor: lease)
      } catch let error as LarderError where error.code == .closed && queue.core.isClosed {
        return nil
      } catch is CancellationError {
        return nil
      }
    }
  }
}
