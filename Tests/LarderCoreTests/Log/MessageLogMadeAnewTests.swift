// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import LarderCore

/// A log whose file is gone when it is resumed: another one is made, with numbers from 1 on.
@Suite("Message log: made anew")
struct MessageLogMadeAnewTests {
  /// What happens to the file.
  enum Fate: CaseIterable { case deleted, moved }

  private let fixture: LogFixture
  private let log: MessageLog<String>

  init() throws {
    fixture = try LogFixture()
    log = try fixture.open(1 << 16, .refuse)
    for number in 1...50 { try log.append("old \(number)") }
  }

  /// Suspends the log, and resumes it when its file is gone.
  private func makeAnew(_ fate: Fate = .deleted) throws {
    try log.suspend()
    let file = fixture.url
    switch fate {
    case .deleted: try FileManager.default.removeItem(at: file)
    case .moved: try FileManager.default.moveItem(at: file, to: file.appendingPathExtension("1"))
    }
    try log.resume()
    for number in 1...60 { try log.append("new \(number)") }
  }

  private var new: [String] { (1...60).map { "new \($0)" } }

  /// What a reader of any kind gives until there is nothing at present.
  private func rest(_ next: () throws -> LogEntry<String>?) throws -> [String] {
    var messages: [String] = []
    while let entry = try next() {
      #expect(entry.lost == 0)
      messages.append(try entry.message)
    }
    return messages
  }

  @Test(arguments: Fate.allCases, [0, 20, 50])
  func aReaderSaysSoOnceAndBeginsAgain(_ fate: Fate, after count: Int) throws {
    let readers = try (0..<3).map { _ in try log.makeReader() }
    for reader in readers { for _ in 0..<count { _ = try reader.next() } }
    try makeAnew(fate)
    #expect(errorCode { try readers[0].next() } == .replaced)
    #expect(errorCode { try readers[1].previous() } == .replaced)
    #expect(errorCode { try readers[2].seek(to: 30) } == .replaced)
    for reader in readers { #expect(try rest(reader.next) == new) }
    try readers[2].seek(to: 59)
    #expect(try readers[2].next()?.message == "new 59")
  }

  @Test(arguments: Fate.allCases, [0, 20, 50])
  func aConsumerSaysSoOnceAndSkipsNothing(_ fate: Fate, after count: Int) throws {
    let consumer = try log.consumer(named: "one")
    for _ in 0..<count {
      let entry = try #require(try consumer.next())
      try consumer.acknowledge(through: entry.sequence)
    }
    try makeAnew(fate)
    // The number of a message that was read before.
    #expect(errorCode { try consumer.acknowledge(through: 20) } == .replaced)
    #expect(try log.consumers == [:])
    #expect(errorCode { try consumer.next() } == .replaced)
    let messages = try rest {
      let entry = try consumer.next()
      if let entry { try consumer.acknowledge(through: entry.sequence) }
      return entry
    }
    #expect(messages == new)
    #expect(try log.consumers == ["one": 60])
  }

  @Test func whatAConsumerReadsAtOnceIsOfOneLog() throws {
    let log = log
    let consumer = try log.consumer(named: "one")
    #expect(try consumer.read(upTo: 20).count == 20)
    consumer.rewind()
    try makeAnew()
    consumer.rewind()
    #expect(errorCode { try consumer.acknowledge(through: 20) } == .replaced)
    #expect(errorCode { try consumer.read(upTo: 20) } == .replaced)
    #expect(try consumer.read(upTo: 100).map { try $0.message } == new)
  }

  @Test func whoFollowsAConsumerAgainAcknowledgesTheNewMessages() async throws {
    let consumer = try log.consumer(named: "one")
    try consumer.acknowledge(through: 10)
    var old = try consumer.follow().makeAsyncIterator()
    #expect(try await old.next()?.sequence == 11)
    try makeAnew()
    #expect(errorCode { try consumer.acknowledge(through: 11) } == .replaced)
    var iterator = try consumer.follow().makeAsyncIterator()
    #expect(try await iterator.next()?.message == "new 1")
    try consumer.acknowledge(through: 1)
    #expect(try log.consumers == ["one": 1])
  }

  @Test(arguments: [FollowStart.oldest, .newest, .after(30)], [false, true])
  func whoFollowsIsToldAndMissesNothing(_ start: FollowStart, hasBegun: Bool) async throws {
    var iterator = try log.follow(from: start).makeAsyncIterator()
    if hasBegun {
      try log.append("old 51")
      _ = try await iterator.next()
    }
    try makeAnew()
    await #expect { try await iterator.next() } throws: { $0.isReplaced }
    for message in new {
      let entry = try await iterator.next()
      #expect(try entry?.message == message && entry?.lost == 0)
    }
  }

  @Test func whoWaitsForTheNextMessageIsTold() async throws {
    let log = log
    let follower = try log.follow(from: .newest)
    let end = Task { for try await _ in follower {} }
    await until { log.signal.hasWaiters }
    try makeAnew()
    await #expect { try await end.value } throws: { $0.isReplaced }
  }

  @Test func aPassEndsAndSaysWhy() throws {
    var forwards = log.entries.makeIterator()
    var backwards = log.reversed().makeIterator()
    _ = (forwards.next(), backwards.next())
    try makeAnew()
    for entry in [forwards.next(), backwards.next()] {
      let entry = try #require(entry)
      #expect(entry.sequence == 0 && errorCode { try entry.message } == .replaced)
    }
    #expect(forwards.next() == nil && backwards.next() == nil)
  }

  @Test func aShipperDoesNotMixTwoLogs() async throws {
    let sink = ReferenceSink()
    let shipper = try LogShipper(log, consumer: "uploader", sink: sink)
    try await shipper.shipAll()
    try makeAnew()
    for _ in 1...2 {
      await #expect { try await shipper.shipAll() } throws: { $0.isReplaced }
    }
    #expect(await sink.texts == (1...50).map { "old \($0)" })
    #expect(try log.consumers == [:])
    let other = ReferenceSink()
    try await LogShipper(log, consumer: "uploader", sink: other).shipAll()
    #expect(await other.texts == new)
  }

  @Test func aJobOfTheOldLogIsNoneOfTheNewOne() throws {
    let queue = try log.queue(named: "jobs")
    let job = try #require(try queue.poll(leaseFor: .seconds(60)))
    try makeAnew()
    #expect(errorCode { try queue.acknowledge(job) } == .replaced)
    #expect(try !queue.release(job))
    let next = try #require(try queue.poll(leaseFor: .seconds(60)))
    #expect(try next.sequence == 1 && next.message == "new 1")
    #expect(errorCode { try queue.acknowledge(job) } == .replaced)
    #expect(try queue.acknowledge(next))
  }

  @Test func whatWasMovedIsSaidInItsOwnWords() throws {
    let log = log
    let file = fixture.url
    try FileManager.default.moveItem(at: file, to: file.appendingPathExtension("1"))
    try MessageLogReplacedTests.Displacement.makeOther(file)
    #expect(
      text { _ = try log.consumer(named: "one") }.hasPrefix("Could not open consumer \"one\""))
    let queue = text { _ = try log.queue(named: "jobs") }
    #expect(queue.contains("moved, deleted or replaced"))
  }

  private func text(_ body: () throws -> Void) -> String {
    do { try body() } catch let error as LarderError { return error.message } catch {}
    return ""
  }
}
