// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

@Suite struct LogEntriesTests {
  private let fixture: LogFixture
  private let log: MessageLog<String>

  init() throws {
    fixture = try LogFixture()
    log = try fixture.open(holding: 10)
    for number in 1...14 { try log.append(text(number)) }
  }

  @Test func entriesGoFromOldestToNewest() throws {
    #expect(log.entries.map(\.sequence) == Array(5...14))
    #expect(try log.entries.map { try $0.message } == texts(5...14))
    #expect(log.entries.allSatisfy { $0.lost == 0 && !$0.isPartial })
  }

  @Test func reversedGoesFromNewestToOldest() throws {
    #expect(log.reversed().map(\.sequence) == (5...14).reversed())
    #expect(try log.reversed().map { try $0.message } == texts(5...14).reversed())
    #expect(log.reversed().reversed().map(\.sequence) == Array(5...14))
  }

  @Test(arguments: [0, 1, 4, 5, 6, 13, 14, 15, UInt64.max])
  func entriesFromANumberBeginWithTheFirstOneThereIs(start: UInt64) throws {
    let expected = (UInt64(5)...14).filter { $0 >= start }
    #expect(log.entries(from: start).map(\.sequence) == expected)
    #expect(log.entries(from: start).reversed().map(\.sequence) == expected.reversed())
  }

  @Test func sequencesCanBeReadTwiceAndSeeWhatCameBetween() throws {
    let entries = log.entries
    #expect(entries.map(\.sequence) == Array(5...14))
    try log.append(text(15))
    #expect(entries.map(\.sequence) == Array(6...15))
  }

  @Test func passEndsWithWhatWasNewestWhenItBegan() throws {
    var seen: [UInt64] = []
    for entry in log.entries {
      seen.append(entry.sequence)
      if entry.sequence % 2 == 0 { try log.append(text(0)) }
    }
    #expect(seen.last == 14)
    #expect(seen.count <= 10)
  }

  @Test func reversedPassOverAnOverwrittenRestEnds() throws {
    var iterator = log.reversed().makeIterator()
    #expect(iterator.next()?.sequence == 14)
    for number in 15...40 { try log.append(text(number)) }
    while let entry = iterator.next() { #expect(entry.sequence < 14) }
    #expect(iterator.next() == nil)
  }

  @Test func overtakenPassCountsWhatItMissed() throws {
    // Far more than a reader copies at once.
    let fixture = try LogFixture()
    let log = try fixture.open(1 << 20)
    let message = String(repeating: "x", count: 1000)
    for _ in 0..<900 { try log.append(message) }
    let reader = try log.makeReader()
    let first = try #require(try reader.next())
    for _ in 0..<2000 { try log.append(message) }
    var last = first.sequence
    var lost: UInt64 = 0
    var read: UInt64 = 1
    while let entry = try reader.next() {
      #expect(entry.lost == entry.sequence - last - 1)
      last = entry.sequence
      lost += entry.lost
      read += 1
    }
    #expect(last == 2900)
    #expect(lost > 0)
    #expect(read + lost == 2900)
  }

  @Test func passOverAnEmptyLogEndsAtOnce() throws {
    try log.removeAll()
    #expect(Array(log.entries).isEmpty)
    #expect(Array(log.reversed()).isEmpty)
  }

  @Test func closingEndsAPassWithAnEntryThatThrows() throws {
    var iterator = log.entries.makeIterator()
    #expect(try iterator.next()?.message == text(5))
    try log.close()
    var last: LogEntry<String>?
    while let entry = iterator.next() { last = entry }
    #expect(errorCode { try last?.message } == .closed)
    #expect(iterator.next() == nil)
  }

  @Test func bytesOfMessagesAreThoseOfTheCoder() throws {
    var found: [String] = []
    try log.forEachMessageBytes(from: 12) { sequence, bytes in
      found.append("\(sequence) " + String(decoding: bytes, as: UTF8.self))
    }
    #expect(found == ["12 00000012", "13 00000013", "14 00000014"])
  }

  @Test func whatTheBodyThrowsEndsTheBytes() throws {
    struct Enough: Error {}
    var count = 0
    #expect(throws: Enough.self) {
      try log.forEachMessageBytes { _, _ in
        count += 1
        if count == 3 { throw Enough() }
      }
    }
    #expect(count == 3)
  }
}
