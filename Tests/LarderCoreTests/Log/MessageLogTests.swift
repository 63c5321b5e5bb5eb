// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// What CacheAdvance's own tests say about reading, writing and emptiness, said of
/// a log.
@Suite struct MessageLogTests {
  private let fixture: LogFixture

  init() throws { fixture = try LogFixture() }

  // MARK: - Emptiness

  @Test func newLogIsEmpty() throws {
    let log = try fixture.open(holding: 3)
    #expect(try log.isEmpty)
    #expect(try log.count == 0)
  }

  @Test func logWithOneMessageIsNotEmpty() throws {
    let log = try fixture.open(holding: 3)
    try log.append(text(1))
    #expect(try !log.isEmpty)
    #expect(try log.count == 1)
  }

  @Test func logReopenedWithOneMessageIsNotEmpty() throws {
    do {
      let log = try fixture.open(holding: 3)
      try log.append(text(1))
      try log.close()
    }
    #expect(try !fixture.open(holding: 3).isEmpty)
  }

  @Test(arguments: [OverflowPolicy.overwriteOldest, .refuse])
  func fullLogIsNotEmptyAlsoAfterReopening(whenFull: OverflowPolicy) throws {
    do {
      let log = try fixture.open(holding: 3, whenFull)
      for number in 1...3 { try log.append(text(number)) }
      #expect(try !log.isEmpty)
    }
    #expect(try !fixture.open(holding: 3, whenFull).isEmpty)
  }

  @Test func emptyExistingFileBecomesALog() throws {
    try Data().write(to: fixture.url)
    let log = try fixture.open(holding: 3)
    #expect(try log.isEmpty)
    try log.append(text(1))
    #expect(try log.messages() == [text(1)])
  }

  // MARK: - Reading

  @Test(arguments: [OverflowPolicy.overwriteOldest, .refuse])
  func emptyLogHasNoMessages(whenFull: OverflowPolicy) throws {
    #expect(try fixture.open(holding: 3, whenFull).messages() == [])
  }

  @Test(arguments: [OverflowPolicy.overwriteOldest, .refuse])
  func messagesComeBackInOrderAndAsOftenAsAskedFor(whenFull: OverflowPolicy) throws {
    let log = try fixture.open(4096, whenFull)
    let messages = ["one", "", "three", "vier", "cinq", "šest"]
    for message in messages { try log.append(message) }
    #expect(try log.messages() == messages)
    #expect(try log.messages() == messages)
  }

  @Test func appendingGoesOnAfterReading() throws {
    let log = try fixture.open(holding: 10)
    try log.append(text(1))
    #expect(try log.messages() == [text(1)])
    try log.append(text(2))
    #expect(try log.messages() == texts(1...2))
  }

  @Test(arguments: [OverflowPolicy.overwriteOldest, .refuse])
  func messagesWrittenByAnotherLogAreRead(whenFull: OverflowPolicy) throws {
    do {
      let log = try fixture.open(holding: 10, whenFull)
      for number in 1...10 { try log.append(text(number)) }
    }
    let other = try fixture.open(holding: 10, whenFull)
    #expect(try other.messages() == texts(1...10))
    #expect(try fixture.reader().messages() == texts(1...10))
  }

  @Test func wrappedLogWrittenByAnotherLogIsReadAndWrittenOn() throws {
    do {
      let log = try fixture.open(holding: 10)
      for number in 1...14 { try log.append(text(number)) }
    }
    let other = try fixture.open(holding: 10)
    #expect(try other.messages() == texts(5...14))
    #expect(try other.append(text(15)) == 15)
    #expect(try other.messages() == texts(6...15))
  }

  // MARK: - Room

  @Test(arguments: [OverflowPolicy.overwriteOldest, .refuse])
  func logSizedForOneMessageHoldsIt(whenFull: OverflowPolicy) throws {
    let log = try fixture.open(holding: 1, ofSize: 100, whenFull)
    let message = String(repeating: "x", count: 100)
    try log.append(message)
    #expect(try log.messages() == [message])
  }

  @Test(arguments: [OverflowPolicy.overwriteOldest, .refuse])
  func messageOneByteTooLargeIsRefusedAndChangesNothing(whenFull: OverflowPolicy) throws {
    // 104 bytes are a multiple of 8, so nothing of them is padding.
    let log = try fixture.open(holding: 1, ofSize: 104, whenFull)
    let message = String(repeating: "x", count: 105)
    #expect(errorCode { try log.append(message) } == .tooLarge)
    #expect(try log.isEmpty)
    #expect(try log.append(String(message.dropLast())) == 1)
  }

  @Test func refusingLogKeepsWhatItHasAndTakesWhatStillFits() throws {
    let log = try fixture.open(holding: 4, .refuse)
    for number in 1...3 { try log.append(text(number)) }
    #expect(errorCode { try log.append("123456789") } == .full)
    #expect(try log.messages() == texts(1...3))
    try log.append(text(4))
    #expect(errorCode { try log.append("") } == .full)
    #expect(try log.messages() == texts(1...4))
  }

  @Test func refusingLogGoesOnAfterRemoving() throws {
    let log = try fixture.open(holding: 3, .refuse)
    for number in 1...3 { try log.append(text(number)) }
    #expect(errorCode { try log.append(text(4)) } == .full)
    #expect(try log.remove(through: 2) == 2)
    #expect(try log.append(text(4)) == 4)
    #expect(try log.messages() == texts(3...4))
  }

  @Test func shorterMessageDropsOneOldestMessage() throws {
    let log = try fixture.open(holding: 3, ofSize: 40)
    for letter in "abc" { try log.append(String(repeating: letter, count: 40)) }
    try log.append("d")
    #expect(try log.messages().map(\.first) == ["b", "c", "d"])
  }

  @Test func slightlyLongerMessageDropsTwoOldestMessages() throws {
    let log = try fixture.open(holding: 3, ofSize: 40)
    for letter in "abc" { try log.append(String(repeating: letter, count: 40)) }
    try log.append(String(repeating: "d", count: 41))
    #expect(try log.messages().map(\.first) == ["c", "d"])
  }

  @Test func fullRingOfNEqualMessagesHoldsNAfterEachAppend() throws {
    let log = try fixture.open(holding: 3)
    for number in 1...20 {
      try log.append(text(number))
      #expect(try log.messages() == texts(max(1, number - 2)...number))
      #expect(try log.verify().isIntact)
    }
  }

  @Test func whatRemainsIsAlwaysASuffixOfWhatWasAppended() throws {
    let all = (0..<60).map { String(repeating: "abcdefghij", count: $0 % 9 + 1) + String($0) }
    let total = all.reduce(0) { $0 + $1.utf8.count + 23 }
    for tenths in 10...500 {
      let fixture = try LogFixture()
      let bytes = 1024 + total * 10 / tenths
      let log = try fixture.open(bytes)
      for message in all { try log.append(message) }
      let left = try log.messages()
      #expect(left == Array(all.suffix(left.count)), "file of \(bytes) bytes")
      #expect(!left.isEmpty)
    }
  }

  @Test func numbersBeginWithOneAndAreNeverUsedTwice() throws {
    do {
      let log = try fixture.open(holding: 3)
      #expect(try log.append(text(1)) == 1)
      #expect(try log.append(text(2)) == 2)
      #expect(try log.removeAll() == 2)
      #expect(try log.isEmpty)
      #expect(try log.messages() == [])
    }
    #expect(try fixture.open(holding: 3).append(text(3)) == 3)
  }

  // MARK: - Zero-length messages

  @Test func zeroLengthMessagesAreOrdinaryMessages() throws {
    let url = fixture.url
    do {
      let log = try MessageLog<Data>(
        at: .url(url), capacity: 4096, whenFull: .overwriteOldest, coder: .data)
      try log.append(Data())
      try log.append(Data([1]))
      try log.append(contentsOf: [Data(), Data()])
    }
    let log = try MessageLog<Data>(readingFrom: .url(url), coder: .data)
    #expect(try log.messages() == [Data(), Data([1]), Data(), Data()])
    #expect(try log.verify().isIntact)
  }

  // MARK: - Closing

  @Test func everythingThrowsClosedAfterClosing() throws {
    let log = try fixture.open(holding: 3)
    try log.append(text(1))
    let reader = try log.makeReader()
    let consumer = try log.consumer(named: "c")
    try log.close()
    try log.close()
    #expect(errorCode { try log.append(text(2)) } == .closed)
    #expect(errorCode { try log.append(text(2), durability: .power) } == .closed)
    #expect(errorCode { try log.append(contentsOf: texts(1...2)) } == .closed)
    #expect(errorCode { try log.messages() } == .closed)
    #expect(errorCode { try log.isEmpty } == .closed)
    #expect(errorCode { try log.count } == .closed)
    #expect(errorCode { try log.isWritable } == .closed)
    #expect(errorCode { try log.statistics } == .closed)
    #expect(errorCode { try log.sync() } == .closed)
    #expect(errorCode { try log.verify() } == .closed)
    #expect(errorCode { try log.remove(through: 1) } == .closed)
    #expect(errorCode { try log.removeAll() } == .closed)
    #expect(errorCode { try log.follow() } == .closed)
    #expect(errorCode { try log.makeReader() } == .closed)
    #expect(errorCode { try log.consumer(named: "c") } == .closed)
    #expect(errorCode { try log.consumers } == .closed)
    #expect(errorCode { try log.forEachMessageBytes { _, _ in } } == .closed)
    #expect(errorCode { try reader.next() } == .closed)
    #expect(errorCode { try reader.previous() } == .closed)
    #expect(errorCode { try consumer.next() } == .closed)
    #expect(errorCode { try consumer.acknowledge(through: 1) } == .closed)
    let entries = Array(log.entries)
    #expect(entries.count == 1)
    #expect(errorCode { try entries.first?.message } == .closed)
  }

  @Test func closedLogLetsAnotherOneWrite() throws {
    let log = try fixture.open(holding: 3)
    try log.append(text(1))
    try log.close()
    let other = try fixture.open(holding: 3)
    try other.append(text(2))
    #expect(try other.messages() == texts(1...2))
    #expect(try other.recovery.isIntact)
  }

  @Test func abandonedLogClosesItself() throws {
    for number in 1...3 { try fixture.open(holding: 3).append(text(number)) }
    #expect(try fixture.open(holding: 3).messages() == texts(1...3))
  }
}
