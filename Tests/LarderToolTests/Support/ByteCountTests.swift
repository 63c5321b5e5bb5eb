// SPDX-License-Identifier: MIT
import Testing

@testable import LarderLogTool

@Suite struct ByteCountTests {
  @Test(
    arguments: [
      ("4096", 4096), ("1b", 1), ("100k", 102_400), ("100K", 102_400), ("100kB", 100_000),
      ("64MiB", 64 << 20), ("64M", 64 << 20), ("64MB", 64_000_000), ("1GB", 1_000_000_000),
      ("1.5GiB", 3 << 29), ("1TiB", 1 << 40), ("0.5k", 512), ("1_000_000", 1_000_000),
      ("64 MiB", 64 << 20), ("18446744073709551615", UInt64.max), ("9007199254740993", 1 << 53 + 1),
    ] as [(String, UInt64)])
  func unitsAreUnderstood(_ text: String, _ bytes: UInt64) throws {
    #expect(try ByteCount(text).bytes == bytes)
  }

  @Test(
    arguments: [
      "", "k", "-1", "0", "0k", "0.0001k", "ten", "1X", "1KiBB", "1.2.3", ".5k", "1e3", "inf",
      "nan",
      "18446744073709551616", "99999999T", "٣k",
    ])
  func whatIsNoSizeIsAnError(_ text: String) {
    #expect(throws: (any Error).self) { try ByteCount(text) }
  }
}
