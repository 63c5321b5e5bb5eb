// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport

/// A log with a queue in it, by a clock that is moved by hand.
final class QueueFixture {
  let directory: TemporaryDirectory
  let time = ManualClock()
  var configuration = LogQueueConfiguration<String>()
  private(set) var log: MessageLog<String>
  private let whenFull: OverflowPolicy
  let capacity: DataSize
  private let durability: Durability

  init(
    capacity: DataSize = 1.megabytes, _ whenFull: OverflowPolicy = .refuse,
    durability: Durability = .process
  ) throws {
    directory = try TemporaryDirectory()
    self.capacity = capacity
    self.whenFull = whenFull
    self.durability = durability
    log = try Self.open(directory, capacity, whenFull, durability)
    configuration.clock = time.clock
  }

  private static func open(
    _ directory: TemporaryDirectory, _ capacity: DataSize, _ whenFull: OverflowPolicy,
    _ durability: Durability
  ) throws -> MessageLog<String> {
    try MessageLog(
      at: .url(directory.file("log")), capacity: capacity, whenFull: whenFull,
      coder: .string,
      configuration: MessageLogConfiguration(durability: durability, syncInterval: nil))
  }

  /// The file of the queue.
  var file: URL { directory.file("log.queue-work") }

  func queue() throws -> LogQueue<String> {
    try log.queue(named: "work", configuration: configuration)
  }

  func append(_ numbers: ClosedRange<Int>) throws {
    try log.append(contentsOf: numbers.map { "\($0)" })
  }

  /// Closes the log and opens it again, as the next process does.
  func reopen() throws -> LogQueue<String> {
    try log.close()
    log = try Self.open(directory, capacity, whenFull, durability)
    return try queue()
  }

  /// Sends exhausted messages to a log of such.
  @discardableResult
  func bury(
    after attempts: Int, capacity: DataSize = 1.megabytes, durability: Durability = .process
  ) throws -> MessageLog<DeadLetter<String>> {
    let dead = try MessageLog(
      at: .url(directory.file("dead")), capacity: capacity, whenFull: .refuse,
      coder: Coder.deadLetters(of: .string),
      configuration: MessageLogConfiguration(durability: durability, syncInterval: nil))
    configuration.deadLetters = dead
    configuration.maximumAttempts = attempts
    return dead
  }
}

extension LogQueue {
  /// The numbers of all messages that can be received at present.
  func drain(leaseFor lease: Duration = .seconds(60)) throws -> [UInt64] {
    var numbers: [UInt64] = []
    while let job = try poll(leaseFor: lease) { numbers.append(job.sequence) }
    return numbers
  }
}
