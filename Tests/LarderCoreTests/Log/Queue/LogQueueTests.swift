// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

@Suite("Queues") struct LogQueueTests {
  private let fixture: QueueFixture

  init() throws { fixture = try QueueFixture() }

  @Test func messagesComeInTheirOrderAndOnce() throws {
    let queue = try fixture.queue()
    #expect(try queue.poll(leaseFor: .seconds(1)) == nil)
    try fixture.append(1...3)
    for number in 1...3 {
      let job = try #require(try queue.poll(leaseFor: .seconds(1)))
      #expect(job.sequence == UInt64(number))
      #expect(job.attempts == 1)
      #expect(try job.message == "\(number)")
      #expect(try queue.acknowledge(job))
      #expect(try !queue.acknowledge(job))
    }
    #expect(try queue.poll(leaseFor: .seconds(1)) == nil)
    #expect(try fixture.log.consumers == ["work": 3])
    #expect(queue.name == "work")
  }

  @Test func aLeaseEndsAtItsEndAndNotBefore() throws {
    let queue = try fixture.queue()
    try fixture.append(1...1)
    let first = try #require(try queue.poll(leaseFor: .seconds(10)))
    fixture.time.advance(9.999)
    #expect(try queue.drain() == [])
    #expect(try queue.statistics.leased == 1)
    fixture.time.advance(0.001)
    #expect(try queue.statistics.ready == 1)
    let second = try #require(try queue.poll(leaseFor: .seconds(10)))
    #expect(second.sequence == 1)
    #expect(second.attempts == 2)
    #expect(try queue.statistics.redelivered == 1)
    // The first worker comes late. Its work counts; it cannot give back what another one has.
    #expect(try !queue.release(first))
    #expect(try !queue.extendLease(of: first, for: .seconds(99)))
    #expect(try queue.acknowledge(first))
    #expect(try !queue.acknowledge(second))
    #expect(try !queue.release(second))
    fixture.time.advance(100)
    #expect(try queue.drain() == [])
  }

  @Test func aLeaseOrADelayOfAnyLengthIsNoTrap() throws {
    let longest = Duration(attoseconds: .max)
    let queue = try fixture.queue()
    try fixture.append(1...1)
    fixture.time.advance(1)
    let job = try #require(try queue.poll(leaseFor: longest))
    #expect(try queue.extendLease(of: job, for: longest))
    #expect(try queue.release(job, after: longest))
    fixture.time.advance(1e9)
    #expect(try queue.drain() == [])
    #expect(try queue.statistics.delayed == 1)
  }

  @Test func aLeaseIsExtendedAndShortened() throws {
    let queue = try fixture.queue()
    try fixture.append(1...2)
    let long = try #require(try queue.poll(leaseFor: .seconds(10)))
    let short = try #require(try queue.poll(leaseFor: .seconds(10)))
    fixture.time.advance(9)
    #expect(try queue.extendLease(of: long, for: .seconds(10)))
    #expect(try queue.extendLease(of: short, for: .milliseconds(500)))
    fixture.time.advance(0.499)
    #expect(try queue.drain() == [])
    fixture.time.advance(0.001)
    #expect(try queue.drain(leaseFor: .seconds(1000)) == [2])
    fixture.time.advance(9.499)
    #expect(try queue.drain() == [])
    fixture.time.advance(0.001)
    #expect(try !queue.extendLease(of: long, for: .seconds(1)))
    #expect(try queue.drain() == [1])
  }

  @Test func aReleasedMessageComesBackWhenItsTimeHasCome() throws {
    let queue = try fixture.queue()
    try fixture.append(1...3)
    let one = try #require(try queue.poll(leaseFor: .seconds(60)))
    let two = try #require(try queue.poll(leaseFor: .seconds(60)))
    #expect(try queue.release(one, after: .seconds(5)))
    #expect(try !queue.release(one))
    #expect(try queue.release(two))
    // What was delivered before comes before what never was.
    #expect(try queue.drain() == [2, 3])
    #expect(try queue.statistics.delayed == 1)
    fixture.time.advance(4.999)
    #expect(try queue.drain() == [])
    fixture.time.advance(0.001)
    let again = try #require(try queue.poll(leaseFor: .seconds(60)))
    #expect(again.sequence == 1)
    #expect(again.attempts == 2)
    // A job that was given back is done all the same if its worker says so.
    #expect(try queue.acknowledge(one))
  }

  @Test func theWindowHoldsBackWhatIsTooFarAhead() throws {
    fixture.configuration.window = 4
    let queue = try fixture.queue()
    try fixture.append(1...9)
    var jobs: [LogJob<String>] = []
    while let job = try queue.poll(leaseFor: .seconds(60)) { jobs.append(job) }
    #expect(jobs.map(\.sequence) == [1, 2, 3, 4])
    for job in jobs.dropFirst() { try queue.acknowledge(job) }
    #expect(try queue.drain() == [])
    #expect(try queue.statistics.acknowledged == 0)
    #expect(try queue.statistics.ready == 5)
    try queue.acknowledge(try #require(jobs.first))
    #expect(try queue.statistics.acknowledged == 4)
    #expect(try queue.drain() == [5, 6, 7, 8])
  }

  @Test func whatWasDoneStaysSoAndTheRestComesAgain() throws {
    var queue = try fixture.queue()
    try fixture.append(1...6)
    var jobs: [LogJob<String>] = []
    for _ in 1...5 { jobs.append(try #require(try queue.poll(leaseFor: .seconds(60)))) }
    for job in jobs where job.sequence % 2 == 0 { try queue.acknowledge(job) }
    queue = try fixture.reopen()
    #expect(try queue.recovery.damagedSlots == 0)
    #expect(try queue.recovery.setAside == nil)
    #expect(try queue.statistics.ready == 4)
    let attempts = try (1...4).map { _ in
      let job = try #require(try queue.poll(leaseFor: .seconds(60)))
      return [job.sequence, UInt64(job.attempts)]
    }
    #expect(attempts == [[1, 2], [3, 2], [5, 2], [6, 1]])
    // A job belongs to the queue that gave it.
    let stale = try #require(jobs.first)
    #expect(errorCode { try queue.acknowledge(stale) } == .invalidArgument)
    #expect(errorCode { try queue.release(stale) } == .invalidArgument)
    #expect(errorCode { try queue.extendLease(of: stale, for: .seconds(1)) } == .invalidArgument)
  }

  @Test func whatIsOverwrittenIsLostUnlessItWasDelivered() throws {
    let capacity = try #require(MessageLog<String>.capacity(forMessages: 4, ofSize: 8))
    let fixture = try QueueFixture(capacity: capacity, .overwriteOldest)
    let queue = try fixture.queue()
    // A reader may have read more before it is overwritten, if there is more.
    try fixture.log.append(text(1))
    let first = try #require(try queue.poll(leaseFor: .seconds(10)))
    for number in 2...9 { try fixture.log.append(text(number)) }
    #expect(try queue.drain(leaseFor: .seconds(60)) == [6, 7, 8, 9])
    #expect(try queue.statistics.lost == 4)
    fixture.time.advance(10)
    let again = try #require(try queue.poll(leaseFor: .seconds(10)))
    #expect(again.sequence == 1)
    #expect(try again.message == first.message)
    try queue.acknowledge(again)
    // After a restart it is lost.
    for number in 10...13 { try fixture.log.append(text(number)) }
    let next = try fixture.reopen()
    #expect(try next.drain() == [10, 11, 12, 13])
    #expect(try next.statistics.lost == 4)
  }

  @Test func doneMessagesAreRemovedOnceAllAreDoneWithThem() throws {
    fixture.configuration.removesDone = true
    let queue = try fixture.queue()
    let other = try fixture.log.consumer(named: "other")
    try fixture.append(1...4)
    var jobs: [LogJob<String>] = []
    while let job = try queue.poll(leaseFor: .seconds(60)) { jobs.append(job) }
    for job in jobs.prefix(2) { try queue.acknowledge(job) }
    #expect(try fixture.log.count == 4)
    try other.acknowledge(through: 3)
    for job in jobs.dropFirst(2) { try queue.acknowledge(job) }
    #expect(try fixture.log.statistics.oldestSequence == 4)
  }

  /// Else a log that refuses would stay full: the queue has nothing left to acknowledge.
  @Test(arguments: ["consumer", "queue", "removal", "opening"])
  func doneMessagesAreRemovedWhoeverIsTheLast(last: String) throws {
    fixture.configuration.removesDone = true
    let queue = try fixture.queue()
    let other = try fixture.log.consumer(named: "other")
    let second = try last == "queue" ? fixture.log.queue(named: "second") : nil
    try fixture.append(1...4)
    while let job = try queue.poll(leaseFor: .seconds(60)) { try queue.acknowledge(job) }
    #expect(try fixture.log.count == 4)
    switch last {
    case "removal": try fixture.log.removeConsumer(named: "other")
    case "opening":
      try fixture.log.close()
      fixture.configuration.removesDone = false
      let closed = try fixture.reopen()
      try fixture.log.consumer(named: "other").acknowledge(through: 4)
      #expect(try fixture.log.count == 4)
      try fixture.log.close()
      fixture.configuration.removesDone = true
      _ = (closed, try fixture.reopen())
    default: try other.acknowledge(through: 4)
    }
    while let job = try second?.poll(leaseFor: .seconds(60)) {
      #expect(try fixture.log.count > 0)
      try second?.acknowledge(job)
    }
    #expect(try fixture.log.count == 0)
  }

  @Test func aMessageThatCannotBeDecodedIsAJobThatThrows() throws {
    try fixture.log.close()
    let bytes = try MessageLog(
      at: .url(fixture.directory.file("log")), capacity: 1.megabytes, whenFull: .refuse,
      coder: Coder<Data>(encode: { $0 }, decode: { $0 }))
    try bytes.append(Data([0xFF, 0xFE]))
    try bytes.close()
    let dead = try fixture.bury(after: 1)
    let queue = try fixture.reopen()
    let job = try #require(try queue.poll(leaseFor: .seconds(1)))
    #expect(errorCode { try job.message } == .decoding)
    #expect(try queue.release(job))
    let letter = try #require(try dead.messages().first)
    #expect(letter.sequence == 1)
    #expect(errorCode { try letter.message } == .decoding)
  }

  @Test func atPowerWhatIsAcknowledgedIsSynced() async throws {
    let fixture = try QueueFixture(durability: .power)
    try fixture.bury(after: 1, durability: .power)
    var queue = try fixture.queue()
    try fixture.append(1...4)
    let one = try await queue.receive(leaseFor: .seconds(60))
    #expect(try await queue.acknowledge(one))
    let two = try await queue.receive(leaseFor: .seconds(60))
    #expect(try await queue.release(two))
    func blocking(_ queue: LogQueue<String>) throws {
      let three = try queue.receive(leaseFor: .seconds(60))
      #expect(try queue.acknowledge(three))
    }
    try blocking(queue)
    queue = try fixture.reopen()
    #expect(try queue.drain() == [4])
  }

  /// As after a reboot: the log skips the numbers that it may have given. They were no messages.
  @Test(arguments: [true, false]) func numbersThatALogSkipsAreNoMessages(isDrained: Bool) throws {
    let original = try QueueFixture()
    let queue = try original.queue()
    try original.append(1...5)
    for _ in 1...(isDrained ? 5 : 3) {
      let job = try #require(try queue.poll(leaseFor: .seconds(60)))
      #expect(try queue.acknowledge(job))
    }
    try original.log.close()
    let folder = original.directory.file("copy")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    for file in ["log", "log.queue-work"] {
      try FileManager.default.copyItem(
        at: original.directory.file(file), to: folder.appendingPathComponent(file))
    }
    let log = try MessageLog(
      at: .url(folder.appendingPathComponent("log")), capacity: 1.megabytes, whenFull: .refuse,
      coder: .string)
    try #require(log.statistics.skipped > 0)
    // Before the queue is opened, so that the gap is not at the end.
    try log.append("6")
    let copy = try log.queue(named: "work")
    #expect(try copy.statistics.ready == (isDrained ? 1 : 3))
    try log.append("7")
    #expect(try copy.statistics.ready == (isDrained ? 2 : 4))
    while let job = try copy.poll(leaseFor: .seconds(60)) { try copy.acknowledge(job) }
    let statistics = try copy.statistics
    #expect(statistics.done == (isDrained ? 2 : 4) && statistics.lost == 0)
    #expect(statistics.ready == 0 && statistics.leased == 0)
  }
}
