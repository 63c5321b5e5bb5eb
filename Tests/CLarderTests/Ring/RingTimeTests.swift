// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

@Suite("Ring: times")
struct RingTimeTests {
  let directory: TemporaryDirectory
  let url: URL
  let clock = RingClock(1000)

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("ring")
  }

  private func open(
    data: UInt64 = 0, flags: Int = Int(LARDER_RING_OVERWRITE), age: Int64 = 0,
    interval: Int64 = 0
  ) throws -> Ring {
    try Ring(url) { options in
      options.capacity_bytes = data > 0 ? capacity(data: data) : 0
      options.flags = UInt32(flags) | (data > 0 ? UInt32(LARDER_RING_KEEP_TIMES) : 0)
      options.maximum_age_ns = age
      options.sync_interval_ns = interval
      clock.set(in: &options)
    }
  }

  private func append(_ ring: Ring, at times: [Int64]) throws {
    for time in times {
      clock.now = time
      try ring.append(length: 20)
    }
  }

  @Test func anEmptyRingHasNoTimes() throws {
    let ring = try open(data: 4096)
    let reader = try RingReader(ring)
    for time in [Int64.min, 0, 1, .max] {
      try reader.seek(time: time)
      #expect(try reader.next() == nil && reader.previous() == nil)
    }
    #expect(try ring.remove(before: .max) == 0)
    #expect(try ring.statistics.oldest_time_ns == 0 && ring.statistics.newest_time_ns == 0)
    try append(ring, at: [7])
    try reader.seek(time: 8)
    #expect(try reader.next() == nil)
    // What is appended later is read from there.
    try append(ring, at: [9])
    #expect(try reader.next()?.time == 9)
  }

  @Test func aClockThatIsSetBackDoesNotTurnTheOrderRound() throws {
    var ring = try open(data: 4096)
    try append(ring, at: [100, 200, 150, 150, 201])
    #expect(try ring.messages.map(\.time) == [100, 200, 200, 200, 201])
    ring.close()
    ring = try open()
    try append(ring, at: [50, 300])
    #expect(try ring.messages.map(\.time) == [100, 200, 200, 200, 201, 201, 300])
    // Nor does one that tells of no time at all.
    try append(ring, at: [-1, .min, .max, 5])
    #expect(try ring.messages.suffix(5).map(\.time) == [300, 300, 300, .max, .max])
    #expect(ring.isSound)
  }

  @Test func allMessagesOfABatchHaveOneTime() throws {
    let ring = try open(data: 4096)
    let payload = larder_bytes(data: nil, length: 0)
    let batch = [larder_message](repeating: larder_message(payload: payload, flags: 0), count: 9)
    #expect(larder_ring_append_batch(ring.raw, batch, batch.count, nil, nil) == LARDER_OK)
    clock.now += 1
    #expect(larder_ring_append_batch(ring.raw, nil, 0, nil, nil) == LARDER_OK)
    #expect(try ring.messages.map(\.time) == [Int64](repeating: 1000, count: 9))
  }

  @Test func aRingMayBeAsSmallAsItsOnlyMessage() throws {
    let least = larder_ring_minimum_capacity(8) + UInt64(8)
    var detail = larder_ring_detail()
    let tooSmall = status {
      _ = try Ring(url, detail: &detail) { options in
        options.capacity_bytes = least - 1
        options.flags = UInt32(LARDER_RING_KEEP_TIMES)
      }
    }
    #expect(tooSmall == LARDER_EINVALID && detail.capacity_bytes == least)
    let ring = try open(data: 24)
    #expect(try ring.statistics.capacity_bytes == least)
    try ring.append([])
    #expect(status { try ring.append([1]) } == LARDER_ETOOLARGE)
    clock.now += 1
    try ring.append([])
    #expect(try ring.messages.map(\.time) == [1001])
    #expect(larder_ring_capacity_for(1, 8, 8) == least)
  }

  @Test func timesSurviveAKillDamageAndACopy() throws {
    var ring = try open(data: 8192)
    try append(ring, at: Array(1...400))
    try ring.sync()
    var bytes = try url.bytes()
    ring.close()
    // The number of the oldest message is that of the first record in the second lap.
    bytes.set(UInt32(0), at: 124)
    try url.create(bytes)
    ring = try open()
    let first = try ring.statistics.oldest_sequence
    #expect(try ring.messages.map(\.time) == (first...400).map { Int64($0) })
    // A clock that is behind by then: the newest message is the measure.
    try append(ring, at: [1])
    #expect(try ring.messages.last?.time == 400)
    ring.close()
    // Two messages lost: the others keep their times, and are found.
    let place = try #require(
      RingImage(bytes: bytes).live.first { $0.sequence == 390 }?.offset)
    try url.flip(at: Int(place) + 20)
    try url.patch([0, 0, 0, 0], at: 124)
    ring = try open()
    let reader = try RingReader(ring)
    for time in [Int64(390), 391] {
      try reader.seek(time: time)
      #expect(try reader.next()?.sequence == 391)
    }
    let saved = directory.file("saved")
    var report = larder_ring_report()
    #expect(larder_ring_salvage(url.path, saved.path, nil, nil, nil, &report) == LARDER_OK)
    let copy = try Ring(saved)
    #expect(try copy.messages.map(\.time) == ring.messages.map(\.time))
    #expect(try copy.statistics.version == 3)
  }

  @Test func whereTheNewestMessageIsDamagedTheOneBeforeItIsTheMeasure() throws {
    var ring = try open(data: 8192)
    try append(ring, at: [10, 20, 30])
    ring.close()
    try url.flip(at: 832 + 2 * 48 + 20)
    ring = try open()
    #expect(try ring.statistics.newest_time_ns == 20)
    try append(ring, at: [5])
    #expect(try ring.messages.map(\.time) == [10, 20, 20])
  }

  @Test func aRingIsGivenTimesAndKeepsThem() throws {
    try Ring(url, data: 4096).append(lengths: [1, 2, 3])
    var options = larder_ring_options()
    larder_ring_options_init(&options)
    options.capacity_bytes = capacity(data: 8192)
    options.flags = UInt32(LARDER_RING_OVERWRITE | LARDER_RING_KEEP_TIMES)
    #expect(larder_ring_resize(url.path, &options, nil) == LARDER_OK)
    var ring = try open()
    try append(ring, at: [40, 50])
    #expect(try ring.messages.map(\.time) == [0, 0, 0, 40, 50])
    #expect(try ring.messages.areRight)
    #expect(try ring.statistics.oldest_time_ns == 0)
    let reader = try RingReader(ring)
    try reader.seek(time: 0)
    #expect(try reader.next()?.sequence == 1)
    try reader.seek(time: 1)
    #expect(try reader.next()?.sequence == 4)
    ring.close()
    // Nobody who does not know of times takes them away.
    options.flags = UInt32(LARDER_RING_OVERWRITE)
    options.capacity_bytes = capacity(data: 96)
    #expect(larder_ring_resize(url.path, &options, nil) == LARDER_OK)
    ring = try open()
    #expect(try ring.statistics.version == 3)
    #expect(try ring.messages.map(\.time) == [40, 50].suffix(try ring.messages.count))
    #expect(try ring.remove(before: 50) == 1)
  }

  // MARK: - Age

  @Test func anAppendRemovesWhatIsTooOld() throws {
    let ring = try open(data: 4096, flags: 0, age: 100)
    try append(ring, at: [1000, 1050, 1100])
    #expect(try ring.sequences == [1, 2, 3])
    clock.now = 1101
    try ring.append(length: 20)
    #expect(try ring.sequences == [2, 3, 4])
    #expect(try ring.statistics.removed == 1 && ring.statistics.overwritten == 0)
    // Nothing else removes.
    clock.now = 9000
    #expect(try ring.statistics.count == 3)
    var reservation = larder_reservation()
    #expect(larder_ring_reserve(ring.raw, 8, &reservation) == LARDER_OK)
    larder_ring_abort(ring.raw, &reservation)
    #expect(try ring.sequences.isEmpty)
    // Set back, nothing is old.
    try append(ring, at: [500, 8000, 9050])
    #expect(try ring.messages.map(\.time) == [9000, 9000, 9050])
    try append(ring, at: [9101])
    #expect(try ring.messages.map(\.time) == [9050, 9101])
    #expect(ring.isSound)
  }

  @Test func ageMakesRoomInARingThatRefuses() throws {
    let ring = try open(data: 96, flags: 0, age: 10)
    try append(ring, at: [1, 2])
    #expect(status { try append(ring, at: [3]) } == LARDER_EFULL)
    try append(ring, at: [12])
    #expect(try ring.messages.map(\.time) == [2, 12])
  }

  /// A message of the future does not keep those of today for ever.
  @Test func aClockThatWasAheadForAMomentDoesNotEndTheRemoving() throws {
    let ring = try open(data: 480, age: 100)
    try append(ring, at: [1_000_000, 10])
    #expect(try ring.messages.map(\.time) == [1_000_000, 1_000_000])
    #expect(try ring.remove(through: .max) == 2)
    // A new handle does not know of the time that was wrong.
    ring.close()
    let next = try open(age: 100)
    try append(next, at: [20, 30, 125])
    #expect(try next.messages.map(\.time) == [30, 125])
  }

  @Test func ageIsNotForARingWithoutTimes() throws {
    try Ring(url, data: 4096).append([1])
    #expect(status { _ = try open(age: 1) } == LARDER_EMISMATCH)
    #expect(status { _ = try open(age: -1) } == LARDER_EINVALID)
    let reader = try Ring(reading: url)
    #expect(larder_ring_remove_before(reader.raw, 1, nil) == LARDER_EINVALID)
    try FileManager.default.removeItem(at: url)
    // Asked for one that removes by age, a new file keeps times.
    let ring = try Ring(url) { options in
      options.capacity_bytes = 4096
      options.maximum_age_ns = .max
    }
    #expect(try ring.statistics.version == 3)
    try ring.append([1])
    #expect(try ring.statistics.count == 1)
    let other = try Ring(reading: url)
    #expect(larder_ring_remove_before(other.raw, 1, nil) == LARDER_EREADONLY)
  }

  @Test func theSystemsClockIsTakenWithoutAnother() throws {
    let before = Int64(Date().timeIntervalSince1970 * 1e9) - 1000
    let ring = try Ring(url) { options in
      options.capacity_bytes = 4096
      options.flags = UInt32(LARDER_RING_KEEP_TIMES)
    }
    try ring.append([1])
    let time = try #require(try ring.messages.first?.time)
    #expect(time >= before && time <= Int64(Date().timeIntervalSince1970 * 1e9) + 1000)
  }
}
