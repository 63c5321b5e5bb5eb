// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

/// The bytes of a file of version 3, whose records have times. What these tests hold never changes.
@Suite("Ring: the file format with times")
struct RingTimeFormatTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("ring")
  }

  /// A sealed ring of 608 bytes that overwrites, with one cursor, in its second lap. Made by a
  /// program in another language from the description of the format alone.
  static let fixture: [UInt8] = {
    let digits = """
      4c41524452494e47030000000100000060020000000000008001000000000000
      a0000000000000006a736f6e0000000000002a36fe9c9717dec0175a43fb184f
      500000000000000050000000000000000800000000000000f000000000000000
      0500000000000000d80000000000000004000000000000000200000060cdb7a6
      0100000000000000020000000000000000000000000000000000000000000000
      887766554433221100ffeeddccbbaa99000102030405060708090a0b0c0d0e0f
      28000000000000000100000000000000feffffffffffffff0800000000000003
      08000000000000030700000000000000d7ffffffffffffff0000000000000000
      0800000000000000280000000000000030010000000000000800000000000000
      0200000000000000fdffffffffffffff00000000000000000000000000000000
      7265616465720000000000000000000000000000000000000000000000000000
      060000001089f2ab0500000000000000faffffffffffffff0000000000000000
      26000000b70f628f0500000000000002666976652c2074686520666972737420
      616674657220746865207772617000cac471fe9c9717000008000000cf53ce91
      080000000000800201945fadfe9c97170d000000ad1a79e30300000000000001
      746872656505002a36fe9c97170000000c000080f6052d390400000000000001
      666f757205002a36fe9c971700000000ffffffffebed03f70500000000000002
      4c41524452494e47030000000100000060020000000000008001000000000000
      a0000000000000006a736f6e0000000000002a36fe9c9717dec0175a43fb184f
      """
    let nibbles = digits.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
    return stride(from: 0, to: nibbles.count, by: 2).map {
      UInt8(nibbles[$0] << 4 | nibbles[$0 + 1])
    }
  }()

  static let start: Int64 = 1_700_000_000_000_000_000
  static let times = [start + 5, start + 5, start + 1_000_000_000, start + 2_000_000_001]

  @Test func aFileOfVersion3IsRead() throws {
    try url.create(Self.fixture)
    for flags in [UInt32(LARDER_RING_READ_ONLY), UInt32(LARDER_RING_KEEP_TIMES), 0] {
      try url.create(Self.fixture)
      let ring = try Ring(url) { $0.flags = flags }
      let messages = try ring.messages
      #expect(messages.map(\.sequence) == [3, 4, 5, 8])
      #expect(
        messages.map { String(decoding: $0.payload, as: UTF8.self) } == RingFormatTests.messages)
      #expect(messages.map(\.time) == Self.times)
      #expect(messages.map(\.isPartial) == [false, true, false, false])
      #expect(messages.map(\.lost) == [0, 0, 0, 2])
      #expect(try ring.acknowledged("reader") == 5)
      let statistics = try ring.statistics
      #expect(statistics.version == 3 && statistics.count == 4 && statistics.used_bytes == 160)
      #expect(statistics.flags == UInt32(LARDER_RING_OVERWRITE | LARDER_RING_KEEP_TIMES))
      #expect(statistics.oldest_time_ns == Self.times.first)
      #expect(statistics.newest_time_ns == Self.times.last)
      #expect(ring.isSound)
    }
  }

  @Test func itIsReadWithoutHavingBeenClosedAndWithoutItsHeader() throws {
    var bytes = Self.fixture
    bytes.set(UInt32(0), at: 124)
    try url.create(bytes)
    #expect(try Ring(url).messages.map(\.time) == Self.times)
    bytes.replaceSubrange(0..<64, with: repeatElement(0, count: 64))
    try url.create(bytes)
    #expect(try Ring(url).messages.map(\.time) == Self.times)
  }

  @Test func whatARingWritesIsAtTheDescribedPlaces() throws {
    let clock = RingClock(Self.start)
    let ring = try Ring(url) { options in
      options.capacity_bytes = 608
      options.cursor_slots = 1
      options.flags = UInt32(LARDER_RING_OVERWRITE | LARDER_RING_KEEP_TIMES)
      options.content_format = 0x6E6F_736A
      clock.set(in: &options)
    }
    // The clock is set back before the fourth.
    for (message, time) in [
      ("the first of twenty....", 1), ("second..", 2), ("three", 5), ("four", 4),
      (RingFormatTests.messages[2], 1_000_000_000),
    ] {
      clock.now = Self.start + Int64(time)
      try ring.append(Array(message.utf8))
    }
    ring.close()
    let bytes = try url.bytes()
    #expect(bytes[0..<48] == Self.fixture[0..<48])
    #expect(bytes[544..<608] == bytes[0..<64])
    let salt = bytes.integer(at: 56, as: UInt32.self)
    for (position, text, time) in [
      (80, "three", Self.times[0]), (112, "four", Self.times[1]),
      (0, RingFormatTests.messages[2], Self.times[2]),
    ] {
      let place = 384 + position, length = text.utf8.count + 8
      #expect(bytes.integer(at: place, as: UInt32.self) == UInt32(length))
      #expect(Array(bytes[place + 16..<place + 8 + length]) == Array(text.utf8))
      #expect(bytes.integer(at: place + 8 + length, as: Int64.self) == time)
      var covered = Array(bytes[place + 16..<place + 16 + length])
      covered += bytes[place..<place + 4]
      covered += withUnsafeBytes(of: UInt32(position / 8).littleEndian) { Array($0) }
      covered += bytes[place + 8..<place + 16]
      let crc = covered.crc(0..<covered.count, seed: salt)
      #expect(bytes.integer(at: place + 4, as: UInt32.self) == crc)
    }
  }

  /// What an earlier release does with a file of version 3: there is no other test that it makes.
  @Test func aReaderThatDoesNotKnowTheVersionRefusesTheFile() throws {
    var bytes = Self.fixture
    #expect(bytes.integer(at: 8, as: UInt32.self) == 3)
    for version in [UInt32(0), 1, 4, .max] {
      bytes.set(version, at: 8)
      bytes.sealFixed()
      bytes.replaceSubrange(544..<608, with: bytes[0..<64])
      try url.create(bytes)
      var detail = larder_ring_detail()
      #expect(status { _ = try Ring(url, detail: &detail) } == LARDER_EVERSION)
      #expect(detail.version == version)
      #expect(try url.bytes() == bytes)
    }
  }

  @Test func aFileOfVersion2StaysOne() throws {
    for flags in [UInt32(0), UInt32(LARDER_RING_READ_ONLY)] {
      try url.create(RingFormatTests.fixture)
      let ring = try Ring(url) { $0.flags = flags }
      #expect(try ring.messages.map(\.time) == [0, 0, 0, 0])
      let statistics = try ring.statistics
      #expect(statistics.version == 2 && statistics.flags == UInt32(LARDER_RING_OVERWRITE))
      #expect(statistics.oldest_time_ns == 0 && statistics.newest_time_ns == 0)
      let reader = try RingReader(ring)
      #expect(status { try reader.seek(time: 1) } == LARDER_EINVALID)
      if flags == 0 {
        #expect(larder_ring_remove_before(ring.raw, .max, nil) == LARDER_EINVALID)
        try ring.append(Array("nine".utf8))
        ring.close()
        let bytes = try url.bytes()
        #expect(bytes[0..<64] == RingFormatTests.fixture[0..<64])
        // The message takes the place of the oldest one, without a time.
        #expect(bytes.integer(at: 448, as: UInt32.self) == 4)
        #expect(Array(bytes[464..<468]) == Array("nine".utf8))
      }
      var detail = larder_ring_detail()
      let asking = flags | UInt32(LARDER_RING_KEEP_TIMES)
      let refused = status { _ = try Ring(url, detail: &detail) { $0.flags = asking } }
      #expect(refused == LARDER_EMISMATCH)
      #expect(detail.version == 2 && detail.flags == UInt32(LARDER_RING_OVERWRITE))
    }
  }

  /// A payload too short for a time, with a checksum that agrees.
  @Test func aRecordThatIsTooShortForATimeIsDamage() throws {
    var bytes = Self.fixture
    let place = 384 + 112
    bytes.set(UInt32(7), at: place)
    var covered = Array(bytes[place + 16..<place + 23]) + Array(bytes[place..<place + 4])
    covered += withUnsafeBytes(of: UInt32(14).littleEndian) { Array($0) }
    covered += bytes[place + 8..<place + 16]
    bytes.set(covered.crc(0..<covered.count, seed: 0x5A17_C0DE), at: place + 4)
    try url.create(bytes)
    for flags in [UInt32(LARDER_RING_READ_ONLY), 0] {
      let ring = try Ring(url) { $0.flags = flags }
      #expect(try ring.sequences == [3, 5, 8])
      let reader = try RingReader(ring)
      try reader.seek(time: Self.start + 6)
      #expect(try reader.previous()?.sequence == 3)
    }
  }
}
