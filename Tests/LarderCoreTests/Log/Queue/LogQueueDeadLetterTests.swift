// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

@Suite("Queues: dead letters") struct LogQueueDeadLetterTests {
  private let fixture: QueueFixture

  init() throws { fixture = try QueueFixture() }

  @Test func aMessageDiesWithItsLastAttempt() throws {
    let dead = try fixture.bury(after: 3)
    let queue = try fixture.queue()
    try fixture.append(1...2)
    for attempt in 1...3 {
      #expect(try dead.isEmpty)
      let job = try #require(try queue.poll(leaseFor: .seconds(10)))
      #expect(job.sequence == 1)
      #expect(job.attempts == attempt)
      // Given back, or by the end of its lease.
      if attempt == 2 { fixture.time.advance(10) } else { try queue.release(job) }
    }
    let letter = try #require(try dead.messages().first)
    #expect(letter.sequence == 1)
    #expect(letter.attempts == 3)
    #expect(letter.queue == "work")
    #expect(try letter.message == "1")
    #expect(try queue.drain() == [2])
    #expect(try queue.statistics.dead == 1)
    #expect(try queue.statistics.acknowledged == 1)
  }

  @Test func aMessageWhoseLastLeaseEndsDiesThen() throws {
    let dead = try fixture.bury(after: 1)
    let queue = try fixture.queue()
    try fixture.append(1...1)
    let job = try #require(try queue.poll(leaseFor: .seconds(10)))
    fixture.time.advance(9.999)
    #expect(try queue.drain() == [])
    #expect(try dead.isEmpty)
    fixture.time.advance(0.001)
    #expect(try queue.drain() == [])
    #expect(try dead.messages().map(\.sequence) == [1])
    #expect(try !queue.acknowledge(job))
    #expect(try !queue.release(job))
  }

  @Test func attemptsCountOverTheEndOfTheProcess() throws {
    let dead = try fixture.bury(after: 3)
    var queue = try fixture.queue()
    try fixture.append(1...1)
    for attempt in 1...3 {
      let job = try #require(try queue.poll(leaseFor: .seconds(10)))
      #expect(job.attempts == attempt)
      queue = try fixture.reopen()
    }
    #expect(try queue.drain() == [])
    #expect(try dead.messages().map(\.attempts) == [3])
  }

  @Test func aLetterWhoseSlotWasNotWrittenIsNotWrittenAgain() throws {
    let dead = try fixture.bury(after: 1)
    let queue = try fixture.queue()
    try fixture.append(1...3)
    let one = try #require(try queue.poll(leaseFor: .seconds(10)))
    let two = try #require(try queue.poll(leaseFor: .seconds(10)))
    // As a kill between the two steps leaves it.
    let before = try fixture.file.bytes()
    try queue.release(two)
    try fixture.file.patch(before)
    let again = try fixture.reopen()
    // The first one was leased, and dies for that; the second one is dead already.
    #expect(try again.drain() == [3])
    #expect(try dead.messages().map(\.sequence) == [2, 1])
    withExtendedLifetime(one) {}
  }

  @Test func aFullLogOfLettersLosesNothing() throws {
    let capacity = try #require(MessageLog<Data>.capacity(forMessages: 1, ofSize: 29))
    let dead = try fixture.bury(after: 1, capacity: capacity)
    let queue = try fixture.queue()
    try fixture.append(1...2)
    let one = try #require(try queue.poll(leaseFor: .seconds(10)))
    let two = try #require(try queue.poll(leaseFor: .seconds(10)))
    #expect(try queue.release(one))
    #expect(errorCode { try queue.release(two) } == .full)
    #expect(errorCode { try queue.poll(leaseFor: .seconds(1)) } == .full)
    #expect(try queue.statistics.acknowledged == 1)
    try dead.removeAll()
    #expect(try queue.drain() == [])
    #expect(try dead.messages().map(\.sequence) == [2])
    // One that is suspended is not waited for.
    try fixture.append(3...3)
    let three = try #require(try queue.poll(leaseFor: .seconds(10)))
    try dead.suspend(calls: .wait)
    #expect(errorCode { try queue.release(three) } == .suspended)
    try dead.resume()
    try dead.removeAll()
    #expect(try queue.drain() == [])
    #expect(try dead.messages().map(\.sequence) == [3])
    let fresh = try fixture.log.queue(named: "fresh", configuration: fixture.configuration)
    #expect(try fresh.drain() == [1, 2, 3])
  }

  @Test func letterCodersRoundTripAndRefuseOtherBytes() throws {
    let coder = Coder.deadLetters(of: .string)
    #expect(coder.format == "utf8+d")
    #expect(errorCode { try coder.decode(Data([1, 2, 3])) } == .decoding)
    var bytes = Data(count: 24)
    bytes[20] = 1
    #expect(errorCode { try coder.decode(bytes) } == .decoding)
    bytes.append(contentsOf: "qwords".utf8)
    let letter = try coder.decode(bytes)
    #expect(letter.queue == "q")
    #expect(try letter.message == "words")
    #expect(try coder.encode(letter) == bytes)
  }
}
