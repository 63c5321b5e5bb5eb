// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

@Suite("Ring: seeking")
struct RingSeekTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("ring")
  }

  @Test(arguments: [UInt64(1), 2, 3, 4])
  func everyNumberIsFoundAndWhatLiesBeforeAndBehindIt(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let longest = [10, 100, 1000, 9000][Int(seed) % 4]
    let ring = try Ring(url, data: 40_000)
    var lengths: [Int] = []
    while lengths.reduce(0, +) < 100_000 {
      lengths.append(Int.random(in: 0...longest, using: &generator))
    }
    try ring.append(lengths: lengths.prefix(3000))
    let statistics = try ring.statistics
    try expectEveryNumber(ring, statistics.oldest_sequence...statistics.newest_sequence)
    let reader = try RingReader(ring)
    for sequence in [0, 1, statistics.oldest_sequence - 1] {
      try reader.seek(sequence)
      #expect(try reader.next()?.sequence == statistics.oldest_sequence)
      try reader.seek(sequence)
      #expect(try reader.previous() == nil)
    }
    for sequence in [statistics.next_sequence, statistics.next_sequence + 1, .max] {
      try reader.seek(sequence)
      #expect(try reader.next() == nil)
      #expect(try reader.previous()?.sequence == statistics.newest_sequence)
    }
  }

  /// The bytes that a long message passed over hold records of earlier laps, with numbers that an
  /// earlier version took for live ones.
  @Test func aLongPadHidesTheOldRecordsBehindIt() throws {
    let ring = try Ring(url, data: 131_072)
    try ring.append(lengths: repeatElement(112, count: 1824))
    try ring.append(lengths: [40_000])
    let statistics = try ring.statistics
    #expect(statistics.newest_sequence == 1825)
    try expectEveryNumber(ring, statistics.oldest_sequence...1825)
    let reader = try RingReader(ring)
    try reader.seek(.max)
    var expected: UInt64 = 1825
    while let message = try reader.previous() {
      #expect(message.sequence == expected && message.isRight)
      expected -= 1
    }
    #expect(expected == statistics.oldest_sequence - 1)
    let another = try RingReader(Ring(reading: url))
    try another.seek(.max)
    #expect(try another.previous()?.sequence == 1825)
    #expect(try another.previous()?.sequence == 1824)
  }

  @Test func theNewestIsFoundBehindAGapThatDamageLeft() throws {
    var ring = try Ring(url, data: 4096)
    try ring.append(lengths: repeatElement(16, count: 60))
    ring.close()
    // Numbers 21 to 23.
    for index in 20...22 { try url.flip(at: 832 + index * 32 + 20) }
    ring = try Ring(url)
    let reader = try RingReader(ring)
    for sequence in UInt64(21)...24 {
      try reader.seek(sequence)
      let message = try #require(try reader.next())
      #expect(message.sequence == 24 && message.lost == 0 && message.isRight)
      try reader.seek(sequence)
      #expect(try reader.previous()?.sequence == 20)
      let next = try #require(try reader.next())
      #expect(next.sequence == 20)
      #expect(try reader.next()?.lost == 3)
    }
  }

  @Test func aSeekStartsTheCountOfLostMessagesAnew() throws {
    let ring = try Ring(url, data: 1600)
    let reader = try RingReader(ring)
    try ring.append(lengths: repeatElement(64, count: 10))
    #expect(try reader.next()?.sequence == 1)
    try ring.append(lengths: repeatElement(64, count: 100))
    try reader.seek(5)
    let message = try #require(try reader.next())
    #expect(message.sequence == 91 && message.lost == 0)
  }

  @Test func aPlaceAtTheEndStaysThereForWhatComes() throws {
    let ring = try Ring(url, data: 1600)
    try ring.append(lengths: [1, 2, 3])
    let reader = try RingReader(ring)
    try reader.seek(.max)
    try ring.append(lengths: [4])
    let message = try #require(try reader.next())
    #expect(message.sequence == 4 && message.lost == 0)
  }

  private func expectEveryNumber(_ ring: Ring, _ numbers: ClosedRange<UInt64>) throws {
    let reader = try RingReader(ring)
    for sequence in numbers {
      try reader.seek(sequence)
      let message = try reader.next()
      guard message?.sequence == sequence, message?.isRight == true, message?.lost == 0 else {
        Issue.record("seek \(sequence) of \(numbers): \(String(describing: message))")
        return
      }
    }
    // Going back looks at many records at once, and so is not tried from everywhere.
    for sequence in stride(from: numbers.upperBound, through: numbers.lowerBound, by: -13) {
      try reader.seek(sequence)
      let message = try reader.previous()
      let isOldest = sequence == numbers.lowerBound
      guard message?.sequence == (isOldest ? nil : sequence - 1) else {
        Issue.record("before \(sequence) of \(numbers): \(String(describing: message))")
        return
      }
    }
  }
}
