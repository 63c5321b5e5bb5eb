// SPDX-License-Identifier: MIT
import CLarder
import LarderTestSupport

/// The bytes of a ring file, read by the letter of the format and by nothing of ours.
struct RingImage {
  struct Record: Equatable {
    var sequence: UInt64
    /// From the start of the file.
    var offset: Int
    var length: Int
    /// With its head and padding.
    var size: Int { (16 + length + 7) / 8 * 8 }
  }

  var bytes: [UInt8]

  var dataOffset: Int { Int(bytes.integer(at: 24, as: UInt64.self)) }
  var dataBytes: Int { Int(bytes.integer(at: 32, as: UInt64.self)) }
  var salt: UInt32 { bytes.integer(at: 56) }
  var oldest: UInt64 { bytes.integer(at: 64) }
  /// Where the publication that holds is.
  var published: Int {
    bytes.integer(at: 104, as: UInt64.self) > bytes.integer(at: 88, as: UInt64.self) ? 96 : 80
  }
  var end: UInt64 { bytes.integer(at: published + 8) }
  var newest: UInt64 { bytes.integer(at: published) }
  var count: UInt64 { bytes.integer(at: 112) }
  /// Without its generation.
  var synced: UInt64 { bytes.integer(at: 216, as: UInt64.self) & (1 << 55 - 1) }

  /// Whether an intact record or pad stands at a position of the data.
  func isIntact(at position: Int) -> Bool {
    let place = dataOffset + position
    guard position + 16 <= dataBytes, place + 16 <= bytes.count else { return false }
    let word: UInt32 = bytes.integer(at: place)
    let length = word == .max ? 0 : Int(word & 0x7FFF_FFFF)
    guard (16 + length + 7) / 8 * 8 <= dataBytes - position, place + 16 + length <= bytes.count
    else { return false }
    var covered = Array(bytes[place + 16..<place + 16 + length])
    covered += bytes[place..<place + 4]
    covered += [0, 0, 0, 0] + bytes[place + 8..<place + 16]
    covered.set(UInt32(position / 8), at: length + 4)
    return covered.crc(0..<covered.count, seed: salt) == bytes.integer(at: place + 4)
  }

  /// The live records in order, by the offsets in the header.
  var live: [Record] {
    var records: [Record] = []
    var offset = Int(oldest)
    while offset < Int(end) {
      let position = offset % dataBytes
      let place = dataOffset + position
      let rest = dataBytes - position
      if rest < 16 || bytes.integer(at: place, as: UInt32.self) == .max {
        offset += rest
        continue
      }
      let length = Int(bytes.integer(at: place, as: UInt32.self) & 0x7FFF_FFFF)
      let tag: UInt64 = bytes.integer(at: place + 8)
      let record = Record(sequence: tag & (1 << 55 - 1), offset: place, length: length)
      records.append(record)
      offset += record.size
    }
    return records
  }

  /// The numbers of all intact records, live or not.
  var everySequence: [UInt64] {
    stride(from: 0, to: dataBytes - 15, by: 8).compactMap { position in
      let place = dataOffset + position
      guard place + 16 <= bytes.count, bytes.integer(at: place, as: UInt32.self) != .max,
        bytes.integer(at: place + 8, as: UInt64.self) != 0, isIntact(at: position)
      else { return nil }
      return bytes.integer(at: place + 8, as: UInt64.self) & (1 << 55 - 1)
    }
  }
}
