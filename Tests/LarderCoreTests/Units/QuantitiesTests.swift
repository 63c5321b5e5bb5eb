// SPDX-License-Identifier: MIT

import LarderTestSupport
import Testing

@testable import LarderCore

@Suite("Quantities as people write them") struct QuantitiesTests {
  @Test(
    arguments: [
      ("0", 0), ("4096", 4096), ("1k", 1024), ("1 KiB", 1024), ("1kB", 1000), ("64MiB", 64 << 20),
      ("1.5GiB", 3 << 29), ("1_000", 1000), ("1T", 1 << 40),
      ("9007199254740993", 9_007_199_254_740_993),
    ] as [(String, UInt64)])
  func sizes(text: String, bytes: UInt64) throws {
    #expect(try WrittenSize(text).bytes == bytes)
  }

  @Test(arguments: ["", "x", ".5k", "1x", "-1", "1.2.3k", "18446744073709551616", "16777216T"])
  func whatIsNoSize(text: String) {
    #expect(errorCode { try WrittenSize(text) } == .invalidArgument)
  }

  @Test(
    arguments: [
      ("0", 0), ("90s", 90), ("250ms", 0.25), ("10m", 600), ("5min", 300), ("1h30m", 5400),
      ("1h 30m 5s", 5405), ("1.5d", 129_600), ("2w", 1_209_600), ("1 h", 3600), ("0s", 0),
    ] as [(String, Double)])
  func durations(text: String, seconds: Double) throws {
    #expect(try WrittenDuration(text).seconds == seconds)
    #expect(try WrittenDuration(text).duration == .milliseconds(seconds * 1000))
  }

  @Test(arguments: ["", "5", "x", "1y", "-5s", ".5s", "30m1h", "1h1h", "1h30", "1h, 5m", "s"])
  func whatIsNoDuration(text: String) {
    #expect(errorCode { try WrittenDuration(text) } == .invalidArgument)
  }

  @Test func aDurationOfAgesIsNoOverflow() throws {
    #expect(try WrittenDuration("99999999999999999999w").duration > .seconds(4_000_000_000))
  }
}
