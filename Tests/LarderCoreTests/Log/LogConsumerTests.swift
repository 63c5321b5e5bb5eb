// SPDX-License-Identifier: MIT

import LarderCore
import LarderTestSupport
import Testing

@Suite struct LogConsumerTests {
  private let fixture: LogFixture

  init() throws { fixture = try LogFixture() }

  private func openFilled(_ count: Int = 10) throws -> MessageLog<String> {
    let log = try fixture.open(holding: 10)
    for number in 1...count { try log.append(text(number)) }
    return log
  }

  @Test func consumerGoesOnAfterARestartWhereItAcknowledged() throws {
    do {
      let log = try openFilled()
      let consumer = try log.consumer(named: "uploader")
      #expect(try consumer.acknowledged == 0)
      for number in 1...4 {
        let entry = try #require(try consumer.next())
        #expect(try entry.message == text(number))
        if number < 4 { try consumer.acknowledge(through: entry.sequence) }
      }
    }
    // The fourth was read and not acknowledged, so it comes again.
    let log = try fixture.open(holding: 10)
    let consumer = try log.consumer(named: "uploader")
    #expect(try consumer.acknowledged == 3)
    let entry = try #require(try consumer.next())
    #expect(try entry.message == text(4))
    #expect(entry.lost == 0)
  }

  @Test func consumerAtTheEndFindsWhatIsAppendedLater() throws {
    let log = try openFilled(1)
    let consumer = try log.consumer(named: "c")
    #expect(try consumer.next()?.sequence == 1)
    #expect(try consumer.next() == nil)
    try log.append(text(2))
    #expect(try consumer.next()?.sequence == 2)
  }

  @Test(arguments: [UInt64.max, UInt64.max - 1, UInt64(1) << 63])
  func anAcknowledgementThatNobodyGaveCountsAsNone(_ acknowledged: UInt64) throws {
    let writer = try openFilled()
    try writer.consumer(named: "c").acknowledge(through: 1)
    var bytes = try fixture.url.bytes()
    // The first slot's place and its complement.
    bytes.set(acknowledged, at: 360)
    bytes.set(~acknowledged, at: 368)
    try fixture.url.patch(bytes)
    let log = try fixture.reader()
    let consumer = try log.consumer(named: "c")
    #expect(try consumer.acknowledged == 0)
    #expect(try consumer.next()?.sequence == 1)
    #expect(try !log.verify().isIntact)
    _ = try consumer.follow()
  }

  @Test func consumerReadsInPortionsAndRewinds() throws {
    let log = try openFilled()
    let consumer = try log.consumer(named: "c")
    #expect(try consumer.read(upTo: 3).map(\.sequence) == [1, 2, 3])
    try consumer.acknowledge(through: 2)
    #expect(try consumer.read(upTo: 2).map(\.sequence) == [4, 5])
    consumer.rewind()
    #expect(try consumer.read(upTo: 100).map(\.sequence) == Array(3...10))
    #expect(try consumer.read(upTo: 100).isEmpty)
    #expect(try consumer.read(upTo: 0).isEmpty)
    #expect(try consumer.read(upTo: -1).isEmpty)
  }

  @Test func consumerLearnsWhatWasOverwrittenBehindItsBack() throws {
    do {
      let log = try openFilled()
      try log.consumer(named: "c").acknowledge(through: 3)
    }
    let log = try fixture.open(holding: 10)
    for number in 11...17 { try log.append(text(number)) }
    let consumer = try log.consumer(named: "c")
    let entry = try #require(try consumer.next())
    #expect(entry.sequence == 8)
    #expect(entry.lost == 4)
    #expect(try consumer.next()?.lost == 0)
  }

  /// Also if it has acknowledged nothing yet; but what was gone before it was made is not missing.
  @Test(arguments: [0, 1, 150]) func soItDoesBeforeItsFirstAcknowledgement(before: Int) throws {
    let log = try fixture.open(holding: 100)
    for number in 0..<before { try log.append(text(number + 1)) }
    let gone = max(0, before - 100)
    let consumer = try log.consumer(named: "c")
    #expect(try consumer.acknowledged == UInt64(gone))
    for number in before..<400 { try log.append(text(number + 1)) }
    for consumer in [consumer, try log.consumer(named: "c")] {
      let entry = try #require(try consumer.next())
      #expect(entry.sequence == 301 && entry.lost == 300 - UInt64(gone))
      consumer.rewind()
      #expect(try consumer.next()?.lost == 300 - UInt64(gone))
      #expect(try consumer.next()?.lost == 0)
    }
  }

  @Test func placesOnlyMoveForward() throws {
    let log = try openFilled()
    let consumer = try log.consumer(named: "c")
    try consumer.acknowledge(through: 5)
    try consumer.acknowledge(through: 2)
    #expect(try consumer.acknowledged == 5)
    let error = #expect(throws: LarderError.self) { try consumer.acknowledge(through: 11) }
    #expect(error?.code == .invalidArgument)
    #expect(
      error?.message.hasSuffix("it was not appended yet; the newest message is 10.") == true)
    #expect(try consumer.acknowledged == 5)
  }

  @Test func consumersAreListedAndForgotten() throws {
    let log = try openFilled()
    try log.consumer(named: "a").acknowledge(through: 1)
    try log.consumer(named: "größe").acknowledge(through: 2)
    #expect(try log.consumers == ["a": 1, "größe": 2])
    #expect(try log.removeConsumer(named: "a"))
    #expect(try !log.removeConsumer(named: "a"))
    #expect(try log.consumers == ["größe": 2])
    #expect(try log.consumer(named: "a").acknowledged == 0)
  }

  @Test func namesFromOneToThirtyTwoBytesAreFine() throws {
    let log = try openFilled()
    let longest = String(repeating: "n", count: 32)
    try log.consumer(named: longest).acknowledge(through: 7)
    #expect(try log.consumers == [longest: 7])
    for name in ["", longest + "n", String(repeating: "ö", count: 17)] {
      #expect(errorCode { try log.consumer(named: name) } == .invalidArgument)
      #expect(errorCode { try log.removeConsumer(named: name) } == .invalidArgument)
    }
    try log.consumer(named: "a\0b").acknowledge(through: 1)
    #expect(try log.consumer(named: "a").acknowledged == 0)
    #expect(try log.consumer(named: "a\0b").acknowledged == 1)
  }

  @Test func oneConsumerMoreThanThereAreSlotsIsFull() throws {
    let log = try openFilled()
    for number in 1...8 { try log.consumer(named: "c\(number)").acknowledge(through: 1) }
    #expect(errorCode { try log.consumer(named: "c9").acknowledge(through: 1) } == .full)
    try log.consumer(named: "c8").acknowledge(through: 2)
    try log.removeConsumer(named: "c1")
    try log.consumer(named: "c9").acknowledge(through: 1)
  }

  @Test func acknowledgedMessagesCanBeRemovedFromARefusingLog() throws {
    let log = try fixture.open(holding: 3, .refuse)
    let consumer = try log.consumer(named: "c")
    for number in 1...3 { try log.append(text(number)) }
    for number in 4...30 {
      let entry = try #require(try consumer.next())
      #expect(entry.lost == 0)
      try consumer.acknowledge(through: entry.sequence)
      #expect(try log.remove(through: consumer.acknowledged) == 1)
      #expect(try log.append(text(number)) == UInt64(number))
    }
  }

  @Test func followingBeginsBehindWhatWasAcknowledged() async throws {
    let log = try openFilled()
    let consumer = try log.consumer(named: "c")
    try consumer.acknowledge(through: 7)
    var seen: [UInt64] = []
    for try await entry in try consumer.follow() {
      seen.append(entry.sequence)
      try consumer.acknowledge(through: entry.sequence)
      if entry.sequence == 10 { break }
    }
    #expect(seen == [8, 9, 10])
    #expect(try consumer.acknowledged == 10)
  }
}
