// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

@Suite("Ring: recovery")
struct RingRecoveryTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("ring")
  }

  /// A first lap that is not full, one that is, several laps, and laps with removed messages.
  static let shapes: [(appended: Int, removed: UInt64)] = [
    (1, 0), (20, 0), (20, 7), (60, 0), (200, 0), (203, 190), (40, 40), (300, 300),
  ]

  // MARK: - Killed

  @Test(arguments: shapes)
  func aFileThatWasNotClosedKeepsEverything(appended: Int, removed: UInt64) throws {
    let ring = try filled(appended, removed)
    let expected = try ring.messages
    let copy = directory.file("copy")
    try copy.create(url.bytes())
    let statistics = try ring.statistics
    ring.close()
    // A kill, as the same file shows it.
    try url.patch([0, 0, 0, 0], at: 124)
    for file in [url, copy] {
      let again = try Ring(file)
      let report = try again.recovery
      #expect(report.was_closed == 0 && report.lost == 0 && report.cut == 0)
      #expect(report.intact == UInt64(expected.count))
      #expect(try again.messages == expected)
      #expect(again.isSound)
      // A copy may have come through a power cut, which takes messages with their numbers.
      if file == url { try expectSame(again.statistics, statistics) }
      let next = try again.append(length: 5)
      #expect(file == url ? next == UInt64(appended) + 1 : next > UInt64(appended))
      again.close()
      #expect(try Ring(file).recovery.was_closed == 1)
    }
  }

  // MARK: - The header

  static let headerParts = [
    0..<32, 32..<64, 0..<64, 0..<128, 64..<128, 128..<192, 192..<256, 64..<192, 128..<256, 64..<256,
    0..<256, 256..<320, 192..<320, 0..<320,
  ]

  @Test(arguments: headerParts)
  func everyMessageIsFoundWithoutAPartOfTheHeader(part: Range<Int>) throws {
    // What was removed or overwritten may come back only if the state that says so is gone.
    let saysSo = !part.overlaps(64..<128)
    for (appended, removed) in Self.shapes {
      let ring = try filled(appended, removed)
      try ring.acknowledge("a", UInt64(appended))
      let expected = try ring.messages
      ring.close()
      let sound = try url.bytes()
      try url.patch([UInt8](repeating: 0, count: part.count), at: part.lowerBound)
      let zeroed = try url.bytes()
      let reading = try Ring(reading: url)
      let seen = try reading.messages
      // Without any state what lies between the laps' ends is found, too.
      #expect(seen.suffix(expected.count) == expected[...], "\(part) \(appended) \(removed)")
      if saysSo { #expect(seen == expected, "\(part) \(appended) \(removed)") }
      reading.close()
      #expect(try url.bytes() == zeroed)

      let again = try Ring(url)
      #expect(try again.messages == seen)
      #expect(try again.recovery.header_damaged == (part.lowerBound < 64 ? 1 : 0))
      // Without the boot id it may have been a power cut.
      let next = try again.append(length: 5)
      let isKnown = !part.overlaps(160..<192)
      #expect(isKnown ? next == UInt64(appended) + 1 : next > UInt64(appended))
      #expect(again.isSound)
      again.close()
      #expect(try Array(url.bytes().prefix(64)) == Array(sound.prefix(64)))
    }
  }

  @Test func aBackupThatIsDestroyedIsRepairedByTheNextWriter() throws {
    try filled(60, 0).close()
    let sound = try url.bytes()
    try url.patch([UInt8](repeating: 0xEE, count: 64), at: sound.count - 64)
    let reading = try Ring(reading: url)
    #expect(reading.verify().report.header_damaged == 1)
    reading.close()
    let ring = try Ring(url)
    #expect(ring.isSound)
    #expect(try ring.recovery.was_closed == 1)
    ring.close()
    #expect(try Array(url.bytes().suffix(64)) == Array(sound.prefix(64)))
  }

  @Test func withoutHeaderAndBackupTheFileIsForeignAndLeftAlone() throws {
    try filled(60, 0).close()
    let zeros = [UInt8](repeating: 0, count: 64)
    try url.patch(zeros)
    try url.patch(zeros, at: try url.bytes().count - 64)
    let before = try url.bytes()
    #expect(status { try Ring(url) } == LARDER_EFOREIGN)
    #expect(status { try Ring(url, data: 1000) } == LARDER_EFOREIGN)
    #expect(status { try Ring(reading: url) } == LARDER_EFOREIGN)
    #expect(try url.bytes() == before)
  }

  @Test func everyFlippedBitOfTheStateIsSeenThrough() throws {
    for (appended, removed) in [(20, UInt64(7)), (200, 0)] {
      let ring = try filled(appended, removed)
      let expected = try ring.messages
      ring.close()
      let sound = try url.bytes()
      for bit in 64 * 8..<320 * 8 {
        for readOnly in [true, false] {
          try url.flip(at: bit / 8, 1 << UInt8(bit % 8))
          let again = try readOnly ? Ring(reading: url) : Ring(url)
          let messages = try again.messages
          let next = try again.statistics.next_sequence
          again.close()
          try url.patch(sound)
          if messages != expected || next <= UInt64(appended) {
            Issue.record("byte \(bit / 8) bit \(bit % 8): \(messages), next \(next)")
          }
        }
      }
    }
  }

  @Test(arguments: [64, 72])
  func oldestAndItsCopyMayDisagreeInAFileThatWasNotClosed(offset: Int) throws {
    let ring = try filled(200, 0)
    let expected = try ring.messages
    let bytes = try url.bytes()
    let copy = directory.file("copy")
    for bit in 0..<64 {
      var flipped = bytes
      flipped[offset + bit / 8] ^= 1 << UInt8(bit % 8)
      try copy.create(flipped)
      let again = try Ring(copy)
      let messages = try again.messages
      // At worst what is already given up, but still there, comes back.
      #expect(messages.suffix(expected.count) == expected[...], "bit \(bit)")
      #expect(messages.areRight && again.isSound, "bit \(bit)")
    }
  }

  /// If we crash here, `oldest_copy` names a message that was given up but not yet overwritten.
  @Test func aKillBetweenOldestAndItsCopyKeepsTheMessage() throws {
    let ring = try filled(200, 0)
    let before = try url.bytes()
    let sequences = try ring.sequences
    try ring.remove(through: sequences[0])
    var bytes = try url.bytes()
    bytes.replaceSubrange(72..<80, with: before[72..<80])
    bytes.replaceSubrange(192..<256, with: before[192..<256])
    bytes.replaceSubrange(112..<120, with: before[112..<120])
    let copy = directory.file("copy")
    try copy.create(bytes)
    #expect(try Ring(copy).sequences == sequences)
  }

  @Test func aDamagedMessageInAFileThatWasNotClosedCostsOnlyItself() throws {
    let ring = try filled(40, 0)
    try ring.sync()
    let bytes = try url.bytes()
    let records = RingImage(bytes: bytes).live
    let sequences = try ring.sequences
    ring.close()
    try url.patch([0, 0, 0, 0], at: 124)
    let record = records[records.count / 2]
    try url.flip(at: record.offset + 16)
    let again = try Ring(url)
    #expect(try again.sequences == sequences.filter { $0 != record.sequence })
    // Opening looks at a few records; whoever reads, or verifies, comes upon it.
    let report = again.verify().report
    #expect(report.lost == 1 && report.damaged_places == 1 && report.cut == 0)
    #expect(report.first_damage_offset == UInt64(record.offset))
    #expect(report.damaged_bytes == UInt64(record.size))
  }

  // MARK: - Helpers

  private func filled(_ appended: Int, _ removed: UInt64) throws -> Ring {
    try? FileManager.default.removeItem(at: url)  // It need not be there.
    let ring = try Ring(url, data: 2000)
    try ring.append(lengths: (1...appended).map { $0 * 11 % 47 })
    if removed > 0 { try ring.remove(through: removed) }
    return ring
  }

  private func expectSame(_ a: larder_ring_statistics, _ b: larder_ring_statistics) throws {
    #expect(a.count == b.count && a.next_sequence == b.next_sequence)
    #expect(a.oldest_sequence == b.oldest_sequence && a.newest_sequence == b.newest_sequence)
    #expect(a.overwritten == b.overwritten && a.removed == b.removed && a.lost == b.lost)
    #expect(a.used_bytes == b.used_bytes)
  }
}
