// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import Testing

/// The examples of RFC 8949 itself: Appendix A, and the refusals of Appendix F.
@Suite struct RFC8949AppendixATests {
  @Test(arguments: RFC8949Example.all)
  func eachExampleIsReadAsItsValue(_ example: RFC8949Example) throws {
    let value = try CBORValue(Data(hex: example.hex))
    #expect(Self.areSame(value, example.value))
    let viaDecoder = try CBORDecoder().decode(CBORValue.self, from: Data(hex: example.hex))
    #expect(Self.areSame(viaDecoder, example.value))
  }

  @Test(arguments: RFC8949Example.all)
  func eachValueIsWrittenInItsPreferredForm(_ example: RFC8949Example) throws {
    for bytes in [try example.value.encoded, try cbor(example.value)] {
      if example.isPreferred {
        #expect(bytes.hex == example.hex)
      } else {
        #expect(bytes.hex != example.hex)
        #expect(bytes.count <= Data(hex: example.hex).count)
        #expect(Self.areSame(try CBORValue(bytes), example.value))
      }
    }
    if example.isPreferred {
      #expect(try cbor(example.value, deterministic: true).hex == example.hex)
    }
  }

  @Test(arguments: RFC8949Example.all)
  func eachValueHasItsDiagnosticNotation(_ example: RFC8949Example) {
    let text = example.value.description
    // A bignum may be shown as what it is or as the number that it means.
    if case .tagged(let tag, .bytes(let bytes)) = example.value, tag == 2 || tag == 3 {
      #expect([example.diagnostic, "\(tag)(h'\(bytes.hex)')"].contains(text))
    } else if case .float = example.value {
      #expect(Self.normalised(text) == Self.normalised(example.diagnostic))
    } else {
      #expect(text == example.diagnostic)
    }
  }

  @Test func diagnosticNotationEscapesWhatJSONEscapes() {
    #expect(CBORValue.text("\n\t\u{1}").description == #""\n\t\u0001""#)
  }

  @Test func integersAreReadAsEachTypeThatHoldsThem() throws {
    #expect(try value(UInt64.self, hex: "1bffffffffffffffff") == .max)
    #expect(try value(UInt128.self, hex: "1bffffffffffffffff") == UInt128(UInt64.max))
    #expect(try value(Int.self, hex: "1b000000e8d4a51000") == 1_000_000_000_000)
    #expect(try value(Int8.self, hex: "3863") == -100)
    #expect(try value(UInt8.self, hex: "1864") == 100)
    #expect(try value(Int128.self, hex: "c249010000000000000000") == 18_446_744_073_709_551_616)
    #expect(try value(UInt128.self, hex: "c249010000000000000000") == 18_446_744_073_709_551_616)
    #expect(try value(Int128.self, hex: "3bffffffffffffffff") == -18_446_744_073_709_551_616)
    #expect(try value(Int128.self, hex: "c349010000000000000000") == -18_446_744_073_709_551_617)
    for hex in ["1bffffffffffffffff", "3bffffffffffffffff", "c249010000000000000000"] {
      #expect(failure { try value(Int.self, hex: hex) } == .corrupted([]), "\(hex)")
    }
    #expect(failure { try value(UInt64.self, hex: "c249010000000000000000") } == .corrupted([]))
    #expect(failure { try value(UInt.self, hex: "20") } == .corrupted([]))
    #expect(
      failure { try value(Int128.self, hex: "c2510100000000000000000000000000000000") } != nil)
  }

  @Test func bignumsThatFitAreReadAsIntegersOfAnyWidth() throws {
    #expect(try value(Int.self, hex: "c24105") == 5)
    #expect(try value(Int.self, hex: "c34105") == -6)
    #expect(try value(UInt8.self, hex: "c2460000000000ff") == 255)
    #expect(try value(Int.self, hex: "c240") == 0)
  }

  @Test func floatsAreReadFromEachPrecision() throws {
    for example in RFC8949Example.floats {
      guard case .float(let expected) = example.value else { continue }
      let double = try value(Double.self, hex: example.hex)
      #expect(double.bitPattern == expected.bitPattern || (double.isNaN && expected.isNaN))
      #expect(try cbor(expected).hex == example.hex || !example.isPreferred)
      if expected.isNaN || Double(Float(expected)) == expected {
        let float = try value(Float.self, hex: example.hex)
        #expect(float == Float(expected) || expected.isNaN)
        #expect(try cbor(Float(expected)).hex == example.hex || !example.isPreferred)
      }
    }
  }

  @Test func stringsAndContainersAreReadAsSwiftTypes() throws {
    for example in RFC8949Example.strings + RFC8949Example.indefinite {
      switch example.value {
      case .text(let text): #expect(try value(String.self, hex: example.hex) == text)
      case .bytes(let bytes): #expect(try value(Data.self, hex: example.hex) == bytes)
      default: break
      }
    }
    for hex in [
      "98190102030405060708090a0b0c0d0e0f101112131415161718181819",
      "9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff",
    ] {
      #expect(try value([Int].self, hex: hex) == Array(1...25))
    }
    #expect(try value([Int].self, hex: "9fff").isEmpty)
    #expect(try value([Int: Int].self, hex: "a201020304") == [1: 2, 3: 4])
    let letters = ["a": "A", "b": "B", "c": "C", "d": "D", "e": "E"]
    let bytes = "a56161614161626142616361436164614461656145"
    #expect(try value([String: String].self, hex: bytes) == letters)
    #expect(try cbor(letters, deterministic: true).hex == bytes)
    struct Trick: Decodable {
      let Fun: Bool
      let Amt: Int
    }
    let trick = try value(Trick.self, hex: "bf6346756ef563416d7421ff")
    #expect(trick.Fun && trick.Amt == -2)
    struct Pair: Decodable {
      let a: Int
      let b: [Int]
    }
    for hex in ["a26161016162820203", "bf61610161629f0203ffff"] {
      let pair = try value(Pair.self, hex: hex)
      #expect(pair.a == 1 && pair.b == [2, 3])
    }
  }

  @Test func tagsAreReadAsTheTypesTheyMean() throws {
    let date = Date(timeIntervalSince1970: 1_363_896_240)
    #expect(try value(Date.self, hex: "c074323031332d30332d32315432303a30343a30305a") == date)
    #expect(try value(Date.self, hex: "c11a514b67b0") == date)
    #expect(try value(Date.self, hex: "c1fb41d452d9ec200000") == date + 0.5)
    let url = URL(string: "http://www.example.com")
    let hex = "d82076687474703a2f2f7777772e6578616d706c652e636f6d"
    #expect(try value(URL.self, hex: hex) == url)
    #expect(try cbor(url).hex == hex)
    #expect(try cbor(date).hex == "c11a514b67b0")
    #expect(try cbor(date + 0.5).hex == "c1fb41d452d9ec200000")
    #expect(try value(Bool.self, hex: "f5"))
    #expect(try value(Int?.self, hex: "f6") == nil)
    #expect(try value(Int?.self, hex: "f7") == nil)
  }

  @Test(arguments: RFC8949Example.malformed.flatMap(\.inputs))
  func whatIsNotWellFormedIsRefused(_ hex: String) {
    #expect(throws: (any Error).self) { try CBORValue(Data(hex: hex)) }
    #expect(failure { try value(CBORValue.self, hex: hex) } == .corrupted([]))
    #expect(failure { try value([Int].self, hex: hex) } == .corrupted([]))
    // Inside something good, and behind a key nobody asks for.
    #expect(throws: (any Error).self) { try CBORValue(Data([0x82, 0x01]) + Data(hex: hex)) }
    let unknown = Data([0xa1, 0x61, 0x61]) + Data(hex: hex)
    struct Empty: Decodable {}
    #expect(failure { try CBORDecoder().decode(Empty.self, from: unknown) } == .corrupted([]))
  }

  private static func areSame(_ value: CBORValue, _ other: CBORValue) -> Bool {
    if case .float(let a) = value, case .float(let b) = other {
      return a.bitPattern == b.bitPattern || (a.isNaN && b.isNaN)
    }
    return value == other
  }

  /// Exponents are spelt in many ways: `1e+300`, `1.0e300`.
  private static func normalised(_ text: String) -> String {
    Double(text).map { "\($0)" } ?? text
  }
}
