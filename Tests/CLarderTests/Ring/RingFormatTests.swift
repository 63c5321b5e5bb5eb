// SPDX-License-Identifier: MIT
import CLarder
import Foundation
import LarderTestSupport
import Testing

/// The bytes of a file, version 2. What these tests hold never changes: files outlive programs.
@Suite("Ring: the file format")
struct RingFormatTests {
  let directory: TemporaryDirectory
  let url: URL

  init() throws {
    directory = try TemporaryDirectory()
    url = directory.file("ring")
  }

  /// A sealed ring of 576 bytes that overwrites, with one cursor, in its second lap. Made by a
  /// program in another language from the description of the format alone.
  static let fixture: [UInt8] = {
    let digits = """
      4c41524452494e47020000000100000040020000000000008001000000000000
      80000000000000006a736f6e0000000000002a36fe9c9717dec0175a113647d2
      400000000000000040000000000000000800000000000000c000000000000000
      0500000000000000b000000000000000040000000000000002000000c7924756
      0100000000000000020000000000000000000000000000000000000000000000
      887766554433221100ffeeddccbbaa99000102030405060708090a0b0c0d0e0f
      28000000000000000100000000000000feffffffffffffff0800000000000003
      08000000000000030700000000000000d7ffffffffffffff0000000000000000
      0800000000000000280000000000000000010000000000000800000000000000
      0200000000000000fdffffffffffffff00000000000000000000000000000000
      7265616465720000000000000000000000000000000000000000000000000000
      060000001089f2ab0500000000000000faffffffffffffff0000000000000000
      1e0000003ef836090500000000000002666976652c2074686520666972737420
      61667465722074686520777261700000000000004401bb470800000000008002
      05000000b897787e030000000000000174687265650000000400008041fd5997
      0400000000000001666f757200000000ffffffff49b28fa50500000000000002
      4c41524452494e47020000000100000040020000000000008001000000000000
      80000000000000006a736f6e0000000000002a36fe9c9717dec0175a113647d2
      """
    let nibbles = digits.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
    return stride(from: 0, to: nibbles.count, by: 2).map {
      UInt8(nibbles[$0] << 4 | nibbles[$0 + 1])
    }
  }()

  static let messages = ["three", "four", "five, the first after the wrap", ""]

  // MARK: - Reading what was written

  @Test func aFileOfVersion2IsRead() throws {
    try url.create(Self.fixture)
    for flags in [UInt32(LARDER_RING_READ_ONLY), 0] {
      let ring = try Ring(url) { $0.flags = flags }
      let messages = try ring.messages
      #expect(messages.map(\.sequence) == [3, 4, 5, 8])
      #expect(messages.map { String(decoding: $0.payload, as: UTF8.self) } == Self.messages)
      #expect(messages.map(\.isPartial) == [false, true, false, false])
      #expect(messages.map(\.lost) == [0, 0, 0, 2])
      #expect(try ring.acknowledged("reader") == 5)
      #expect(try ring.recovery.was_closed == 1)
      let statistics = try ring.statistics
      #expect(statistics.capacity_bytes == 576 && statistics.data_bytes == 128)
      #expect(statistics.used_bytes == 128 && statistics.count == 4)
      #expect(statistics.oldest_sequence == 3 && statistics.newest_sequence == 8)
      #expect(statistics.next_sequence == 40 && statistics.synced_sequence == 8)
      // It comes from another start of the machine: what is reserved may have been given.
      #expect(statistics.skipped == 31)
      #expect(statistics.removed == 1 && statistics.lost == 2 && statistics.overwritten == 1)
      #expect(statistics.wraps == 1 && statistics.version == 2 && statistics.cursor_slots == 1)
      #expect(statistics.created_ns == 1_700_000_000_000_000_000)
      #expect(statistics.content_format == 0x6E6F_736A)
      #expect(statistics.flags == UInt32(LARDER_RING_OVERWRITE))
      #expect(ring.isSound)
      if flags != 0 {
        ring.close()
        #expect(try url.bytes() == Self.fixture)
      } else {
        #expect(try ring.append([1]) == 40)
        #expect(try ring.sequences == [4, 5, 8, 40])
      }
    }
  }

  @Test func itIsReadWithoutHavingBeenClosedAndWithoutItsHeader() throws {
    var bytes = Self.fixture
    bytes.set(UInt32(0), at: 124)
    try url.create(bytes)
    #expect(try Ring(url).sequences == [3, 4, 5, 8])
    bytes.replaceSubrange(0..<64, with: repeatElement(0, count: 64))
    try url.create(bytes)
    #expect(try Ring(url).sequences == [3, 4, 5, 8])
  }

  /// The same file, field by field.
  @Test func everyFieldIsWhereTheDescriptionSaysItIs() {
    var bytes = [UInt8](repeating: 0, count: 576)
    bytes.replaceSubrange(0..<8, with: Array("LARDRING".utf8))
    bytes.set(UInt32(2), at: 8)  // version
    bytes.set(UInt32(1), at: 12)  // flags: overwrite
    bytes.set(UInt64(576), at: 16)  // capacity
    bytes.set(UInt64(320 + 64), at: 24)  // data offset
    bytes.set(UInt64(128), at: 32)  // data bytes
    bytes.replaceSubrange(40..<44, with: Array("json".utf8))  // content format
    bytes.set(UInt64(1_700_000_000_000_000_000), at: 48)  // created
    bytes.set(UInt32(0x5A17_C0DE), at: 56)  // salt
    bytes.sealFixed()

    bytes.set(UInt64(64), at: 64)  // oldest
    bytes.set(UInt64(64), at: 72)  // and its copy
    bytes.set(UInt64(8), at: 80)  // newest
    bytes.set(UInt64(128 + 64), at: 88)  // end
    bytes.set(UInt64(5), at: 96)  // the publication before: newest
    bytes.set(UInt64(128 + 48), at: 104)  // and end
    bytes.set(UInt64(4), at: 112)  // count
    bytes.set(UInt32(2), at: 120)  // epoch
    bytes.set(UInt64(1), at: 128)  // removed
    bytes.set(UInt64(2), at: 136)  // lost
    bytes.set(UInt64(0x1122_3344_5566_7788), at: 160)  // device
    bytes.set(UInt64(0x99AA_BBCC_DDEE_FF00), at: 168)  // inode
    bytes.replaceSubrange(176..<192, with: 0..<16)  // boot id
    bytes.set(UInt64(40), at: 192)  // next floor
    bytes.set(UInt64(1), at: 200)  // removed through
    bytes.set(~UInt64(1), at: 208)  // and its complement
    bytes.set(UInt64(8) | 3 << 56, at: 216)  // synced
    bytes.set(UInt64(8) | 3 << 56, at: 224)  // syncing
    bytes.set(UInt64(7), at: 232)  // given
    bytes.set(~UInt64(40), at: 240)  // next floor's complement
    bytes.set(UInt64(8), at: 256)  // marked
    bytes.set(UInt64(40), at: 264)  // floor synced
    bytes.set(UInt64(256), at: 272)  // sealed limit
    bytes.set(UInt64(8), at: 280)  // promised
    bytes.set(UInt64(2), at: 288)  // missing
    bytes.set(~UInt64(2), at: 296)  // and its complement
    bytes.set(bytes.crc(64..<320), at: 124)  // closed

    bytes.replaceSubrange(320..<326, with: Array("reader".utf8))
    bytes.set(UInt32(6), at: 352)  // length of the name
    bytes.set(bytes.crc(320..<356), at: 356)
    bytes.set(UInt64(5), at: 360)  // acknowledged
    bytes.set(~UInt64(5), at: 368)  // and its complement

    let afterGap = UInt64(1) << 55
    record(&bytes, at: 0, Self.messages[2], tag: 5 | 2 << 56)
    record(&bytes, at: 48, Self.messages[3], tag: 8 | afterGap | 2 << 56)
    record(&bytes, at: 64, Self.messages[0], tag: 3 | 1 << 56)
    record(&bytes, at: 88, Self.messages[1], tag: 4 | 1 << 56, mark: 1 << 31)
    record(&bytes, at: 112, "", tag: 5 | 2 << 56, mark: .max)  // a pad
    bytes.replaceSubrange(512..<576, with: bytes[0..<64])
    for index in bytes.indices where bytes[index] != Self.fixture[index] {
      Issue.record("byte \(index): \(Self.fixture[index]), not \(bytes[index])")
    }
  }

  // MARK: - Writing what is read

  @Test func whatARingWritesIsAtTheDescribedPlaces() throws {
    let ring = try Ring(url) { options in
      options.capacity_bytes = 576
      options.cursor_slots = 1
      options.flags = UInt32(LARDER_RING_OVERWRITE)
      options.content_format = 0x6E6F_736A
    }
    for message in ["the first of twenty..", "second..", "three", "four", Self.messages[2], ""] {
      try ring.append(Array(message.utf8))
    }
    try ring.acknowledge("reader", 5)
    let statistics = try ring.statistics
    let open = RingImage(bytes: try url.bytes())
    #expect(open.bytes.integer(at: 124, as: UInt32.self) == 0)
    #expect(open.bytes.integer(at: 152, as: Int64.self) == statistics.writer_pid)
    ring.close()

    let image = RingImage(bytes: try url.bytes())
    let bytes = image.bytes
    #expect(bytes.count == 576)
    #expect(bytes[0..<48] == Self.fixture[0..<48])
    #expect(bytes.integer(at: 48, as: Int64.self) == statistics.created_ns)
    #expect(bytes.integer(at: 60, as: UInt32.self) == bytes.crc(0..<60))
    #expect(bytes[512..<576] == bytes[0..<64])

    #expect(image.oldest == 64 && bytes[72..<80] == bytes[64..<72])
    #expect(image.end == 192 && image.newest == 6 && image.count == 4)
    #expect(image.synced == 6 && bytes[216..<224] == bytes[224..<232])
    #expect(bytes.integer(at: 120, as: UInt32.self) % 2 == 0)
    var unclosed = bytes
    unclosed.set(UInt32(0), at: 124)
    #expect(bytes.integer(at: 124, as: UInt32.self) == unclosed.crc(64..<320))
    #expect(bytes.integer(at: 152, as: Int64.self) == 0)
    #expect(bytes[320..<384] == Self.fixture[320..<384])

    #expect(image.live.map(\.sequence) == [3, 4, 5, 6])
    #expect(image.live.map(\.offset) == [448, 472, 384, 432])
    #expect(image.live.map(\.length) == [5, 4, 30, 0])
    #expect([0, 48, 64, 88, 112].allSatisfy { image.isIntact(at: $0) })
    #expect(bytes.integer(at: 496, as: UInt32.self) == .max)
    #expect(image.everySequence.sorted() == [3, 4, 5, 6])
    #expect(String(decoding: bytes[400..<430], as: UTF8.self) == Self.messages[2])
  }

  @Test func aRestOfEightBytesIsPassedOverWithoutAPad() throws {
    let ring = try Ring(url, data: 72)
    for _ in 0..<4 { try ring.append([]) }
    try ring.append([1])
    let image = RingImage(bytes: try url.bytes())
    #expect(Array(image.bytes[896..<904]) == [UInt8](repeating: 0, count: 8))
    #expect(image.live.map(\.sequence) == [3, 4, 5])
    #expect(image.live.map(\.offset) == [864, 880, 832])
    #expect(try ring.sequences == [3, 4, 5])
  }

  // MARK: - Helpers

  /// Puts a record at a position of the fixture's data.
  private func record(
    _ bytes: inout [UInt8], at position: Int, _ text: String, tag: UInt64, mark: UInt32 = 0
  ) {
    let payload = Array(text.utf8)
    let word = UInt32(payload.count) | mark
    var covered = payload + [UInt8](repeating: 0, count: 16)
    covered.set(word, at: payload.count)
    covered.set(UInt32(position / 8), at: payload.count + 4)
    covered.set(tag, at: payload.count + 8)
    let place = 384 + position
    bytes.set(word, at: place)
    bytes.set(covered.crc(0..<covered.count, seed: 0x5A17_C0DE), at: place + 4)
    bytes.set(tag, at: place + 8)
    bytes.replaceSubrange(place + 16..<place + 16 + payload.count, with: payload)
  }
}
