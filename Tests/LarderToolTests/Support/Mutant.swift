// SPDX-License-Identifier: MIT
import Foundation
import LarderTestSupport

/// Changes logs and stores as somebody would who means harm: checksums are mended, so that what is
/// wrong gets past them.
struct Mutant {
  var dice: SeededGenerator

  /// Changes a log in place.
  mutating func change(log: URL) throws {
    var bytes = try log.bytes()
    for _ in 0...Int.random(in: 0...2, using: &dice) {
      switch Int.random(in: 0..<8, using: &dice) {
      case 0..<4: change(&bytes, 64..<320)
      case 4: change(&bytes, 320..<832)
      case 5: change(&bytes, 8..<60)
      default: change(&bytes, 832..<bytes.count - 64)
      }
    }
    var facts = stat()
    guard stat(log.path, &facts) == 0 else { throw CocoaError(.fileReadUnknown) }
    // The state is believed in the file that it was made in.
    bytes.set(UInt64(truncatingIfNeeded: facts.st_dev), at: 160)
    bytes.set(UInt64(truncatingIfNeeded: facts.st_ino), at: 168)
    bytes.set(bytes.closedChecksum, at: 124)
    bytes.sealFixed()
    bytes.replaceSubrange(bytes.count - 64..<bytes.count, with: bytes[..<64])
    try log.patch(bytes)
  }

  /// Changes a file or two of a store.
  mutating func change(store: URL) throws {
    for _ in 0...Int.random(in: 0...1, using: &dice) {
      let segments = try StoreLog(store).segments
      if Bool.random(using: &dice), let segment = segments.randomElement(using: &dice) {
        try change(segment: segment)
      } else {
        try change(index: store.appendingPathComponent("data.mdb"))
      }
    }
  }

  /// Heads and records have a checksum of what is behind it.
  private mutating func change(segment: URL) throws {
    var bytes = try segment.bytes()
    if bytes.count <= 80 { return }
    var records: [Range<Int>] = []
    var place = 64
    while place + 8 < bytes.count {
      let length = Int(bytes.integer(at: place, as: UInt32.self))
      guard length > 8, length <= bytes.count - place else { break }
      records.append(place..<place + length)
      place += (length + 7) / 8 * 8
    }
    if let record = records.randomElement(using: &dice), Int.random(in: 0..<5, using: &dice) > 0 {
      change(&bytes, record.lowerBound + 8..<record.upperBound)
      bytes.set(bytes.crc(record.lowerBound + 8..<record.upperBound), at: record.lowerBound + 4)
    } else {
      change(&bytes, 12..<64)
      bytes.set(bytes.crc(12..<64), at: 8)
    }
    try segment.patch(bytes)
  }

  /// Pages have no checksums; what the store knows of itself has one.
  private mutating func change(index: URL) throws {
    var bytes = try index.bytes()
    let name = Array("LARDERST".utf8)
    let starts = stride(from: 0, to: bytes.count - 128, by: 2)
      .filter { bytes[$0] == name[0] && bytes[$0..<$0 + 8].elementsEqual(name) }
    if let start = starts.last, Int.random(in: 0..<3, using: &dice) == 0 {
      change(&bytes, start + 12..<start + 128)
      bytes.set(bytes.crc(start + 12..<start + 128), at: start + 8)
    } else {
      // Most of a page is empty; what begins and ends it is not.
      let page = Int.random(in: 0..<bytes.count / 4096, using: &dice) * 4096
      change(&bytes, Bool.random(using: &dice) ? page..<page + 64 : page + 3072..<page + 4096)
    }
    try index.patch(bytes)
  }

  /// Puts another number at a place in a range.
  private mutating func change(_ bytes: inout [UInt8], _ range: Range<Int>) {
    let width = [1, 2, 4, 8, 8].randomElement(using: &dice) ?? 8
    guard range.count >= width else { return }
    let steps = range.count / width
    let place = range.lowerBound + Int.random(in: 0..<steps, using: &dice) * width
    var old: UInt64 = 0
    for byte in bytes[place..<place + width].reversed() { old = old << 8 | UInt64(byte) }
    let near = UInt64.random(in: 1...64, using: &dice)
    let number =
      [
        0, 1, .max, .max - 1, old &+ near, old &- near, old &* 2, ~old, dice.next(),
        UInt64(1) << UInt64.random(in: 0..<64, using: &dice),
      ].randomElement(using: &dice) ?? 0
    for index in 0..<width {
      bytes[place + index] = UInt8(truncatingIfNeeded: number >> (8 * UInt64(index)))
    }
  }
}
