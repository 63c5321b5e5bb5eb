// SPDX-License-Identifier: MIT

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

  @Test func readersDoNotDisturbEachOther() throws {
    let first = try log.makeReader()
    let second = try log.makeReader()
    #expect(try first.next()?.sequence == 5)
    #expect(try first.next()?.sequence == 6)
    #expect(try second.next()?.sequence == 5)
  }
}
