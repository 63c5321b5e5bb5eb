// SPDX-License-Identifier: MIT
import CLarder
import Testing

@Suite("CBOR floats")
struct CborFloatTests {
  /// Those of RFC 8949, appendix A, and both sides of every limit of the narrower formats.
  static let written: [(value: Double, hex: String)] = [
    (0.0, "f9 0000"), (-0.0, "f9 8000"), (1.0, "f9 3c00"), (1.5, "f9 3e00"), (-4.0, "f9 c400"),
    (1.1, "fb 3ff199999999999a"), (-4.1, "fb c010666666666666"), (1.0e+300, "fb 7e37e43c8800759c"),
    (.infinity, "f9 7c00"), (-.infinity, "f9 fc00"), (.nan, "f9 7e00"), (-.nan, "f9 7e00"),
    (.signalingNaN, "f9 7e00"), (Double(nan: 0x1234, signaling: false), "f9 7e00"),
    // The largest half, and what is above it.
    (65_504, "f9 7bff"), (65_505, "fa 477fe100"), (65_536, "fa 47800000"), (100_000, "fa 47c35000"),
    (-65_504, "f9 fbff"), (-65_536, "fa c7800000"),
    // The smallest normal half, subnormal ones, and what is below them.
    (0x1p-14, "f9 0400"), (0x1p-14 - 0x1p-24, "f9 03ff"), (0x1.8p-15, "f9 0300"),
    (0x1p-24, "f9 0001"), (-0x1p-24, "f9 8001"), (0x1.8p-23, "f9 0003"), (0x1.4p-23, "fa 34200000"),
    (0x1.8p-24, "fa 33c00000"), (0x1p-25, "fa 33000000"),
    // One bit more than a half has.
    (1 + 0x1p-10, "f9 3c01"), (1 + 0x1p-11, "fa 3f801000"), (2_048, "f9 6800"),
    (2_049, "fa 45001000"),
    // The same for singles.
    (Double(Float.greatestFiniteMagnitude), "fa 7f7fffff"), (0x1p128, "fb 47f0000000000000"),
    (Double(Float.leastNormalMagnitude), "fa 00800000"), (0x1p-127, "fa 00400000"),
    (Double(Float.leastNonzeroMagnitude), "fa 00000001"), (0x1p-150, "fb 3690000000000000"),
    (0x1.8p-149, "fb 36a8000000000000"), (0x1.8p-148, "fa 00000003"), (1 + 0x1p-23, "fa 3f800001"),
    (1 + 0x1p-24, "fb 3ff0000010000000"),
    (.greatestFiniteMagnitude, "fb 7fefffffffffffff"),
    (.leastNormalMagnitude, "fb 0010000000000000"),
    (.leastNonzeroMagnitude, "fb 0000000000000001"), (0x1p-1044, "fb 0000000040000000"),
  ]

  @Test func aFloatIsWrittenInTheShortestFormThatKeepsIt() {
    for (value, hex) in Self.written {
      #expect(write(value) == cbor(hex), "\(value)")
    }
  }

  @Test func everyHalfHasItsValueAndIsWrittenBackAsItself() {
    for bits in UInt16.min ... .max {
      let value = larder_cbor_half_value(bits)
      let isNaN = bits & 0x7C00 == 0x7C00 && bits & 0x3FF != 0
      #expect(value.isNaN == isNaN)
      if !isNaN {
        #expect(value.bitPattern == halfValue(bits).bitPattern, "\(bits)")
        #expect(write(value) == [0xF9, UInt8(bits >> 8), UInt8(bits & 0xFF)], "\(bits)")
      }
    }
  }

  @Test func aSingleThatIsNoHalfIsWrittenAsASingle() {
    // Every exponent, with fractions that differ in their lowest bits.
    for exponent in UInt32(0)..<255 {
      for fraction: UInt32 in [0, 1, 0x1000, 0x1FFF, 0x2000, 0x3000, 0x40_0000, 0x7F_FFFF] {
        for sign: UInt32 in [0, 1 << 31] {
          let bits = sign | exponent << 23 | fraction
          let bytes = write(Double(Float(bitPattern: bits)))
          if isHalf(Double(Float(bitPattern: bits))) {
            #expect(bytes.count == 3, "\(bits)")
          } else {
            #expect(bytes == [0xFA] + bigEndian(UInt64(bits), 4), "\(bits)")
          }
        }
      }
    }
  }

  @Test func whatHasMoreBitsThanASingleIsWrittenAsADouble() {
    for exponent in UInt64(0)..<2047 {
      for fraction: UInt64 in [1, 1 << 28, 1 << 28 | 1 << 51, (1 << 52) - 1] {
        let bits = exponent << 52 | fraction
        #expect(write(Double(bitPattern: bits)) == [0xFB] + bigEndian(bits, 8), "\(bits)")
      }
    }
  }

  // MARK: - Helpers

  private func write(_ value: Double) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 9) { buffer, count in
      count = larder_cbor_write_float(buffer.baseAddress!, value)
    }
  }

  /// As the format's definition says it.
  private func halfValue(_ bits: UInt16) -> Double {
    let exponent = Int(bits >> 10 & 0x1F)
    let fraction = Double(bits & 0x3FF)
    let magnitude =
      switch exponent {
      case 0: Double(sign: .plus, exponent: -24, significand: fraction)
      case 31: Double.infinity
      default: Double(sign: .plus, exponent: exponent - 25, significand: 1024 + fraction)
      }
    return bits >> 15 == 0 ? magnitude : -magnitude
  }

  /// Whether a finite number is a multiple of the smallest half with no more than 11 bits.
  private func isHalf(_ value: Double) -> Bool {
    guard abs(value) <= 65_504, value != 0 else { return value == 0 }
    let unit = max(value.ulp * 0x1p42, 0x1p-24)
    return value.truncatingRemainder(dividingBy: unit) == 0
  }

  private func bigEndian(_ value: UInt64, _ bytes: Int) -> [UInt8] {
    (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
  }
}
