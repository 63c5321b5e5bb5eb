// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

@Suite("Ring: damage")
struct RingDamageTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("ring")
  }

  /// A closed ring that came round twice, without its oldest five, with a cursor.
  private func makeSpecimen() throws -> [RingMessage] {
    let ring = try Ring(url, data: 1400, slots: 2)
    try ring.append(lengths: (0..<100).map { $0 * 11 % 47 })
    try ring.remove(through: try ring.statistics.oldest_sequence + 4)
    try ring.acknowledge("reader", 90)
    let messages = try ring.messages
    #expect((25...35).contains(messages.count))
    return messages
  }

  @Test(arguments: [UInt8(0xFF), 0x01, 0x80], [false, true])
  func aDamagedByteAnywhereCostsAtMostOneMessage(bits: UInt8, readOnly: Bool) throws {
    let expected = try makeSpecimen()
    let sound = try url.bytes()
    for offset in sound.indices {
      try url.flip(at: offset, bits)
      let ring = try readOnly ? Ring(reading: url) : Ring(url)
      let seen = try ring.messages
      let next = try ring.statistics.next_sequence
      let acknowledged = try ring.acknowledged("reader")
      // Numbers may be left out, as many as were reserved, but never be used again.
      let isNext = (101...101 + 1 << 23).contains(next)
      if !isExpectedButOne(seen, expected) || !isNext || (acknowledged ?? 0) > 90 {
        Issue.record("byte \(offset): \(seen), next \(next), at \(acknowledged ?? 0)")
        return
      }
      if !readOnly {
        // Whatever it was, the ring goes on.
        let appended = try ring.append(length: 20)
        let after = try ring.messages
        if appended != next || after.last?.isRight != true || after.count > expected.count + 1 {
          Issue.record("byte \(offset), after an append: \(after)")
          return
        }
      }
      ring.close()
      try url.patch(sound)
    }
  }

  @Test func aDamagedByteInAFileThatWasNotClosedCostsAtMostOneMessage() throws {
    let expected = try makeSpecimen()
    // A kill.
    try url.patch([0, 0, 0, 0], at: 124)
    let killed = try url.bytes()
    // Without the fixed header nothing else of it is believed, and what was removed may return.
    for offset in killed.indices.dropFirst(64) {
      try url.flip(at: offset, 0x10)
      let ring = try Ring(url)
      let seen = try ring.messages
      let next = try ring.statistics.next_sequence
      let newest = seen.suffix(expected.count)
      if !isExpectedButOne(seen, expected) && newest != expected[...] || next < 101 {
        Issue.record("byte \(offset): \(seen), next \(next)")
        return
      }
      ring.close()
      try url.patch(killed)
    }
  }

  @Test func aReaderPassesOverDamageInBothDirectionsAndCountsIt() throws {
    let expected = try makeSpecimen()
    let bytes = try url.bytes()
    for record in RingImage(bytes: bytes).live.dropFirst().dropLast() {
      try url.flip(at: record.offset + 8)
      let reader = try RingReader(Ring(url))
      var lost: UInt64 = 0
      var forward: [UInt64] = []
      while let message = try reader.next() {
        lost += message.lost
        forward.append(message.sequence)
      }
      #expect(lost == 1)
      #expect(forward == expected.map(\.sequence).filter { $0 != record.sequence })
      var backward: [UInt64] = []
      while let message = try reader.previous() { backward.append(message.sequence) }
      #expect(backward == forward.reversed())
      try url.patch(bytes)
    }
  }

  @Test func damageAtTheOldestEndIsDroppedAndCounted() throws {
    let expected = try makeSpecimen()
    let first = try #require(RingImage(bytes: url.bytes()).live.first)
    try url.flip(at: first.offset + 17)
    let ring = try Ring(url)
    let before = try ring.statistics
    #expect(before.oldest_sequence == first.sequence + 1)
    #expect(before.count == UInt64(expected.count) - 1)
    try ring.remove(through: first.sequence + 1)
    let after = try ring.statistics
    #expect(after.lost == 1 && after.removed == 6)
    #expect(after.count + after.overwritten + after.removed + after.lost == 100)
    #expect(ring.isSound)
  }

  /// Only heads are looked at on the way; a damaged payload counts as overwritten.
  @Test func aDamagedHeadInTheMiddleIsLostWhenItIsOverwritten() throws {
    _ = try makeSpecimen()
    let records = RingImage(bytes: try url.bytes()).live
    for record in records[5...7] { try url.flip(at: record.offset + 8) }
    let ring = try Ring(url)
    try ring.append(lengths: repeatElement(30, count: 100))
    let statistics = try ring.statistics
    #expect(statistics.lost == 3 && statistics.removed == 5)
    #expect(
      statistics.count + statistics.overwritten + statistics.removed + statistics.lost == 200)
    #expect(try ring.messages.areRight)
    #expect(ring.isSound)
  }

  // MARK: - Truncation

  @Test(arguments: [60, 30])
  func aTruncatedFileIsRefusedAndSalvageFindsWhatIsLeft(appended: Int) throws {
    let ring = try Ring(url, data: 1400, slots: 2)
    try ring.append(lengths: (0..<appended).map { $0 * 11 % 47 })
    ring.close()
    let whole = try url.bytes()
    let live = RingImage(bytes: whole).live
    let target = directory.file("salvaged")
    for length in stride(from: whole.count - 8, through: 0, by: -8) {
      try url.create(Array(whole.prefix(length)))
      let expected = length == 0 ? LARDER_EINVALID : length < 64 ? LARDER_EFOREIGN : LARDER_EDAMAGED
      #expect(status { try Ring(url) } == expected, "\(length)")
      let read = length == 0 ? Int(ENOENT) : expected
      #expect(status { try Ring(reading: url) } == read, "\(length)")
      #expect(try url.bytes().count == length)

      var report = larder_ring_report()
      let result = larder_ring_salvage(url.path, target.path, nil, nil, nil, &report)
      if length <= 448 {
        #expect(result == (length < 64 ? LARDER_EFOREIGN : LARDER_EDAMAGED), "\(length)")
        #expect(!FileManager.default.fileExists(atPath: target.path))
        continue
      }
      let left = live.filter { $0.offset + $0.size <= length }.map(\.sequence)
      let salvaged = try Ring(target)
      let seen = try salvaged.messages
      #expect(result == LARDER_OK && seen.areRight, "\(length)")
      // Where the newest are cut off, some of an earlier lap may be what is newest now.
      #expect(left.allSatisfy { seen.map(\.sequence).contains($0) }, "\(length)")
      #expect(report.intact == UInt64(seen.count), "\(length)")
      #expect(try salvaged.statistics.next_sequence == UInt64(appended) + 1, "\(length)")
      salvaged.close()
      try FileManager.default.removeItem(at: target)
    }
  }

  // MARK: - Helpers

  /// Whether `seen` is `expected`, or that without one message.
  private func isExpectedButOne(_ seen: [RingMessage], _ expected: [RingMessage]) -> Bool {
    guard seen.areRight, seen.count == expected.count || seen.count == expected.count - 1
    else { return false }
    var rest = expected.map(\.sequence)[...]
    for message in seen {
      guard let index = rest.firstIndex(of: message.sequence) else { return false }
      rest = rest[(index + 1)...]
    }
    return true
  }
}
