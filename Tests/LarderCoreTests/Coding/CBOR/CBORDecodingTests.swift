// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import Testing

/// What a decoder offers to a type that reads itself.
@Suite struct CBORDecodingTests {
  /// A `Decodable` by a closure, which it finds in `userInfo`.
  struct Read: Decodable {
    static let key = CodingUserInfoKey(rawValue: "read").unsafelyUnwrapped
    typealias Body = @Sendable (any Decoder) throws -> Void

    init(from decoder: any Decoder) throws { try (decoder.userInfo[Self.key] as? Body)?(decoder) }

    static func read(_ hex: String, _ body: @escaping Body) throws {
      var decoder = CBORDecoder()
      decoder.userInfo[key] = body
      _ = try decoder.decode(Read.self, from: Data(hex: hex))
    }
  }

  @Test func userInfoReachesEveryEncoderAndDecoder() throws {
    let key = try #require(CodingUserInfoKey(rawValue: "k"))
    let value = CBORContainerTests.Written { encoder in
      #expect(encoder.userInfo[key] as? Int == 7)
      var container = encoder.container(keyedBy: Name.self)
      let inner = CBORContainerTests.Written { encoder in
        #expect(encoder.userInfo[key] as? Int == 7)
        try 1.encode(to: encoder)
      }
      try container.encode([inner], forKey: "a")
      #expect(container.superEncoder().userInfo[key] as? Int == 7)
    }
    var encoder = CBOREncoder()
    encoder.userInfo[key] = 7
    _ = try encoder.encode(value)
    try Read.read("a16161a0") { decoder in
      #expect(decoder.userInfo[Read.key] != nil)
      let inner = try decoder.container(keyedBy: Name.self).superDecoder(forKey: "a")
      #expect(inner.userInfo[Read.key] != nil)
    }
  }

  @Test func anUnkeyedContainerCounts() throws {
    try Read.read("8501f68102a1610304f6") { decoder in
      #expect(throws: (any Error).self) { _ = try decoder.container(keyedBy: Name.self) }
      var list = try decoder.unkeyedContainer()
      #expect(list.count == 5 && list.currentIndex == 0 && !list.isAtEnd)
      #expect(try !list.decodeNil() && list.currentIndex == 0)
      #expect(failure { try list.decode(String.self) } == .otherType(["Index 0#0"]))
      #expect(list.currentIndex == 0)
      #expect(try list.decode(Int.self) == 1 && list.currentIndex == 1)
      #expect(try list.decodeNil() && list.currentIndex == 2)
      var nested = try list.nestedUnkeyedContainer()
      #expect(nested.count == 1 && list.currentIndex == 3)
      #expect(try nested.decode(UInt8.self) == 2 && nested.isAtEnd)
      #expect(failure { try nested.decode(Int.self) } == .missingValue(["Index 2#2", "Index 1#1"]))
      #expect(throws: DecodingError.self) { _ = try list.nestedUnkeyedContainer() }
      let map = try list.nestedContainer(keyedBy: Name.self)
      #expect(map.allKeys == ["\u{3}"])
      #expect(try list.decodeIfPresent(Int.self) == nil)
      #expect(list.isAtEnd && list.currentIndex == 5)
    }
  }

  @Test func anUnkeyedContainerOfIndefiniteLengthEnds() throws {
    try Read.read("9f0102f6ff") { decoder in
      var list = try decoder.unkeyedContainer()
      #expect(list.count == nil || list.count == 3)
      var seen = 0
      while !list.isAtEnd {
        _ = try list.decodeIfPresent(Int.self)
        seen += 1
      }
      #expect(seen == 3 && list.currentIndex == 3)
      #expect(failure { try list.decode(Int.self) } == .missingValue(["Index 3#3"]))
      #expect(failure { try list.decodeNil() } == .missingValue(["Index 3#3"]))
      #expect(failure { try list.superDecoder() } == .missingValue(["Index 3#3"]))
      #expect(try list.decodeIfPresent(Int.self) == nil)
    }
  }

  @Test func aKeyedContainerKnowsItsKeys() throws {
    for hex in ["a4616101616203" + "6163f6" + "616480", "bf616101616203" + "6163f6" + "616480ff"] {
      try Read.read(hex) { decoder in
        let map = try decoder.container(keyedBy: Name.self)
        #expect(map.allKeys == ["a", "b", "c", "d"])
        #expect(map.contains("c") && !map.contains("e") && !map.contains(""))
        #expect(try map.decodeIfPresent(Int.self, forKey: "a") == 1)
        #expect(try map.decodeIfPresent(Int.self, forKey: "c") == nil)
        #expect(try map.decodeIfPresent(Int.self, forKey: "e") == nil)
        #expect(try map.decodeNil(forKey: "c"))
        #expect(try !map.decodeNil(forKey: "a"))
        #expect(failure { try map.decodeNil(forKey: "e") } == .missingKey("e", []))
        #expect(failure { try map.decodeIfPresent(Int.self, forKey: "d") } == .otherType(["d"]))
        #expect(failure { try map.decode(Int.self, forKey: "e") } == .missingKey("e", []))
        // Backwards, and again.
        for (key, number) in [("b", 3), ("a", 1), ("b", 3), ("b", 3), ("a", 1)] {
          #expect(try map.decode(Int.self, forKey: Name(stringValue: key)) == number)
        }
        #expect(try map.nestedUnkeyedContainer(forKey: "d").isAtEnd)
        #expect(
          failure { try map.nestedContainer(keyedBy: Name.self, forKey: "d") }
            == .otherType(["d"]))
      }
    }
  }

  @Test func oneDecoderGivesManyContainers() throws {
    try Read.read("8261610a") { decoder in
      for _ in 0..<3 {
        var list = try decoder.unkeyedContainer()
        #expect(try list.decode(String.self) == "a")
        #expect(try list.decode(Int.self) == 10)
        let single = try decoder.singleValueContainer()
        #expect(!single.decodeNil())
        #expect(failure { try single.decode(Int.self) } == .otherType([]))
      }
    }
  }

  @Test func allFormsOfInputGiveTheSame() throws {
    let bytes = try cbor(["a": [1.5, 2]])
    let padded = Data([9, 9]) + bytes + Data([9])
    let slice = padded[2..<(2 + bytes.count)]
    let expected = ["a": [1.5, 2]]
    let decoder = CBORDecoder()
    #expect(try decoder.decode([String: [Double]].self, from: bytes) == expected)
    #expect(try decoder.decode([String: [Double]].self, from: slice) == expected)
    let raw = try bytes.withUnsafeBytes { try decoder.decode([String: [Double]].self, from: $0) }
    #expect(raw == expected)
    let span = try decoder.decode([String: [Double]].self, from: bytes.bytes)
    #expect(span == expected)
    #expect(try CBORValue(slice) == CBORValue(bytes))
  }
}
