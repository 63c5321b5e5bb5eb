// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Integers, floats, strings and collections of every size.
@Suite struct CBORNumberTests {
  private func expectBounds<T: FixedWidthInteger & Codable>(_ type: T.Type) throws {
    for value in [T.min, .min + 1, 0, 1, 23, 24, .max - 1, .max] {
      #expect(try roundTrip(value) == value)
      #expect(try roundTrip([value]) == [value])
      // One beyond is refused, and not wrapped round.
      guard T.bitWidth < 128, let wide = Int128(exactly: value) else { continue }
      #expect(try CBORDecoder().decode(Int128.self, from: cbor(value)) == wide)
      for neighbour in [wide - 1, wide + 1] where T(exactly: neighbour) == nil {
        let bytes = try cbor(neighbour)
        #expect(failure { try CBORDecoder().decode(T.self, from: bytes) } == .corrupted([]))
        let list = try cbor([neighbour])
        #expect(
          failure { try CBORDecoder().decode([T].self, from: list) } == .corrupted(["Index 0#0"]))
      }
    }
  }

  @Test func integersOfEveryWidthComeBackAtTheirBounds() throws {
    try expectBounds(Int.self)
    try expectBounds(Int8.self)
    try expectBounds(Int16.self)
    try expectBounds(Int32.self)
    try expectBounds(Int64.self)
    try expectBounds(Int128.self)
    try expectBounds(UInt.self)
    try expectBounds(UInt8.self)
    try expectBounds(UInt16.self)
    try expectBounds(UInt32.self)
    try expectBounds(UInt64.self)
    try expectBounds(UInt128.self)
  }

  @Test func integersTakeTheShortestHead() throws {
    let sizes: [(Int64, Int)] = [
      (0, 1), (23, 1), (24, 2), (255, 2), (256, 3), (65_535, 3), (65_536, 5), (4_294_967_295, 5),
      (4_294_967_296, 9), (.max, 9), (-1, 1), (-24, 1), (-25, 2), (-256, 2), (-257, 3),
      (-65_536, 3), (-65_537, 5), (-4_294_967_296, 5), (-4_294_967_297, 9), (.min, 9),
    ]
    for (number, size) in sizes {
      #expect(try cbor(number).count == size, "\(number)")
      #expect(try cbor(Int128(number)).count == size, "\(number)")
    }
  }

  @Test func bignumsBeginBehind64Bits() throws {
    #expect(try cbor(Int128(UInt64.max)).hex == "1bffffffffffffffff")
    #expect(try cbor(Int128(UInt64.max) + 1).hex == "c249010000000000000000")
    #expect(try cbor(-1 - Int128(UInt64.max)).hex == "3bffffffffffffffff")
    #expect(try cbor(-2 - Int128(UInt64.max)).hex == "c349010000000000000000")
    #expect(try cbor(UInt128.max).hex == "c250ffffffffffffffffffffffffffffffff")
    #expect(try cbor(Int128.min).hex == "c3507fffffffffffffffffffffffffffffff")
  }

  @Test func floatsTakeTheShortestFormThatKeepsThem() throws {
    let sizes: [(Double, Int)] = [
      (0, 3), (-0.0, 3), (1.5, 3), (65_504, 3), (65_505, 5), (65_536, 5), (0x1p-24, 3),
      (0x1p-25, 5),
      (0x1.004p0, 3), (0x1.002p0, 5), (0x1.000002p0, 5), (0x1.000001p0, 9), (0.1, 9), (1e300, 9),
      (0x1p-149, 5), (0x1p-150, 9), (.infinity, 3), (-.infinity, 3), (.nan, 3),
      (.greatestFiniteMagnitude, 9), (.leastNonzeroMagnitude, 9), (Double(Float.pi), 5),
      (Double(Float.greatestFiniteMagnitude), 5), (-0x1.ff8p-15, 3), (0x1.ffcp-15, 5),
      (0x1.ffp-16, 3), (0x1.ff8p-16, 5),
    ]
    for (number, size) in sizes {
      let bytes = try cbor(number)
      #expect(bytes.count == size, "\(number)")
      let back = try CBORDecoder().decode(Double.self, from: bytes)
      #expect(back.bitPattern == number.bitPattern || (back.isNaN && number.isNaN))
      let float = Float(number)
      let floatBack = try roundTrip(float)
      #expect(floatBack.bitPattern == float.bitPattern || (float.isNaN && floatBack.isNaN))
      #expect(try cbor(float).count <= 5)
    }
    #expect(try cbor(Float(0.1)).count == 5)
    #expect(try cbor(-Double.nan).hex == "f97e00")
  }

  @Test func everyHalfAndManyOthersComeBack() throws {
    var generator = SeededGenerator(seed: 8949)
    let decoder = CBORDecoder()
    for bits in UInt16.min ... .max {
      let bytes = Data([0xf9, UInt8(bits >> 8), UInt8(bits & 255)])
      let number = try decoder.decode(Double.self, from: bytes)
      #expect(try number.isNaN || cbor(number) == bytes)
    }
    for _ in 0..<20_000 {
      let double = Double(bitPattern: generator.next())
      let float = Float(bitPattern: UInt32(truncatingIfNeeded: generator.next()))
      #expect(try double.isNaN || roundTrip(double) == double, "Seed \(generator.seed)")
      #expect(try float.isNaN || roundTrip(float) == float, "Seed \(generator.seed)")
    }
  }

  @Test func numbersAreReadAsOtherNumbersThatEqualThem() throws {
    #expect(try CBORDecoder().decode(Int.self, from: cbor(3.0)) == 3)
    #expect(try CBORDecoder().decode(UInt8.self, from: cbor(-0.0)) == 0)
    #expect(try CBORDecoder().decode(Double.self, from: cbor(1 << 53)) == 0x1p53)
    #expect(try CBORDecoder().decode(Float.self, from: cbor(-7)) == -7)
    #expect(try CBORDecoder().decode([Int].self, from: cbor([1.0, 1e9])) == [1, 1_000_000_000])
    #expect(try CBORDecoder().decode([Double].self, from: cbor([1, -1])) == [1, -1])
    for number in [1.5, 1e19, -1e19, .infinity, -.infinity, .nan] {
      let bytes = try cbor(number)
      #expect(failure { try CBORDecoder().decode(Int.self, from: bytes) } == .corrupted([]))
    }
    for hex in ["f5", "6131", "4131", "80", "a0"] {
      #expect(failure { try value(Int.self, hex: hex) } == .otherType([]), "\(hex)")
      #expect(failure { try value(Double.self, hex: hex) } != nil, "\(hex)")
    }
    #expect(failure { try value(Bool.self, hex: "01") } == .otherType([]))
  }

  @Test(arguments: [0, 1, 15, 16, 23, 24, 255, 256, 65_535, 65_536])
  func stringsAndBytesOfEachLengthComeBack(_ count: Int) throws {
    var generator = SeededGenerator(seed: UInt64(count))
    let text = String(repeating: "a", count: count)
    #expect(try roundTrip(text) == text)
    let head = count < 24 ? 1 : count < 256 ? 2 : count < 65_536 ? 3 : 5
    #expect(try cbor(text).count == head + count)
    // Characters of two, three and four bytes, at odd offsets too.
    for other in ["ü", "水", "😀", "a水"] {
      let text = String(repeating: other, count: count)
      #expect(try roundTrip([text, text + "x"]) == [text, text + "x"])
    }
    let bytes = generator.bytes(count)
    #expect(try roundTrip(bytes) == bytes)
    #expect(try roundTrip(["k": [bytes]]) == ["k": [bytes]])
    #expect(try cbor(bytes).count == head + count)
  }

  @Test func substringsAndBridgedStringsAreWritten() throws {
    let text = "before größe after"
    #expect(try roundTrip(String(text.dropFirst(7).dropLast(6))) == "größe")
    let bridged = NSMutableString(string: text).substring(with: NSRange(location: 7, length: 5))
    #expect(try roundTrip(bridged) == "größe")
  }

  @Test func largeCollectionsComeBack() throws {
    let numbers = (0..<100_000).map { $0 * $0 - 50_000 }
    #expect(try roundTrip(numbers) == numbers)
    let doubles = numbers.map { Double($0) / 7 }
    #expect(try roundTrip(doubles) == doubles)
    let bytes = numbers.map { UInt8(truncatingIfNeeded: $0) }
    #expect(try roundTrip(bytes) == bytes)
    let map = Dictionary(uniqueKeysWithValues: (0..<100_000).map { ("key\($0)", $0) })
    #expect(try roundTrip(map) == map)
    let texts = map.mapValues { "\($0)" }
    #expect(try roundTrip(texts) == texts)
    let integers = Dictionary(uniqueKeysWithValues: (0..<100_000).map { ($0 * 3 - 1000, $0) })
    #expect(try roundTrip(integers) == integers)
  }

  @Test func aTypeReadsALargeMapInAnyOrder() throws {
    struct Sparse: Decodable {
      init(from decoder: any Decoder) throws {
        let map = try decoder.container(keyedBy: Name.self)
        for number in (0..<5_000).reversed() {
          let key = Name(stringValue: "\(number * 7919 % 5_000)")
          guard try map.decode(Int.self, forKey: key) == number * 7919 % 5_000 else {
            throw Wrong()
          }
          if map.contains(Name(stringValue: "x\(number)")) { throw Wrong() }
        }
      }
      struct Wrong: Error {}
    }
    let map = Dictionary(uniqueKeysWithValues: (0..<5_000).map { ("\($0)", $0) })
    #expect(throws: Never.self) { try CBORDecoder().decode(Sparse.self, from: cbor(map)) }
  }
}
