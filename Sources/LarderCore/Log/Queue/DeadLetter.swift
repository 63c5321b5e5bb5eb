// SPDX-License-Identifier: MIT

import Foundation

/// A message that a queue delivered too often, in a log of such messages.
///
/// ```swift
/// for entry in deadLetters.entries {
///   let letter = try entry.message
///   print(letter.queue, letter.sequence, letter.attempts, try letter.message)
/// }
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct DeadLetter<Message: Sendable>: Sendable {
  /// The name of the queue.
  public let queue: String
  /// The message's number in the log that it comes from.
  public let sequence: UInt64
  /// How often it was delivered.
  public let attempts: Int

  let head: DeadLetterHead
  /// As they were in the log.
  let bytes: Data
  private let result: Result<Message, any Error>

  init(_ head: DeadLetterHead, _ bytes: Data, coder: Coder<Message>) {
    queue = head.queue
    sequence = head.sequence
    attempts = Int(clamping: head.attempts)
    self.head = head
    self.bytes = bytes
    result = Result { try coder.decode(bytes) }
  }

  /// The message itself.
  ///
  /// - Throws: `.decoding` if the coder refused the bytes; its own error is the `cause`.
  /// - Complexity: O(1): it was decoded when the letter was read.
  public var message: Message {
    get throws { try result.get() }
  }
}

/// What a dead letter begins with: see "File formats".
struct DeadLetterHead: Equatable {
  let logCreated: Int64
  let sequence: UInt64
  let attempts: UInt32
  let queue: String

  var bytes: Data {
    var bytes = [UInt8](repeating: 0, count: 24)
    bytes.store(logCreated, at: 0)
    bytes.store(sequence, at: 8)
    bytes.store(attempts, at: 16)
    bytes.store(UInt32(clamping: queue.utf8.count), at: 20)
    return Data(bytes) + Data(queue.utf8)
  }

  /// nil if this is no letter.
  static func read(_ bytes: UnsafeRawBufferPointer) -> (head: DeadLetterHead, count: Int)? {
    guard bytes.count >= 24 else { return nil }
    let fixed = Array(bytes.prefix(24))
    let end = 24 + Int(clamping: fixed.load(at: 20, as: UInt32.self))
    guard end <= bytes.count else { return nil }
    let head = DeadLetterHead(
      logCreated: fixed.load(at: 0, as: Int64.self), sequence: fixed.load(at: 8, as: UInt64.self),
      attempts: fixed.load(at: 16, as: UInt32.self),
      queue: String(decoding: bytes[24..<end], as: UTF8.self))
    return (head, end)
  }
}

extension Coder {
  /// A coder for the dead-letter log of a queue, of the coder of the queue's messages.
  ///
  /// Its format is that of the messages' coder, marked with a `d`.
  ///
  /// - Parameter coder: The coder of the log that the queue is in.
  /// - Returns: A coder. A letter whose message cannot be decoded decodes all the same: the error
  ///   is thrown by ``DeadLetter/message``.
  /// - Complexity: O(1).
  public static func deadLetters<Message>(
    of coder: Coder<Message>
  ) -> Coder<DeadLetter<Message>> where Value == DeadLetter<Message> {
    Coder<DeadLetter<Message>>(
      format: CoderFormat.adding("d", to: coder.format),
      encode: { $0.head.bytes + $0.bytes },
      decode: { (data: Data) in
        let read = data.withUnsafeBytes { DeadLetterHead.read($0) }
        guard let (head, count) = read else {
          throw LarderError(.decoding, "This is not a dead letter: \(data.count) bytes.")
        }
        return DeadLetter(head, Data(data.dropFirst(count)), coder: coder)
      })
  }
}
