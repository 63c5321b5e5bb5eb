// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

@Suite("Queues: who may have one") struct LogQueueSharingTests {
  private let fixture: QueueFixture

  init() throws { fixture = try QueueFixture() }

  @Test func twoOfOneNameShareOneState() throws {
    let one = try fixture.queue()
    let two = try fixture.log.queue(named: "work")
    try fixture.append(1...3)
    let first = try #require(try one.poll(leaseFor: .seconds(10)))
    #expect(try two.drain() == [2, 3])
    #expect(try two.acknowledge(first))
    #expect(try one.statistics == two.statistics)
  }

  @Test func queuesOfOtherNamesGoTheirOwnWay() throws {
    let one = try fixture.queue()
    let two = try fixture.log.queue(named: "Other/ü\u{0}")
    try fixture.append(1...3)
    #expect(try one.drain() == [1, 2, 3])
    #expect(try two.drain() == [1, 2, 3])
    #expect(
      try fixture.directory.names == ["log", "log.queue-%4fther%2f%c3%bc%00", "log.queue-work"])
    let job = try fixture.log.queue(named: "third").poll(leaseFor: .seconds(1))
    #expect(errorCode { try one.acknowledge(#require(job)) } == .invalidArgument)
  }

  @Test func anotherConfigurationIsRefusedWhileItIsOpen() throws {
    let queue = try fixture.queue()
    fixture.configuration.window = 7
    #expect(errorCode { try fixture.queue() } == .configurationMismatch)
    _ = queue
  }

  @Test(arguments: [0, -1, 65_537]) func aWindowOutOfRangeIsRefused(window: Int) throws {
    fixture.configuration.window = window
    #expect(errorCode { try fixture.queue() } == .invalidArgument)
    fixture.configuration.window = 1
    fixture.configuration.maximumAttempts = 0
    #expect(errorCode { try fixture.queue() } == .invalidArgument)
  }

  @Test(arguments: ["", String(repeating: "x", count: 33)])
  func aNameOutOfRangeIsRefused(name: String) throws {
    #expect(errorCode { try fixture.log.queue(named: name) } == .invalidArgument)
    #expect(errorCode { try fixture.log.removeQueue(named: name) } == .invalidArgument)
  }

  @Test func aLeaseOfNoTimeIsRefused() async throws {
    let queue = try fixture.queue()
    try fixture.append(1...1)
    #expect(errorCode { try queue.poll(leaseFor: .zero) } == .invalidArgument)
    let job = try await queue.receive(leaseFor: .seconds(1))
    #expect(errorCode { try queue.extendLease(of: job, for: .seconds(-1)) } == .invalidArgument)
    #expect(try await queue.release(job, after: .seconds(-1)))
    #expect(try queue.drain() == [1])
  }

  @Test func aLogOpenedForReadingHasNone() throws {
    let reader = try MessageLog(readingFrom: .url(fixture.log.fileURL), coder: .string)
    #expect(errorCode { try reader.queue(named: "work") } == .readOnly)
    #expect(errorCode { try reader.removeQueue(named: "work") } == .readOnly)
  }

  @Test func anotherWriterIsRefusedAsOneOfTheLog() throws {
    let queue = try fixture.queue()
    // As another process would.
    let code = errorCode {
      try MessageLog(
        at: .url(fixture.log.fileURL), capacity: 1.megabytes, whenFull: .refuse, coder: .string)
    }
    #expect(code == .busy)
    _ = queue
  }

  @Test func aFullTableOfConsumersRefusesTheQueueAtOnce() throws {
    for number in 1...8 { _ = try fixture.log.consumer(named: "\(number)") }
    #expect(errorCode { try fixture.queue() } == .full)
    #expect(try fixture.directory.names == ["log"])
  }

  @Test func aQueueThatIsRemovedBeginsAgain() throws {
    var queue: LogQueue<String>? = try fixture.queue()
    try fixture.append(1...2)
    let job = try #require(try queue?.poll(leaseFor: .seconds(1)))
    try queue?.acknowledge(job)
    #expect(errorCode { try fixture.log.removeQueue(named: "work") } == .busy)
    queue = nil
    #expect(errorCode { try fixture.log.removeQueue(named: "work") } == .busy, "a job is left")
    withExtendedLifetime(job) {}
  }

  @Test func aQueueThatNobodyHasCanBeRemoved() throws {
    try fixture.append(1...2)
    func work() throws {
      let queue = try fixture.queue()
      try queue.acknowledge(#require(try queue.poll(leaseFor: .seconds(1))))
    }
    try work()
    #expect(try fixture.log.removeQueue(named: "work"))
    #expect(try !fixture.log.removeQueue(named: "work"))
    #expect(try fixture.directory.names == ["log"])
    #expect(try fixture.log.consumers == [:])
    #expect(try fixture.queue().drain() == [1, 2])
  }

  @Test func aLogThatIsClosedEndsItsQueues() throws {
    let queue = try fixture.queue()
    try fixture.append(1...1)
    let job = try #require(try queue.poll(leaseFor: .seconds(1)))
    try fixture.log.close()
    #expect(errorCode { try queue.poll(leaseFor: .seconds(1)) } == .closed)
    #expect(errorCode { try queue.receive(leaseFor: .seconds(1)) } == .closed)
    #expect(errorCode { try queue.acknowledge(job) } == .closed)
    #expect(errorCode { try queue.statistics } == .closed)
    #expect(errorCode { try fixture.log.queue(named: "new") } == .closed)
    #expect(filesHeld(under: fixture.directory.url) == [])
  }

  // MARK: - Suspensions

  @Test func anotherProcessGoesOnWhileTheLogIsSuspended() throws {
    let queue = try fixture.queue()
    try fixture.append(1...4)
    let one = try #require(try queue.poll(leaseFor: .seconds(10)))
    let two = try #require(try queue.poll(leaseFor: .seconds(10)))
    try queue.acknowledge(two)
    try fixture.log.suspend()
    #expect(filesHeld(under: fixture.directory.url) == [])
    #expect(errorCode { try queue.poll(leaseFor: .seconds(1)) } == .suspended)
    #expect(errorCode { try queue.acknowledge(one) } == .suspended)
    let other = try MessageLog(
      at: .url(fixture.log.fileURL), capacity: 1.megabytes, whenFull: .refuse, coder: .string)
    let theirs = try other.queue(named: "work")
    #expect(try theirs.drain() == [1, 3, 4])
    try other.close()
    try fixture.log.resume()
    // Leases end with a suspension, acknowledgements are taken.
    #expect(try queue.acknowledge(one))
    #expect(try !queue.acknowledge(one))
    #expect(try !queue.release(one))
    let job = try #require(try queue.poll(leaseFor: .seconds(10)))
    #expect(job.sequence == 3)
    #expect(job.attempts == 2)
  }

  @Test func callsThatWaitForTheResumptionGoOn() async throws {
    let queue = try fixture.queue()
    try fixture.append(1...1)
    try await fixture.log.suspend(calls: .wait)
    async let received = queue.receive(leaseFor: .seconds(1))
    async let polled = Task.detached { try queue.statistics }.value
    try await fixture.log.resume()
    #expect(try await received.sequence == 1)
    _ = try await polled
  }

  @Test func aSuspendedLogCanBeClosed() throws {
    let queue = try fixture.queue()
    try fixture.log.suspend()
    try fixture.log.close()
    #expect(errorCode { try queue.poll(leaseFor: .seconds(1)) } == .closed)
  }
}
