// SPDX-License-Identifier: MIT
import Testing

@testable import LarderLogTool

@Suite struct QuantityTests {
  @Test func countsAreGroupedByThousands() {
    #expect(Quantity.count(0) == "0")
    #expect(Quantity.count(999) == "999")
    #expect(Quantity.count(1_000) == "1,000")
    #expect(Quantity.count(1_234_567) == "1,234,567")
    #expect(Quantity.count(-123) == "-123")
    #expect(Quantity.count(-1_234) == "-1,234")
    #expect(Quantity.count(1, "message") == "1 message")
    #expect(Quantity.count(2_000, "message") == "2,000 messages")
  }

  @Test func bytesHaveTheUnitThatSuitsThem() {
    #expect(Quantity.bytes(0) == "0 bytes")
    #expect(Quantity.bytes(1) == "1 byte")
    #expect(Quantity.bytes(1_023) == "1,023 bytes")
    #expect(Quantity.bytes(1_024) == "1 KiB")
    #expect(Quantity.bytes(64 << 20) == "64 MiB")
    #expect(Quantity.bytes(1_536) == "1.5 KiB")
    #expect(Quantity.bytes(1 << 40) == "1 TiB")
    #expect(Quantity.bytes(5 << 50) == "5120 TiB")
  }

  @Test func timesHaveTheUnitThatSuitsThem() {
    #expect(Quantity.time(.nanoseconds(46)) == "46 ns")
    #expect(Quantity.time(.nanoseconds(1_200)) == "1.2 µs")
    #expect(Quantity.time(.microseconds(3_400)) == "3.4 ms")
    #expect(Quantity.time(.milliseconds(310)) == "0.31 s")
    #expect(Quantity.time(.seconds(12)) == "12 s")
    #expect(Quantity.time(.seconds(4_000)) == "4,000 s")
  }

  @Test func sharesAreInPercent() {
    #expect(Quantity.percent(1, of: 3) == "33 %")
    #expect(Quantity.percent(0, of: 0) == "100 %")
    #expect(Quantity.percent(.max, of: .max) == "100 %")
    #expect(Quantity.percent(5, of: 4) == "100 %")
  }

  @Test func ratesAreInMegabytesASecond() {
    #expect(Quantity.rate(bytes: 100_000_000, in: .milliseconds(46)) == "2,173 MB/s")
    #expect(Quantity.rate(bytes: 5_000_000, in: .seconds(1)) == "5.0 MB/s")
  }
}
