// SPDX-License-Identifier: MIT

import LarderCompatibility
import Testing

/// Parts of bytes. After Vellum's DataSizeSpec, "should calculate bytes correctly" and "should
/// calculate bytes from bits correctly".
struct DataSizeBitsTests {
  @Test(arguments: [128, 256, 512, 1024, 1536, 2048, 2560, 8192, 65536])
  func bytesHaveEightBits(count: Int) {
    let size = DataSize(bytes: count)
    #expect(size.bits == count * 8 && DataSize.bits(count * 8) == size)
    #expect(size.nibbles == count * 2 && DataSize.nibbles(count * 2) == size)
  }

  @Test(arguments: [
    (1, 1), (8, 1), (9, 2), (50, 7), (100, 13), (1000, 125), (1500, 188), (2000, 250),
    (2500, 313), (8000, 1000), (65500, 8188), (0, 0), (-8, -1), (-9, -1),
  ])
  func bitsAreRoundedUp(bits: Int, bytes: Int) {
    #expect(DataSize.bits(bits).bytes == bytes)
    #expect(DataSize.bits(Double(bits)).bytes == bytes)
  }

  @Test func partsOfBytesAreRoundedUp() {
    #expect(DataSize.nibbles(3).bytes == 2)
    #expect(DataSize.nibbles(2.5).bytes == 2)
    #expect(9.bits.bytes == 2 && 3.nibbles.bytes == 2)
    #expect(DataSize(bytes: .max).bits == .max)
    #expect(Int.max.bits.bytes == Int.max / 8 + 1)
  }
}
