// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

@Suite("Ring: batches and reservations")
struct RingBatchTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("ring")
  }

  // MARK: - Batches

  @Test func aBatchIsAppendedInOrder() throws {
    let ring = try Ring(url, data: 4096)
    try ring.append(length: 3)
    #expect(batch(ring, [0, 5, 100, 1]) == Batch(LARDER_OK, appended: 4, last: 5))
    #expect(batch(ring, []) == Batch(LARDER_OK, appended: 0, last: 0))
    let messages = try ring.messages
    #expect(messages.map(\.sequence) == [1, 2, 3, 4, 5])
    #expect(messages.areRight)
  }

  @Test func aBatchStopsAtTheFirstMessageThatIsTooLarge() throws {
    let ring = try Ring(url, data: 4096)
    #expect(batch(ring, [1, 2, 5000, 4]) == Batch(LARDER_ETOOLARGE, appended: 2, last: 2))
    #expect(try ring.sequences == [1, 2])
    #expect(batch(ring, [5000]) == Batch(LARDER_ETOOLARGE, appended: 0, last: 0))
    #expect(try ring.append(length: 1) == 3)
  }

  @Test func aBatchStopsWhereARefusingRingIsFull() throws {
    let ring = try Ring(url, data: 96, overwrite: false)
    #expect(batch(ring, [8, 8, 8, 8, 8]) == Batch(LARDER_EFULL, appended: 4, last: 4))
    #expect(try ring.messages.map(\.isRight) == [true, true, true, true])
    #expect(batch(ring, [0]) == Batch(LARDER_EFULL, appended: 0, last: 0))
    #expect(ring.isSound)
  }

  @Test func aBatchStopsAtAFlagThatDoesNotExist() throws {
    let ring = try Ring(url, data: 4096)
    #expect(batch(ring, [1, 2], flags: 2) == Batch(LARDER_EINVALID, appended: 0, last: 0))
    #expect(try ring.sequences == [])
  }

  @Test(arguments: [0, 7, 40, 480, 700])
  func aBatchLargerThanTheRingLeavesTheNewestThatFit(length: Int) throws {
    let data = 1024
    let ring = try Ring(url, data: UInt64(data))
    try ring.append(lengths: [5, 6, 7])
    let count = 10 * data / recordBytes(length)
    let last = UInt64(count + 3)
    #expect(
      batch(ring, Array(repeating: length, count: count))
        == Batch(LARDER_OK, appended: count, last: last))
    let messages = try ring.messages
    #expect(messages.last?.sequence == last)
    #expect(messages.areRight)
    let statistics = try ring.statistics
    #expect(statistics.count == UInt64(messages.count))
    #expect(statistics.overwritten == last - statistics.count)
    // At most a message and a pad are missing to full.
    #expect(Int(statistics.used_bytes) > data - 2 * recordBytes(length))
    #expect(ring.isSound)
  }

  @Test func aReadOnlyRingTakesNoBatchAndNoReservation() throws {
    let ring = try Ring(url, data: 1024)
    let reading = try Ring(reading: url)
    #expect(batch(reading, [1]) == Batch(LARDER_EREADONLY, appended: 0, last: 0))
    var reservation = larder_reservation()
    #expect(larder_ring_reserve(reading.raw, 1, &reservation) == LARDER_EREADONLY)
    #expect(status { try reading.append([1]) } == LARDER_EREADONLY)
    #expect(status { try reading.append(length: 5000) } == LARDER_EREADONLY)
    #expect(status { try reading.remove(through: 1) } == LARDER_EREADONLY)
    #expect(status { try reading.sync() } == LARDER_EREADONLY)
    #expect(status { try reading.acknowledge("a", 0) } == LARDER_EREADONLY)
    #expect(status { try reading.removeCursor("a") } == LARDER_EREADONLY)
    #expect(larder_ring_append_synced(reading.raw, nil, 0, nil) == LARDER_EREADONLY)
    #expect(larder_ring_sync_through(reading.raw, 0) == LARDER_EREADONLY)
    #expect(try ring.statistics.count == 0)
  }

  // MARK: - Reservations

  @Test func aReservationIsPublishedWithTheLengthOfItsCommit() throws {
    let ring = try Ring(url, data: 256)
    for length in [0, 1, 16, 33] {
      var reservation = try reserve(ring, 33)
      #expect(reservation.capacity == 33)
      let sequence = try ring.commit(&reservation, length)
      #expect(reservation.bytes == nil && reservation.capacity == 0)
      #expect(try ring.messages.last?.sequence == sequence)
      #expect(try ring.messages.last?.payload == Array(repeating: 0xA5, count: length))
    }
    #expect(try ring.statistics.used_bytes == 16 + 24 + 32 + 56)
    #expect(ring.isSound)
  }

  @Test func aCommitThatIsRefusedLeavesTheReservationStanding() throws {
    let ring = try Ring(url, data: 256)
    var reservation = try reserve(ring, 10)
    #expect(status { try ring.commit(&reservation, 11) } == LARDER_EINVALID)
    #expect(status { try ring.commit(&reservation, 1, flags: 2) } == LARDER_EINVALID)
    var other = larder_reservation(bytes: reservation.bytes.map { $0 + 8 }, capacity: 10)
    #expect(status { try ring.commit(&other, 1) } == LARDER_EINVALID)
    #expect(try ring.commit(&reservation, 10) == 1)
    #expect(try ring.append(length: 1) == 2)
  }

  @Test func aCommitWithoutAReservationIsRefused() throws {
    let ring = try Ring(url, data: 256)
    var reservation = larder_reservation()
    #expect(status { try ring.commit(&reservation, 0) } == LARDER_EINVALID)
    reservation = try reserve(ring, 10)
    var copy = reservation
    larder_ring_abort(ring.raw, &reservation)
    #expect(status { try ring.commit(&copy, 1) } == LARDER_EINVALID)
    copy = try reserve(ring, 10)
    reservation = copy
    try ring.commit(&copy, 2)
    #expect(status { try ring.commit(&reservation, 2) } == LARDER_EINVALID)
    larder_ring_abort(ring.raw, &reservation)
    larder_ring_abort(ring.raw, &reservation)
    #expect(try ring.append(length: 0) == 2)
    #expect(ring.isSound)
  }

  @Test func anAbortedReservationAppendsNothing() throws {
    let ring = try Ring(url, data: 256, overwrite: false)
    try ring.append(lengths: [20, 20])
    let before = try ring.statistics
    var reservation = try reserve(ring, 100)
    larder_ring_abort(ring.raw, &reservation)
    #expect(reservation.bytes == nil)
    #expect(try ring.statistics.used_bytes == before.used_bytes)
    #expect(try ring.append(length: 100) == 3)
    #expect(try ring.messages.areRight)
    #expect(ring.isSound)
  }

  @Test func anAbortThatMadeRoomLeavesASoundRingHoweverItStood() throws {
    for count in 0...40 {
      for length in [0, 100, 500, 1000, 1008] {
        let url = directory.file("\(count)-\(length)")
        var ring = try Ring(url, data: 1024)
        try ring.append(lengths: repeatElement(16, count: count))
        var reservation = try reserve(ring, length)
        larder_ring_abort(ring.raw, &reservation)
        let sequences = try ring.sequences
        #expect(sequences.isEmpty || sequences.last == UInt64(count))
        #expect(ring.isSound, "\(count) messages, \(length) bytes")
        ring.close()
        ring = try Ring(url)
        #expect(try ring.sequences == sequences)
        #expect(try ring.append(length: length) == UInt64(count) + 1)
        #expect(try ring.messages.areRight)
      }
    }
  }

  @Test func aReservationNeedsRoomLikeAMessage() throws {
    let ring = try Ring(url, data: 64, overwrite: false)
    var reservation = larder_reservation()
    #expect(larder_ring_reserve(ring.raw, 49, &reservation) == LARDER_ETOOLARGE)
    try ring.append(length: 10)
    #expect(larder_ring_reserve(ring.raw, 48, &reservation) == LARDER_EFULL)
    #expect(reservation.bytes == nil)
    // Neither of them holds the ring.
    #expect(try ring.append(length: 10) == 2)
  }

  // MARK: - Helpers

  private struct Batch: Equatable {
    var status: Int
    var appended: Int
    var last: UInt64

    init(_ status: Int, appended: Int, last: UInt64) {
      self.status = status
      self.appended = appended
      self.last = last
    }
  }

  private func batch(_ ring: Ring, _ lengths: [Int], flags: UInt32 = 0) -> Batch {
    let next = (try? ring.statistics.next_sequence) ?? 0  // 0 fails the comparison of payloads.
    let starts = lengths.reduce(into: [0]) { $0.append($0.last! + $1) }
    let bytes = lengths.enumerated().flatMap { payload(next + UInt64($0.offset), $0.element) }
    var result = Batch(0, appended: -1, last: .max)
    bytes.withUnsafeBytes { buffer in
      let messages = lengths.indices.map { index in
        larder_message(
          payload: larder_bytes(
            data: buffer.baseAddress.map { $0 + starts[index] }, length: lengths[index]),
          flags: flags)
      }
      result.status = Int(
        larder_ring_append_batch(
          ring.raw, messages, messages.count, &result.appended, &result.last))
    }
    return result
  }

  private func reserve(_ ring: Ring, _ capacity: Int) throws -> larder_reservation {
    var reservation = larder_reservation()
    try check(larder_ring_reserve(ring.raw, capacity, &reservation))
    reservation.bytes?.initializeMemory(as: UInt8.self, repeating: 0xA5, count: capacity)
    return reservation
  }
}

extension Ring {
  @discardableResult fileprivate func commit(
    _ reservation: inout larder_reservation, _ length: Int, flags: UInt32 = 0
  ) throws -> UInt64 {
    var sequence: UInt64 = 0
    try check(larder_ring_commit(raw, &reservation, length, flags, &sequence))
    return sequence
  }
}
