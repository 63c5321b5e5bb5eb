// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

@Suite("Ring: reading")
struct RingReaderTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("ring")
  }

  // MARK: - Directions

  @Test func aReaderGoesForwardAndBackAndFindsTheSame() throws {
    let ring = try Ring(url, data: 2000)
    try ring.append(lengths: (0..<100).map { $0 * 7 % 61 })
    let reader = try RingReader(ring)
    var forward: [RingMessage] = []
    while let message = try reader.next() { forward.append(message) }
    #expect(forward.areRight && forward.last?.sequence == 100)
    #expect(forward.map(\.sequence) == Array(101 - UInt64(forward.count)...100))
    var backward: [RingMessage] = []
    while let message = try reader.previous() { backward.append(message) }
    #expect(backward == forward.reversed())
    #expect(try reader.previous() == nil)
    #expect(try reader.next() == forward.first)
    #expect(try UInt64(forward.count) == ring.statistics.count)
  }

  @Test func afterNextGaveAMessagePreviousGivesTheSame() throws {
    let ring = try Ring(url, data: 4096)
    try ring.append(lengths: 0..<20)
    let reader = try RingReader(ring)
    for sequence in 1...UInt64(20) {
      #expect(try reader.next()?.sequence == sequence)
      #expect(try reader.previous()?.sequence == sequence)
      #expect(try reader.next()?.sequence == sequence)
    }
    #expect(try reader.next() == nil)
    for sequence in (1...UInt64(20)).reversed() {
      #expect(try reader.previous()?.sequence == sequence)
      let again = try reader.next()
      #expect(again?.sequence == sequence && again?.lost == 0)
      #expect(try reader.previous()?.sequence == sequence)
    }
    #expect(try reader.previous() == nil)
  }

  @Test func aReaderAtTheEndFindsWhatIsAppendedThenInEveryWrapLayout() throws {
    for length in 0...40 {
      let ring = try Ring(directory.file("\(length)"), data: 808)
      let reader = try RingReader(ring)
      for sequence in 1...UInt64(100) {
        #expect(try reader.next() == nil)
        try ring.append(payload(sequence, length))
        let message = try reader.next()
        guard message?.sequence == sequence, message?.isRight == true, message?.lost == 0 else {
          Issue.record("length \(length): \(String(describing: message)), not \(sequence)")
          break
        }
      }
    }
  }

  @Test func anEmptiedRingHasNothingInEitherDirection() throws {
    let ring = try Ring(url, data: 512)
    let reader = try RingReader(ring)
    try ring.append(lengths: 0..<30)
    try ring.remove(through: .max)
    #expect(try reader.next() == nil)
    #expect(try reader.previous() == nil)
    try ring.append(lengths: [3])
    #expect(try reader.next()?.sequence == 31)
  }

  // MARK: - Overrun

  @Test(arguments: [UInt64(1), 2, 3, 4])
  func aReaderThatIsOvertakenSaysHowManyItMissed(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let ring = try Ring(url, data: 3000)
    let reader = try RingReader(ring)
    var last: UInt64 = 0
    var seen: UInt64 = 0
    var lost: UInt64 = 0
    for _ in 0..<300 {
      let count = Int.random(in: 0...80, using: &generator)
      try ring.append(lengths: (0..<count).map { _ in Int.random(in: 0...90, using: &generator) })
      for _ in 0..<Int.random(in: 0...60, using: &generator) {
        guard let message = try reader.next() else { break }
        guard message.isRight, message.sequence > last,
          message.lost == (last == 0 ? 0 : message.sequence - last - 1)
        else {
          Issue.record("seed \(generator.seed): \(message) after \(last)")
          return
        }
        if last == 0 { lost += message.sequence - 1 }
        last = message.sequence
        seen += 1
        lost += message.lost
      }
    }
    while let message = try reader.next() {
      seen += 1
      lost += message.lost
    }
    #expect(try seen + lost == ring.statistics.next_sequence - 1, "seed \(generator.seed)")
    #expect(lost > 0)
  }

  @Test func aReaderOfAnotherHandleThatIsOvertakenGoesOnAtTheOldest() throws {
    let ring = try Ring(url, data: 1600)
    try ring.append(lengths: repeatElement(64, count: 5))
    let reader = try RingReader(Ring(reading: url))
    #expect(try reader.next()?.sequence == 1)
    // Copied with the first, and so still there.
    try ring.append(lengths: repeatElement(64, count: 50))
    for sequence in 2...UInt64(5) { #expect(try reader.next()?.sequence == sequence) }
    let message = try #require(try reader.next())
    #expect(message.sequence == 36 && message.lost == 30 && message.isRight)
  }

  // MARK: - Long messages

  @Test func messagesLongerThanAChunkAreReadInBothDirections() throws {
    let ring = try Ring(url, data: 300_000)
    let lengths = [100_000, 3, 32_752, 32_753, 0, 70_000, 32_768, 131_072, 1, 90_000]
    try ring.append(lengths: lengths)
    for borrowing in [false, true] {
      let reader = try RingReader(ring, borrowing: borrowing)
      var forward: [RingMessage] = []
      while let message = try reader.next() { forward.append(message) }
      #expect(forward.areRight)
      #expect(forward.map(\.payload.count) == Array(lengths.suffix(forward.count)))
      #expect(forward.count >= 3)
      var backward: [RingMessage] = []
      while let message = try reader.previous() { backward.append(message) }
      #expect(backward == forward.reversed())
    }
  }

  @Test func theLongestMessageIsReadBack() throws {
    let ring = try Ring(url, data: 131_088)
    for sequence in 1...UInt64(3) {
      try ring.append(lengths: [131_072])
      #expect(try ring.messages.map(\.sequence) == [sequence])
      #expect(try ring.messages.areRight)
      let reader = try RingReader(ring)
      try reader.seek(.max)
      #expect(try reader.previous()?.isRight == true)
    }
    #expect(status { try ring.append([UInt8](repeating: 0, count: 131_073)) } == LARDER_ETOOLARGE)
  }

  // MARK: - Borrowing

  @Test func borrowedPayloadsStayWhileTheReaderGoesOn() throws {
    let ring = try Ring(url, data: 5000)
    try ring.append(lengths: (0..<300).map { $0 % 50 })
    let reader = try RingReader(ring, borrowing: true)
    var records: [larder_ring_record] = []
    while let record = try reader.nextRecord() { records.append(record) }
    #expect(try records.map(RingMessage.init) == ring.messages)
    try ring.shutdown()
    #expect(status { try reader.next() } == LARDER_ECLOSED)
    #expect(status { try reader.previous() } == LARDER_ECLOSED)
  }

  @Test func aReaderWithAFlagThatDoesNotExistIsRefused() throws {
    let ring = try Ring(url, data: 500)
    var reader: OpaquePointer?
    #expect(larder_ring_reader_open(ring.raw, 2, &reader) == LARDER_EINVALID)
    #expect(reader == nil)
  }

  // MARK: - After the shutdown

  @Test(arguments: [false, true])
  func everyCallAfterTheShutdownGivesClosed(readOnly: Bool) throws {
    let writer = try Ring(url, data: 1000)
    try writer.append(lengths: [1, 2, 3])
    let ring = readOnly ? try Ring(reading: url) : writer
    let reader = try RingReader(ring)
    try ring.shutdown()
    try ring.shutdown()
    #expect(status { try reader.seek(0) } == LARDER_ECLOSED)
    #expect(status { try reader.next() } == LARDER_ECLOSED)
    #expect(status { try reader.previous() } == LARDER_ECLOSED)
    #expect(status { try RingReader(ring) } == LARDER_ECLOSED)
    #expect(status { try ring.statistics } == LARDER_ECLOSED)
    #expect(status { try ring.recovery } == LARDER_ECLOSED)
    #expect(ring.verify().status == LARDER_ECLOSED)
    #expect(status { try ring.acknowledged("a") } == LARDER_ECLOSED)
    #expect(larder_ring_wait(ring.raw, 0, 0) == LARDER_ECLOSED)
    var count = 0
    #expect(larder_ring_cursors(ring.raw, nil, 0, &count) == LARDER_ECLOSED)
    if readOnly { return }
    #expect(status { try ring.append([1]) } == LARDER_ECLOSED)
    #expect(larder_ring_append_batch(ring.raw, nil, 0, nil, nil) == LARDER_ECLOSED)
    var reservation = larder_reservation()
    #expect(larder_ring_reserve(ring.raw, 1, &reservation) == LARDER_ECLOSED)
    #expect(status { try ring.remove(through: 1) } == LARDER_ECLOSED)
    #expect(status { try ring.sync() } == LARDER_ECLOSED)
    #expect(larder_ring_sync_through(ring.raw, 1) == LARDER_ECLOSED)
    #expect(larder_ring_append_synced(ring.raw, nil, 0, nil) == LARDER_ECLOSED)
    #expect(status { try ring.acknowledge("a", 1) } == LARDER_ECLOSED)
    #expect(status { try ring.removeCursor("a") } == LARDER_ECLOSED)
    #expect(try Ring(url).sequences == [1, 2, 3])
  }
}
