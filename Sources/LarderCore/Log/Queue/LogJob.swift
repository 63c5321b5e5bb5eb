// SPDX-License-Identifier: MIT

/// A message that a queue gave to a worker, for the time of its lease.
///
/// Keeps its queue open.
///
/// **Concurrency.** A value; safe to pass between threads. It stays valid when the lease has ended
/// and when the log overwrites the message or is closed.
public struct LogJob<Message: Sendable>: Sendable {
  /// The message's number in the log.
  public let sequence: UInt64

  /// How often the message was delivered, this time included: 1 for the first.
  ///
  /// Counted before it is delivered, so that a message which ends the process counts, too. A power
  /// cut or damage to the queue's file may cost counts.
  public let attempts: Int

  let token: UInt64
  /// The log that the number is of.
  let created: Int64
  let core: QueueCore<Message>
  private let result: Result<Message, any Error>

  init(_ delivery: QueueDelivery, _ core: QueueCore<Message>) {
    sequence = delivery.sequence
    attempts = Int(clamping: delivery.attempts)
    token = delivery.token
    created = delivery.created
    self.core = core
    result = Result { try core.log.coder.decode(delivery.bytes) }
    if case .failure = result { core.noteUndecodable(delivery) }
  }

  /// The message itself.
  ///
  /// - Throws: `.decoding` if the coder refused the bytes; its own error is the `cause`. Such a
  ///   message comes again, as any that is not acknowledged, until it was delivered as often as
  ///   ``LogQueueConfiguration/maximumAttempts`` allows.
  /// - Complexity: O(1): it was decoded when the message was received.
  public var message: Message {
    get throws { try result.get() }
  }
}
