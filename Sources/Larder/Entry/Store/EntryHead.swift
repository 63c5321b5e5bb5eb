// SPDX-License-Identifier: MIT

/// How the bytes of an entry are cut into its values: what is stored as its extended data.
///
///     0    u8   1, the form
///     1    u8   0
///     2    u16  count of values
///     4    u32  0
///     8    u64  length of each value
///
/// All little-endian. The values lie one after the other, with nothing in between.
struct EntryHead {
  private static let form: UInt8 = 1
  private static let fixedCount = 8

  let bytes: UnsafeRawBufferPointer

  /// The bytes of the head of so many values.
  static func byteCount(_ valueCount: Int) -> Int { fixedCount + 8 * valueCount }

  /// Writes the head of values of those lengths.
  static func write(_ lengths: [Int], into target: UnsafeMutableRawBufferPointer) {
    target.storeBytes(of: UInt64(0), as: UInt64.self)
    target.storeBytes(of: form, as: UInt8.self)
    target.storeBytes(
      of: UInt16(truncatingIfNeeded: lengths.count).littleEndian, toByteOffset: 2, as: UInt16.self)
    for (index, length) in lengths.enumerated() {
      target.storeBytes(
        of: UInt64(truncatingIfNeeded: length).littleEndian, toByteOffset: fixedCount + 8 * index,
        as: UInt64.self)
    }
  }

  /// Takes a head as it was stored; nil if it is not one of so many values, or if they do
  /// not have so many bytes together.
  init?(_ bytes: UnsafeRawBufferPointer, valueCount: Int, size: UInt64) {
    guard bytes.count == Self.byteCount(valueCount), bytes[0] == Self.form, bytes[1] == 0,
      UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) == valueCount,
      bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self) == 0
    else { return nil }
    self.bytes = bytes
    var rest = size
    for index in 0..<valueCount {
      let length = length(at: index)
      guard length <= rest else { return nil }
      rest -= length
    }
    if rest != 0 { return nil }
  }

  /// The bytes of a value; `index` is in range.
  func length(at index: Int) -> UInt64 {
    UInt64(
      littleEndian: bytes.loadUnaligned(
        fromByteOffset: Self.fixedCount + 8 * index, as: UInt64.self))
  }
}
