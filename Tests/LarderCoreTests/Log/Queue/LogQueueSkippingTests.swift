// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// What no worker can ever do does not hold back what they can.
@Suite("Queues: messages that are given up") struct LogQueueSkippingTests {
  private struct Unreadable: Error {}

  /// As after an update of a program: what begins with "old" is of a type that it has no more.
  private static let updated = Coder<String>(
    format: "", encode: { Data($0.utf8) },
    decode: { (bytes: Data) in
      let text = String(decoding: bytes, as: UTF8.self)
      if text.hasPrefix("old") { throw Unreadable() }
      return text
    })

  private let directory: TemporaryDirectory
  private let time = ManualClock()

  init() throws { directory = try TemporaryDirectory() }

  private func log(_ change: (inout LogQueueConfiguration<String>) -> Void = { _ in }) throws -> (
    log: MessageLog<String>, configuration: LogQueueConfiguration<String>
  ) {
    var configuration = LogQueueConfiguration<String>()
    configuration.clock = time.clock
    configuration.maximumAttempts = 2
    change(&configuration)
    let log = try MessageLog(
      at: .url(directory.file("log")), capacity: 1.megabytes, whenFull: .refuse,
      coder: Self.updated)
    return (log, configuration)
  }

  /// Works off what there is, gives back what cannot be read, and returns the rest.
  private func work(_ queue: LogQueue<String>) throws -> [String] {
    var done: [String] = []
    while let job = try queue.poll(leaseFor: .seconds(10)) {
      guard let message = try? job.message else {
        try queue.release(job)
        continue
      }
      done.append(message)
      try queue.acknowledge(job)
    }
    return done
  }

  @Test(arguments: [false, true])
  func moreOfThemThanTheWindowHasStopNothing(removesDone: Bool) throws {
    let (log, configuration) = try log {
      $0.window = 4
      $0.removesDone = removesDone
    }
    for number in 1...10 { try log.append("old \(number)") }
    for number in 11...12 { try log.append("new \(number)") }
    let queue = try log.queue(named: "work", configuration: configuration)
    #expect(try work(queue) == ["new 11", "new 12"])
    let statistics = try queue.statistics
    #expect(statistics.skipped == 10 && statistics.done == 2 && statistics.dead == 0)
    #expect(statistics.acknowledged == 12 && statistics.lost == 0 && statistics.ready == 0)
    #expect(try log.count == (removesDone ? 0 : 12))
  }

  @Test func itIsGivenUpWhenItsLastLeaseEnds() throws {
    let (log, configuration) = try log()
    try log.append("old")
    let queue = try log.queue(named: "work", configuration: configuration)
    for _ in 0..<2 {
      let job = try #require(try queue.poll(leaseFor: .seconds(10)))
      #expect(throws: LarderError.self) { try job.message }
      #expect(try queue.statistics.skipped == 0)
      time.advance(10)
    }
    #expect(try queue.poll(leaseFor: .seconds(10)) == nil)
    #expect(try queue.statistics.skipped == 1)
  }

  /// The next process has to see for itself that it cannot be decoded: it may be of a version that
  /// can.
  @Test func afterARestartItIsTriedOnceMore() throws {
    do {
      let (log, configuration) = try log()
      try log.append("old")
      let queue = try log.queue(named: "work", configuration: configuration)
      for _ in 0..<2 { _ = try queue.poll(leaseFor: .seconds(10)); time.advance(10) }
      try log.close()
    }
    do {
      let (log, configuration) = try log()
      let queue = try log.queue(named: "work", configuration: configuration)
      let job = try #require(try queue.poll(leaseFor: .seconds(10)))
      #expect(job.attempts == 3)
      try queue.release(job)
      #expect(try queue.poll(leaseFor: .seconds(10)) == nil)
      #expect(try queue.statistics.skipped == 1)
      try log.close()
    }
    let (log, configuration) = try log()
    let queue = try log.queue(named: "work", configuration: configuration)
    #expect(try queue.poll(leaseFor: .seconds(10)) == nil, "it stays given up")
    #expect(try queue.statistics.acknowledged == 1)
  }

  @Test func whatCanBeReadIsNeverGivenUp() throws {
    let (log, configuration) = try log()
    try log.append("new")
    let queue = try log.queue(named: "work", configuration: configuration)
    for attempt in 1...20 {
      let job = try #require(try queue.poll(leaseFor: .seconds(10)))
      #expect(job.attempts == attempt)
      try queue.release(job)
    }
    #expect(try queue.statistics.skipped == 0)
  }

  /// Its coder may lack what it needs for a while, as the key of what is encrypted.
  @Test func whatItsLastWorkerCouldReadIsNotGivenUp() throws {
    let lacksKey = Locked(true)
    let coder = Coder<String>(
      format: "", encode: { Data($0.utf8) },
      decode: { (bytes: Data) in
        if lacksKey.withLock({ $0 }) { throw Unreadable() }
        return String(decoding: bytes, as: UTF8.self)
      })
    let log = try MessageLog(
      at: .url(directory.file("log")), capacity: 1.megabytes, whenFull: .refuse, coder: coder)
    try log.append("later")
    var configuration = LogQueueConfiguration<String>()
    configuration.maximumAttempts = 2
    let queue = try log.queue(named: "work", configuration: configuration)
    try queue.release(#require(try queue.poll(leaseFor: .seconds(10))))
    lacksKey.withLock { $0 = false }
    try queue.release(#require(try queue.poll(leaseFor: .seconds(10))))
    #expect(try work(queue) == ["later"])
    #expect(try queue.statistics.skipped == 0)
  }

  private func letters(_ bytes: Int) throws -> MessageLog<DeadLetter<String>> {
    try MessageLog(
      at: .url(directory.file("dead")), capacity: DataSize(bytes: bytes),
      whenFull: .overwriteOldest,
      coder: .deadLetters(of: Self.updated))
  }

  @Test func withDeadLettersTheyGoThere() throws {
    let dead = try letters(1 << 16)
    let (log, configuration) = try log { $0.deadLetters = dead }
    for text in ["old", "new"] { try log.append(text) }
    let queue = try log.queue(named: "work", configuration: configuration)
    #expect(try work(queue) == ["new"])
    #expect(try queue.statistics.dead == 1 && queue.statistics.skipped == 0)
    #expect(try dead.messages().map(\.sequence) == [1])
  }

  @Test func aLetterThatIsTooLargeIsGivenUp() throws {
    let dead = try letters(4096)
    let (log, configuration) = try log {
      $0.deadLetters = dead
      $0.maximumAttempts = 1
    }
    try log.append(String(repeating: "x", count: 5000))
    for number in 2...4 { try log.append("new \(number)") }
    let queue = try log.queue(named: "work", configuration: configuration)
    let large = try #require(try queue.poll(leaseFor: .seconds(10)))
    #expect(try queue.release(large))
    #expect(try work(queue) == ["new 2", "new 3", "new 4"])
    let statistics = try queue.statistics
    #expect(statistics.skipped == 1 && statistics.dead == 0 && statistics.acknowledged == 4)
    #expect(try dead.isEmpty)
  }

  @Test func lettersThatCannotBeWrittenAreRefusedAtOnce() throws {
    try letters(4096).close()
    let dead = try MessageLog(
      readingFrom: .url(directory.file("dead")), coder: .deadLetters(of: Self.updated))
    let (log, configuration) = try log { $0.deadLetters = dead }
    #expect(
      errorCode { try log.queue(named: "work", configuration: configuration) } == .invalidArgument)
  }
}
