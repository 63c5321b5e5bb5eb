// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

/// Damage is planted into the file while it is open: the mapping shows it at once.
@Suite("Ring: the validator")
struct RingCheckTests {
  let directory: TemporaryDirectory
  let url: URL
  let ring: Ring

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("ring")
    ring = try Ring(url, data: 1400)
    try ring.append(lengths: (0..<100).map { $0 * 11 % 47 })
    try ring.acknowledge("a", 70)
    try ring.acknowledge("b", 80)
  }

  @Test func aSoundRingIsSoundForWriterAndReaders() throws {
    let (status, report) = ring.verify()
    #expect(status == LARDER_OK)
    let statistics = try ring.statistics
    #expect(report.intact == statistics.count)
    #expect(report.oldest_sequence == statistics.oldest_sequence)
    #expect(report.newest_sequence == 100)
    #expect(report.lost == 0 && report.damaged_places == 0 && report.damaged_bytes == 0)
    #expect(report.header_damaged == 0 && report.state_damaged == 0)
    #expect(try Ring(reading: url).isSound)
    try ring.shutdown()
    #expect(try Ring(reading: url).isSound)
  }

  @Test func everyPlaceOfEveryRecordIsChecked() throws {
    let live = RingImage(bytes: try url.bytes()).live
    for (index, record) in live.enumerated() {
      // Of the padding no byte means anything.
      for place in [0, 4, 8, 14, 16, 15 + record.length].filter({ $0 < 16 + record.length }) {
        try url.flip(at: record.offset + place, 0x21)
        let (status, report) = ring.verify()
        #expect(status == LARDER_EDAMAGED, "\(record) at \(place)")
        #expect(report.intact == UInt64(live.count) - 1)
        #expect(report.lost == 1 && report.damaged_places == 1, "\(record) at \(place)")
        #expect(report.first_damage_offset == UInt64(record.offset))
        // Before a pad, the pad is passed over with the record.
        let isLast = index + 1 < live.count && live[index + 1].offset < record.offset
        if !isLast { #expect(report.damaged_bytes == UInt64(record.size)) }
        try url.flip(at: record.offset + place, 0x21)
      }
    }
    #expect(ring.isSound)
  }

  @Test func severalDamagedPlacesAreCountedOneByOne() throws {
    let live = RingImage(bytes: try url.bytes()).live
    for index in [3, 4, 9] { try url.flip(at: live[index].offset + 5) }
    let report = ring.verify().report
    #expect(report.damaged_places == 2 && report.lost == 3)
    #expect(report.intact == UInt64(live.count) - 3)
    #expect(report.first_damage_offset == UInt64(live[3].offset))
    #expect(report.damaged_bytes == UInt64(live[3].size + live[4].size + live[9].size))
  }

  @Test func aRecordOutOfPlaceIsDamage() throws {
    let bytes = try url.bytes()
    let live = RingImage(bytes: bytes).live
    // Two records of the same size, each intact, change places.
    let first = live[0]
    let other = try #require(live.dropFirst().first { $0.size == first.size })
    try url.patch(Array(bytes[first.offset..<first.offset + first.size]), at: other.offset)
    #expect(ring.verify().report.lost == 1)
    #expect(ring.verify().status == LARDER_EDAMAGED)
  }

  @Test(arguments: [0, 8, 12, 16, 40, 56, 60])
  func theFixedHeaderAndItsBackupAreChecked(offset: Int) throws {
    // Before, the backup may be torn, and one flipped byte in 128 looks as if it were.
    try ring.sync()
    let size = try url.bytes().count
    for place in [offset, size - 64 + offset] {
      try url.flip(at: place)
      let (status, report) = ring.verify()
      #expect(status == LARDER_EDAMAGED)
      #expect(report.header_damaged == 1)
      #expect(report.intact == (try ring.statistics.count))
      try url.flip(at: place)
    }
    #expect(ring.isSound)
  }

  @Test(arguments: [64, 72, 80, 88])
  func theStateIsComparedWithWhatTheWriterKnows(field: Int) throws {
    // Of the two publications, the one that holds.
    let published = RingImage(bytes: try url.bytes()).published
    let offset = field < 80 ? field : published + field - 80
    try url.flip(at: offset, 0x08)
    let (status, report) = ring.verify()
    #expect(status == LARDER_EDAMAGED)
    #expect(report.state_damaged == 1)
    try url.flip(at: offset, 0x08)
    #expect(ring.isSound)
  }

  @Test func aCountThatDoesNotAgreeWithTheRecordsIsDamage() throws {
    try url.flip(at: 112, 0x04)
    let reading = try Ring(reading: url)
    #expect(reading.verify().status == LARDER_EDAMAGED)
    #expect(reading.verify().report.state_damaged == 1 || reading.verify().report.lost > 0)
  }

  @Test func cursorsAreChecked() throws {
    for (slot, place) in [(0, 0), (0, 36), (0, 40), (0, 48), (1, 31), (1, 32), (1, 47), (2, 32)] {
      let offset = 320 + 64 * slot + place
      try url.flip(at: offset)
      let (status, report) = ring.verify()
      #expect(status == LARDER_EDAMAGED, "\(slot) \(place)")
      #expect(report.damaged_places == 1 && report.damaged_bytes == 64)
      #expect(report.first_damage_offset == UInt64(320 + 64 * slot))
      #expect(report.lost == 0)
      try url.flip(at: offset)
    }
    #expect(ring.isSound)
  }

  @Test func anEmptyRingIsSound() throws {
    try ring.remove(through: .max)
    #expect(ring.isSound)
    #expect(ring.verify().report.intact == 0)
    #expect(try Ring(directory.file("new"), data: 16).isSound)
  }
}
