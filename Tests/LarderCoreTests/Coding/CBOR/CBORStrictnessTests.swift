// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Bytes that are not what they should be: always an error, never a trap.
struct CBORStrictnessTests {
  /// One of everything.
  struct Rich: Codable, Equatable {
    var id: UUID? = UUID(uuid: (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
    var text = "größe"
    var numbers = [0, -1, 1000, 70_000, 5_000_000_000]
    var floats = [0.5, 0.1, 1e300]
    var dates = [Date(timeIntervalSince1970: 1.5), Date(timeIntervalSinceReferenceDate: 0.001)]
    var map = ["a": [1: true], "b": [:]]
    var bytes = Data([1, 2, 3])
    var url = URL(string: "https://larder.example")
    var decimal = Decimal(string: "1.25")
    var wide = Int128.max
    var choice = Choice.two(left: "l", right: 2)
    var item = CBORValue.tagged(9, .array([.undefined, .simple(33), .map([])]))
    var small: [UInt8] = [1, 255]
    var words = ["w", ""]
    var pairs = ["k": "v"]
  }

  /// Reads some bytes as many types; each is an error or a value.
  private func readAsEverything(_ bytes: Data) {
    let types: [any Decodable.Type] = [
      Rich.self, CBORValue.self, [Rich].self, [Int].self, [Double].self, [String].self,
      [String: String].self, [String: CBORValue].self, [Int: Int].self, Date.self, Data.self,
      UUID.self, URL.self, Decimal.self, Int128.self, Float.self, Choice.self, Int?.self,
    ]
    for type in types {
      do { _ = try CBORDecoder().decode(type, from: bytes) } catch {
        #expect(error is DecodingError, "\(bytes.hex)")
      }
    }
  }

  @Test func aDocumentThatIsCutOffAnywhereIsRefused() throws {
    for deterministic in [false, true] {
      let bytes = try cbor(Rich(), deterministic: deterministic)
      #expect(try CBORDecoder().decode(Rich.self, from: bytes) == Rich())
      for count in 0..<bytes.count {
        let cut = bytes.prefix(count)
        #expect(failure { try CBORDecoder().decode(Rich.self, from: cut) } == .corrupted([]))
        #expect(failure { try CBORValue(cut) } == .corrupted([]))
      }
    }
  }

  @Test func aByteThatIsFlippedLeadsToAnErrorOrAValue() throws {
    let bytes = try cbor(Rich())
    for index in bytes.indices {
      for flip in [0xff, 0x01, 0x80, 0x20, 0x1f] as [UInt8] {
        var damaged = bytes
        damaged[index] ^= flip
        readAsEverything(damaged)
      }
    }
  }

  @Test func bytesAtRandomLeadToAnErrorOrAValue() throws {
    var generator = SeededGenerator(seed: 1)
    for _ in 0..<2_000 {
      var bytes = generator.bytes(Int.random(in: 0..<24, using: &generator))
      if !bytes.isEmpty {
        bytes[0] = [0x82, 0x9f, 0xa1, 0xbf, 0xc4, 0xc2, 0x5f].randomElement(using: &generator) ?? 0
      }
      readAsEverything(bytes)
    }
  }

  @Test(
    arguments: [
      "5bffffffffffffffff", "7bffffffffffffffff00", "9bffffffffffffffff", "bbffffffffffffffff",
      "9b7fffffffffffffff00", "bb7fffffffffffffff00", "bb80000000000000000000",
      "9affffffff00", "baffffffff0000", "5affffffff", "5b7fffffffffffffff", "9b000000010000000000",
      "9a00ffffff", "ba00ffffff", "a16161" + "9bffffffffffffffff", "819bffffffffffffffff",
      "5f5bfffffffffffffffe00ff", "c49bffffffffffffffff", "c25bffffffffffffffff",
    ])
  func lengthsThatExceedTheInputAreRefused(_ hex: String) {
    readAsEverything(Data(hex: hex))
    #expect(failure { try value(CBORValue.self, hex: hex) } == .corrupted([]))
    #expect(failure { try value([Int].self, hex: hex) } == .corrupted([]))
    #expect(failure { try value([Double].self, hex: hex) } == .corrupted([]))
    #expect(failure { try value([String: String].self, hex: hex) } == .corrupted([]))
  }

  @Test(
    arguments: [
      "a2616101616102", "a201000100", "bf616101616102ff", "a20100180100", "a2616101786161" + "02",
      "a2410100410101", "a28100008100" + "00", "a361610161620261" + "6103", "81a2f500f501",
      "a16178a2616101616102", "a26161017f6161ff02", "a2" + "a0" + "00" + "a0" + "01",
    ])
  func aKeyThatIsThereTwiceIsRefused(_ hex: String) {
    #expect(failure { try value(CBORValue.self, hex: hex) } == .corrupted([]))
    #expect(failure { try value([String: Int].self, hex: hex) } == .corrupted([]))
    struct Empty: Decodable {}
    #expect(failure { try value(Empty.self, hex: hex) } == .corrupted([]))
  }

  @Test func aKeyThatIsTwiceInALargeMapIsRefused() throws {
    for count in [15, 16, 17, 18, 100, 5_000] {
      for (first, second) in [(0, count - 1), (count / 2, count - 1), (0, 1)] {
        var bytes = Data([0xb9, UInt8(count >> 8), UInt8(count & 255)])
        for number in 0..<count {
          bytes += try cbor("key\(number == second ? first : number)") + Data([0])
        }
        #expect(
          failure { try CBORDecoder().decode([String: Int].self, from: bytes) } == .corrupted([]))
      }
    }
  }

  @Test(
    arguments: [
      "61ff", "6180", "62c328", "62c080", "63eda080", "63e08080", "64f4908080", "64f0808080",
      "62c3", "7f61c361bcff", "a161ff00", "a1ff00", "63c3bcff", "6261ff", "65ffffffffff",
      "78186161616161616161616161616161616161616161616161" + "ff",
    ])
  func textThatIsNotUTF8IsRefused(_ hex: String) {
    #expect(failure { try value(String.self, hex: hex) } == .corrupted([]))
    #expect(failure { try value(CBORValue.self, hex: hex) } == .corrupted([]))
    #expect(failure { try value([Int].self, hex: "82" + "01" + hex) } == .corrupted([]))
  }

  @Test func nothingAndTooMuchAreRefused() throws {
    #expect(failure { try value(Int.self, hex: "") } == .corrupted([]))
    #expect(failure { try value(Int?.self, hex: "") } == .corrupted([]))
    #expect(
      failure { try CBORValue(UnsafeRawBufferPointer(start: nil, count: 0)) } == .corrupted([]))
    for hex in ["0100", "0000", "80ff", "f6f6", "a0a0", "616100"] {
      #expect(failure { try value(CBORValue.self, hex: hex) } == .corrupted([]))
      #expect(failure { try value([Int].self, hex: hex) } == .corrupted([]))
    }
  }

  @Test func theDescriptionSaysWhereAndWhy() throws {
    do {
      _ = try value([Int].self, hex: "8301ff03")
      Issue.record("A stray break was read.")
    } catch DecodingError.dataCorrupted(let context) {
      #expect(context.debugDescription.contains("2"), "\(context.debugDescription)")
    }
  }
}
