// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

@Suite struct LogReaderTests {
  private let fixture: LogFixture
  private let log: MessageLog<String>

  init() throws {
    fixture = try LogFixture()
    log = try fixture.open(holding: 10)
    for number in 1...14 { try log.append(text(number)) }
  }

  @Test func readerTurnsRoundWhereItStands() throws {
    let reader = try log.makeReader()
    #expect(try reader.previous() == nil)
    #expect(try reader.next()?.sequence == 5)
    #expect(try reader.next()?.sequence == 6)
    #expect(try reader.previous()?.sequence == 6)
    #expect(try reader.previous()?.sequence == 5)
    #expect(try reader.previous() == nil)
    #expect(try reader.next()?.sequence == 5)
  }

  @Test func readerFindsNumbers() throws {
    let reader = try log.makeReader()
    for sequence in UInt64(5)...14 {
      try reader.seek(to: sequence)
      #expect(try reader.next()?.message == text(Int(sequence)))
    }
    try reader.seek(to: .max)
    #expect(try reader.next() == nil)
    #expect(try reader.previous()?.sequence == 14)
    try reader.seek(to: 0)
    #expect(try reader.next()?.sequence == 5)
  }

  @Test func readerAtTheEndFindsWhatIsAppendedLater() throws {
    let reader = try log.makeReader()
    try reader.seek(to: .max)
    #expect(try reader.next() == nil)
    try log.append(text(15))
    #expect(try reader.next()?.message == text(15))
    #expect(try reader.next() == nil)
  }

  /// Behind the last message of a lap, where a long one did not fit, lie messages
  /// of earlier laps, whole and well, and dead.
  @Test func messagesOfEarlierLapsNeverComeBackBehindALongMessage() throws {
    var random = SeededGenerator(seed: 7)
    let fixture = try LogFixture()
    let log = try MessageLog<Data>(
      at: .url(fixture.url), capacity: 1.megabytes, whenFull: .overwriteOldest, coder: .data)
    for round in 0..<60 {
      let comment: Comment = "seed \(random.seed), round \(round)"
      for _ in 0..<200 {
        try log.append(random.bytes(Int.random(in: 0...300, using: &random)))
      }
      try log.append(random.bytes(Int.random(in: 0...400_000, using: &random)))
      let statistics = try log.statistics
      let oldest = try #require(statistics.oldestSequence)
      let newest = try #require(statistics.newestSequence)
      #expect(log.reversed().map(\.sequence) == (oldest...newest).reversed(), comment)
      let reader = try log.makeReader()
      for _ in 0..<20 {
        let sequence = UInt64.random(in: oldest...newest, using: &random)
        try reader.seek(to: sequence)
        #expect(try reader.next()?.sequence == sequence, comment)
        #expect(try reader.previous()?.sequence == sequence, comment)
        let before = sequence > oldest ? sequence - 1 : nil
        #expect(try reader.previous()?.sequence == before, comment)
      }
    }
  }

  @Test func readersDoNotDisturbEachOther() throws {
    let first = try log.makeReader()
    let second = try log.makeReader()
    #expect(try first.next()?.sequence == 5)
    #expect(try first.next()?.sequence == 6)
    #expect(try second.next()?.sequence == 5)
  }
}
