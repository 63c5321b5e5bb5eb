// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

@Suite("Ring: appending")
struct RingAppendTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("ring")
  }

  // MARK: - Capacity

  @Test(arguments: 0...40)
  func aRingMadeForNEqualMessagesHoldsExactlyNInEveryWrapLayout(length: Int) throws {
    for count in 1...12 {
      let bytes = larder_ring_capacity_for(UInt64(count), length, 0)
      let url = directory.file("overwriting-\(count)")
      let ring = try Ring(url) { options in
        options.capacity_bytes = bytes
        options.flags = UInt32(LARDER_RING_OVERWRITE)
        options.cursor_slots = 0
      }
      #expect(try ring.statistics.capacity_bytes == bytes)
      for sequence in 1...UInt64(3 * count + 1) {
        try ring.append(payload(sequence, length))
        let oldest = sequence > UInt64(count) ? sequence - UInt64(count) + 1 : 1
        let messages = try ring.messages
        guard messages.map(\.sequence) == Array(oldest...sequence), messages.areRight
        else {
          Issue.record("\(count) messages of \(length) bytes after \(sequence): \(messages)")
          return
        }
      }
      #expect(ring.isSound, "\(count) messages of \(length) bytes")
    }
  }

  @Test(arguments: [0, 1, 7, 8, 9, 40])
  func aRefusingRingHasRoomForExactlyAsManyAsWereRemoved(length: Int) throws {
    for count in 1...8 {
      let ring = try Ring(
        directory.file("\(count)"), data: UInt64(count * recordBytes(length)),
        overwrite: false)
      try ring.append(lengths: repeatElement(length, count: count))
      for removed in Array(1...count) + Array(1...count).reversed() {
        #expect(status { try ring.append(length: length) } == LARDER_EFULL)
        let oldest = try ring.statistics.oldest_sequence
        #expect(try ring.remove(through: oldest + UInt64(removed) - 1) == UInt64(removed))
        try ring.append(lengths: repeatElement(length, count: removed))
        #expect(try ring.messages.areRight)
        #expect(try ring.statistics.count == UInt64(count))
      }
      #expect(status { try ring.append(length: length) } == LARDER_EFULL)
      #expect(ring.isSound)
    }
  }

  @Test(arguments: [UInt32(0), 1, 8, 1024])
  func aCapacityBelowTheMinimumIsRefusedAndTheMinimumHoldsOneEmptyMessage(slots: UInt32) throws {
    let minimum = larder_ring_minimum_capacity(slots)
    for bytes in [1, 63, 64, 256, minimum - 1] {
      var detail = larder_ring_detail()
      let result = status {
        try Ring(url, detail: &detail) { options in
          options.capacity_bytes = bytes
          options.cursor_slots = slots
        }
      }
      #expect(result == LARDER_EINVALID, "\(bytes)")
      #expect(detail.capacity_bytes == minimum)
      #expect(!FileManager.default.fileExists(atPath: url.path))
    }
    let ring = try Ring(url, data: 16, overwrite: false, slots: slots)
    #expect(status { try ring.append([1]) } == LARDER_ETOOLARGE)
    #expect(try ring.append([]) == 1)
    #expect(status { try ring.append([]) } == LARDER_EFULL)
    #expect(try ring.sequences == [1])
  }

  @Test func aMissingFileNeedsACapacity() {
    #expect(status { try Ring(url) } == Int(ENOENT))
    #expect(!FileManager.default.fileExists(atPath: url.path))
  }

  @Test func capacitiesBeyondTheLimitsDoNotExist() {
    #expect(larder_ring_capacity_for(0, 10, 8) == 0)
    #expect(larder_ring_capacity_for(1, 0x7FFF_F001, 8) == 0)
    #expect(larder_ring_capacity_for(1, 10, 1025) == 0)
    #expect(larder_ring_capacity_for(.max, 0, 0) == 0)
    #expect(larder_ring_capacity_for(1 << 36, 0, 0) == 0)
    #expect(status { try Ring(url) { $0.capacity_bytes = (1 << 40) + 1 } } == LARDER_EINVALID)
    #expect(
      status {
        try Ring(url) { options in
          options.capacity_bytes = 1 << 20
          options.cursor_slots = 1025
        }
      } == LARDER_EINVALID)
  }

  // MARK: - Refusing and overwriting

  @Test(arguments: [false, true])
  func aMessageThatCanNeverFitIsTooLargeAndChangesNothing(overwrite: Bool) throws {
    let ring = try Ring(url, data: 128, overwrite: overwrite)
    try ring.append(lengths: [10, 20])
    let before = try url.bytes()
    for length in [113, 128, 1000] {
      #expect(status { try ring.append(length: length) } == LARDER_ETOOLARGE)
    }
    #expect(try url.bytes() == before)
    try ring.remove(through: .max)
    #expect(try ring.append(length: 112) == 3)
    #expect(try ring.messages.map(\.payload) == [payload(3, 112)])
  }

  @Test func aFullRingThatRefusesIsUnchangedAndTakesASmallerMessage() throws {
    let ring = try Ring(url, data: 80, overwrite: false)
    try ring.append(lengths: [24])
    let before = try url.bytes()
    #expect(status { try ring.append(length: 25) } == LARDER_EFULL)
    #expect(try url.bytes() == before)
    #expect(try ring.append(length: 8) == 2)
    #expect(status { try ring.append(length: 1) } == LARDER_EFULL)
    #expect(try ring.append(length: 0) == 3)
    #expect(try ring.sequences == [1, 2, 3])
    #expect(ring.isSound)
  }

  @Test func anEmptiedRefusingRingTakesTheLongestMessageWhereverItStopped() throws {
    for count in 0...12 {
      let ring = try Ring(directory.file("\(count)"), data: 200, overwrite: false)
      try ring.append(lengths: repeatElement(0, count: count))
      #expect(try ring.remove(through: .max) == UInt64(count))
      #expect(try ring.append(length: 184) == UInt64(count) + 1)
      #expect(try ring.messages.map(\.isRight) == [true])
      #expect(ring.isSound)
    }
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func overwritingDropsAsFewOfTheOldestAsItCan(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let ring = try Ring(url, data: 1016)
    var model = BoundedLogModel(dataBytes: 1016, overwrites: true)
    for sequence in 1...UInt64(1000) {
      let length = Int.random(in: 0...(sequence % 50 == 0 ? 1000 : 90), using: &generator)
      let message = payload(sequence, length)
      #expect(model.append(Data(message)) == .appended(try ring.append(message)))
      let statistics = try ring.statistics
      guard statistics.oldest_sequence == model.records.first?.sequence,
        statistics.count == UInt64(model.records.count), statistics.used_bytes == model.size
      else {
        Issue.record("seed \(generator.seed), message \(sequence): \(statistics)")
        return
      }
    }
    #expect(try ring.messages.map { Data($0.payload) } == model.records.map(\.message))
    #expect(try ring.statistics.overwritten == model.overwritten)
    #expect(ring.isSound)
  }

  // MARK: - Messages

  @Test func emptyMessagesAreMessages() throws {
    let ring = try Ring(url, data: 256)
    var sequence: UInt64 = 0
    try check(larder_ring_append(ring.raw, nil, 0, &sequence))
    try check(larder_ring_append(ring.raw, nil, 0, nil))
    #expect(sequence == 1)
    #expect(try ring.messages.map(\.payload) == [[], []])
    #expect(try ring.statistics.used_bytes == 32)
  }

  @Test func theMarkOfAPartialMessageIsKeptOverReopening() throws {
    var ring = try Ring(url, data: 256)
    try ring.append([1])
    let flags = UInt32(LARDER_MESSAGE_PARTIAL)
    try [UInt8]([2, 3]).withUnsafeBytes { bytes in
      let payload = larder_bytes(data: bytes.baseAddress, length: bytes.count)
      let messages = [larder_message(payload: payload, flags: flags)]
      try check(larder_ring_append_batch(ring.raw, messages, 1, nil, nil))
    }
    var reservation = larder_reservation()
    try check(larder_ring_reserve(ring.raw, 0, &reservation))
    try check(larder_ring_commit(ring.raw, &reservation, 0, flags, nil))
    ring.close()
    ring = try Ring(url)
    #expect(try ring.messages.map(\.isPartial) == [false, true, true])
    #expect(try ring.messages.map(\.payload) == [[1], [2, 3], []])
  }

  @Test func noNumberIsEverUsedTwice() throws {
    var next: UInt64 = 1
    for round in 0..<12 {
      let ring = try round == 0 ? Ring(url, data: 160) : Ring(url)
      #expect(try ring.statistics.next_sequence == next)
      for _ in 0...round {
        #expect(try ring.append(length: 9) == next)
        next += 1
      }
      if round % 2 == 0 { try ring.remove(through: round % 4 == 0 ? .max : next - 2) }
    }
  }
}
