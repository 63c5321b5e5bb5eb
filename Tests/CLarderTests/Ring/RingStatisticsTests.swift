// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

@Suite("Ring: statistics")
struct RingStatisticsTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("ring")
  }

  @Test func aNewRingsFiguresAreThoseItWasMadeWith() throws {
    let before = Int64(Date().timeIntervalSince1970) * 1_000_000_000
    let ring = try Ring(url) { options in
      options.capacity_bytes = 5003
      options.cursor_slots = 3
      options.content_format = 0x6E6F_736A
      options.flags = UInt32(LARDER_RING_OVERWRITE)
    }
    let statistics = try ring.statistics
    #expect(statistics.capacity_bytes == 5003)
    // What is left of 5003 - 320 - 3 * 64 - 64, rounded down to 8.
    #expect(statistics.data_bytes == 4424)
    #expect(statistics.used_bytes == 0 && statistics.count == 0)
    #expect(statistics.oldest_sequence == 0 && statistics.newest_sequence == 0)
    #expect(statistics.next_sequence == 1 && statistics.synced_sequence == 0)
    #expect(statistics.overwritten == 0 && statistics.removed == 0 && statistics.lost == 0)
    #expect(statistics.wraps == 0 && statistics.version == 2)
    #expect(statistics.content_format == 0x6E6F_736A)
    #expect(statistics.cursor_slots == 3 && statistics.read_only == 0)
    #expect(statistics.flags == UInt32(LARDER_RING_OVERWRITE))
    #expect(statistics.created_ns >= before)
    #expect(try Ring(reading: url).statistics.created_ns == statistics.created_ns)
  }

  @Test func wrapsCountTheReturnsToTheStart() throws {
    let ring = try Ring(url, data: 320)
    for sequence in 1...UInt64(100) {
      try ring.append(payload(sequence, 16))
      #expect(try ring.statistics.wraps == (sequence - 1) / 10)
    }
  }

  @Test func theNextNumberIsSeenByEveryHandleAtOnce() throws {
    let ring = try Ring(url, data: 320)
    let reader = try Ring(reading: url)
    for sequence in 1...UInt64(50) {
      #expect(try ring.nextSequence == sequence && reader.nextSequence == sequence)
      try ring.append(payload(sequence, 16))
    }
    // Nobody closed the file that this one sees, and part of it is lost.
    let copy = directory.file("copy")
    try FileManager.default.copyItem(at: url, to: copy)
    #expect(try Ring(reading: copy).nextSequence > 50)
    for handle in [ring, reader] {
      try check(larder_ring_shutdown(handle.raw))
      #expect(status { try handle.nextSequence } == Int(LARDER_ECLOSED))
    }
  }

  /// Every number that was given is in the ring, overwritten, removed or lost, at any time.
  @Test(arguments: [UInt64(1), 2, 3, 4, 5, 6])
  func everyNumberIsAccountedForAlongRandomWork(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var ring = try Ring(url, data: 1400, overwrite: seed % 3 != 0)
    var given: UInt64 = 0
    var removed: UInt64 = 0
    for step in 0..<2000 {
      switch Int.random(in: 0..<100, using: &generator) {
      case 0..<85:
        let length = Int.random(in: 0...90, using: &generator)
        if status(of: { try ring.append(length: length) }) == LARDER_OK { given += 1 }
      case 85..<94:
        let oldest = try ring.statistics.oldest_sequence
        removed += try ring.remove(through: oldest + UInt64.random(in: 0...3, using: &generator))
      case 94..<97:
        ring.close()
        if Bool.random(using: &generator) { try url.patch([0, 0, 0, 0], at: 124) }
        ring = try Ring(url)
      default:
        try damage(ring, &generator)
      }
      for handle in [ring, try step % 50 == 0 ? Ring(reading: url) : ring] {
        let now = try handle.statistics
        let sum = now.count + now.overwritten + now.removed + now.lost
        // A damaged message that was removed may have been lost first, never both.
        guard sum == now.next_sequence - 1, now.next_sequence == given + 1,
          now.removed <= removed, now.used_bytes <= now.data_bytes,
          try handle.nextSequence == now.next_sequence
        else {
          Issue.record("seed \(generator.seed), step \(step): \(now), given \(given)")
          return
        }
      }
    }
    #expect(try ring.statistics.lost > 0, "seed \(generator.seed)")
  }

  /// Destroys the head of one message in the middle.
  private func damage(_ ring: Ring, _ generator: inout SeededGenerator) throws {
    let live = RingImage(bytes: try url.bytes()).live
    guard live.count > 6 else { return }
    let record = live[Int.random(in: 2..<live.count - 2, using: &generator)]
    try url.flip(at: record.offset + 8, 0x40)
  }
}
