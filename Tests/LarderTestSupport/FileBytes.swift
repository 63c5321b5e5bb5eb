// SPDX-License-Identifier: MIT
import CLarder
public import Foundation

extension URL {
  /// All bytes of the file.
  public func bytes() throws -> [UInt8] { [UInt8](try Data(contentsOf: self)) }

  /// Writes into the file as it is: its inode stays, and what has it mapped sees it.
  public func patch(_ bytes: [UInt8], at offset: Int = 0) throws {
    let file = try FileHandle(forUpdating: self)
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: Data(bytes))
    try file.close()
  }

  /// Turns bits of one byte round.
  public func flip(at offset: Int, _ bits: UInt8 = 0xFF) throws {
    let file = try FileHandle(forUpdating: self)
    try file.seek(toOffset: UInt64(offset))
    let old = try file.read(upToCount: 1) ?? Data([0])
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: Data([old[old.startIndex] ^ bits]))
    try file.close()
  }
}

extension [UInt8] {
  /// What `closed_crc` is while the file is closed.
  public var closedChecksum: UInt32 {
    var covered = Array(self[64..<320])
    covered.set(UInt32(0), at: 60)
    covered.set(UInt64(0), at: 184)
    return Swift.max(covered.crc(0..<256), 1)
  }

  /// The little-endian integer at `offset`.
  public func integer<T: FixedWidthInteger>(at offset: Int, as type: T.Type = T.self) -> T {
    withUnsafeBytes { T(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: T.self)) }
  }

  /// Puts a little-endian integer at `offset`.
  public mutating func set<T: FixedWidthInteger>(_ value: T, at offset: Int) {
    Swift.withUnsafeBytes(of: value.littleEndian) { bytes in
      replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }
  }

  /// The CRC of a part, going on from `seed`.
  public func crc(_ range: Range<Int>, seed: UInt32 = 0) -> UInt32 {
    withUnsafeBytes { larder_crc32c(seed, $0.baseAddress! + range.lowerBound, range.count) }
  }

  /// Puts the checksum of the fixed header at `offset` right.
  public mutating func sealFixed(at offset: Int = 0) {
    set(crc(offset..<offset + 60), at: offset + 60)
  }
}
