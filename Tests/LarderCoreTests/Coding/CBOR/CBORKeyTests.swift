// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import Testing

/// The keys of maps.
@Suite struct CBORKeyTests {
  @Test func integerKeysAreWrittenAsIntegers() throws {
    #expect(try cbor([5: 1]).hex == "a10501")
    #expect(try cbor([-1: "a"]).hex == "a1206161")
    #expect(
      try cbor([Int.max: 1, .min: 2], deterministic: true).hex
        == "a21b7fffffffffffffff013b7fffffffffffffff02")
    #expect(try cbor(["5": 1]).hex == "a1613501")
    #expect(try cbor(["5": [5: ["5": 1]]]).hex == "a16135a105a1613501")
    let numbers = Dictionary(uniqueKeysWithValues: (-300..<300).map { ($0, "\($0)") })
    #expect(try roundTrip(numbers) == numbers)
    #expect(failure { try value([Int: Int].self, hex: "a1616101") } == .otherType(["a"]))
  }

  @Test func keysOfOtherTypesMakeFlatArrays() throws {
    let id = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
    #expect(try cbor([id: 1]).hex == "82d825500102030405060708090a0b0c0d0e0f1001")
    #expect(try cbor([1.5: true]).hex == "82f93e00f5")
    #expect(try roundTrip([id: [1.5: "a"], UUID(): [:]]).count == 2)
    #expect(try roundTrip([1.5: 2, -0.25: 3]) == [1.5: 2, -0.25: 3])
    #expect(try roundTrip([UInt8(5): "five"]) == [5: "five"])
    #expect(failure { try value([Double: Int].self, hex: "81f93e00") } != nil)
  }

  private enum Planet: String, Codable, CodingKeyRepresentable { case earth, mars }
  private enum Port: Int, Codable, CodingKeyRepresentable { case http = 80, https = 443 }

  @Test func representableKeysAreWhatTheyAreRepresentedBy() throws {
    #expect(try cbor([Planet.mars: 4]).hex == "a1646d61727304")
    #expect(try cbor([Port.https: "s"]).hex == "a11901bb6173")
    #expect(try roundTrip([Planet.mars: [Port.http: 1]]) == [.mars: [.http: 1]])
    #expect(failure { try value([Planet: Int].self, hex: "a1617801") } != nil)
    #expect(failure { try value([Port: Int].self, hex: "a10501") } != nil)
  }

  private struct Numbered: Codable, Equatable {
    var first = "a"
    var second: Int? = 2
    var nested = [1: "x"]
    enum CodingKeys: Int, CodingKey { case first = 1, second = 2, nested = 1000 }
  }

  @Test func codingKeysWithNumbersAreIntegers() throws {
    #expect(try cbor(Numbered()).hex == "a301616102021903e8a1016178")
    #expect(try roundTrip(Numbered(second: nil)) == Numbered(second: nil))
    #expect(try value(Numbered.self, hex: "a21903e8a0016161") == Numbered(second: nil, nested: [:]))
    #expect(failure { try value(Numbered.self, hex: "a0") } == .missingKey("first#1", []))
  }

  @Test func anyTextIsAKey() throws {
    for key in [
      "", " ", "\0", "ключ", "👩‍👩‍👧", "e\u{301}", "a.b", String(repeating: "k", count: 23),
      String(repeating: "k", count: 24), String(repeating: "ü", count: 50_000),
    ] {
      let map = [key: 1, key + "x": 2]
      #expect(try roundTrip(map) == map)
      let object = CBORContainerTests.Written { encoder in
        var container = encoder.container(keyedBy: Name.self)
        try container.encode(1, forKey: Name(stringValue: key))
        try container.encode(2, forKey: Name(stringValue: key + "x"))
      }
      #expect(try CBORDecoder().decode([String: Int].self, from: cbor(object)) == map)
    }
  }

  @Test func keysThatOnlyLookAlikeAreTwoKeys() throws {
    // Equal as strings, but not the same bytes.
    let bytes = "a263c3a96101" + "0164" + "65cc816102"
    let value = CBORValue.map([
      CBORValue.Pair(.text("\u{e9}"), .unsigned(1)),
      CBORValue.Pair(.text("e\u{301}"), .unsigned(2)),
    ])
    #expect(throws: Never.self) { try CBORValue(value.encoded) }
    #expect(throws: (any Error).self) { try CBORValue(Data(hex: bytes)) }
    struct Decomposed: Decodable {
      let value: Int
      enum CodingKeys: String, CodingKey { case value = "e\u{301}" }
    }
    #expect(try CBORDecoder().decode(Decomposed.self, from: value.encoded).value == 2)
  }

  @Test func oneMapHoldsKeysOfManyTypes() throws {
    // {1: "one", "1": "text", h'01': "bytes", [1]: "list", "x": 5}
    let hex =
      "a5" + "01636f6e65" + "61316474657874" + "4101656279746573" + "8101646c697374" + "617805"
    struct Some: Decodable {
      let one: String
      let text: String
      let x: Int
      let keys: [Name]
      let hasTwo: Bool
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Name.self)
        keys = container.allKeys
        one = try container.decode(String.self, forKey: Name(intValue: 1))
        text = try container.decode(String.self, forKey: "1")
        x = try container.decode(Int.self, forKey: "x")
        hasTwo = container.contains("2") || container.contains(Name(intValue: 2))
      }
    }
    let some = try value(Some.self, hex: hex)
    #expect(some.one == "one" && some.text == "text" && some.x == 5 && !some.hasTwo)
    #expect(some.keys == [Name(intValue: 1), "1", "x"])
  }

  // MARK: - Strategies

  private struct Camel: Codable, Equatable {
    var oneTwoThree = 1
    var myURLProperty = ["innerKey": 2]
    var _leading = 3
    var plain: Inner? = Inner()
    struct Inner: Codable, Equatable { var innerValue = true }
  }

  @Test(arguments: [1, 63, 64, 65, 66, 128, 129, 5000])
  func ofKeysThatAreWrittenTwiceTheLaterValueCounts(count: Int) throws {
    let value = CBORContainerTests.Written { encoder in
      var container = encoder.container(keyedBy: Name.self)
      for number in 0..<count { try container.encode(0, forKey: Name(stringValue: "k\(number)")) }
      for number in (0..<count).reversed() {
        try container.encode(number, forKey: Name(stringValue: "k\(number)"))
      }
      try container.encode(-1, forKey: Name(stringValue: "last"))
    }
    var expected = ["last": -1]
    for number in 0..<count { expected["k\(number)"] = number }
    #expect(try CBORDecoder().decode([String: Int].self, from: cbor(value)) == expected)
  }

  @Test(arguments: [1, 65, 3000])
  func aNestedContainerIsFoundAgainAmongMany(count: Int) throws {
    let value = CBORContainerTests.Written { encoder in
      var container = encoder.container(keyedBy: Name.self)
      for round in 0..<2 {
        for number in 0..<count {
          let key = Name(stringValue: "k\(number)")
          var nested = container.nestedContainer(keyedBy: Name.self, forKey: key)
          try nested.encode(number, forKey: Name(stringValue: "round \(round)"))
        }
      }
    }
    let pairs = (0..<count).map { ("k\($0)", ["round 0": $0, "round 1": $0]) }
    #expect(
      try CBORDecoder().decode([String: [String: Int]].self, from: cbor(value))
        == Dictionary(uniqueKeysWithValues: pairs))
  }

  @Test func snakeCaseIsThatOfJSONEncoder() throws {
    var encoder = CBOREncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    var decoder = CBORDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let names = [
      "", "a", "A", "oneTwoThree", "myURLProperty", "URL", "HTTPServer2Go", "_leading", "__two",
      "trailing_", "already_snake", "Mixed_Case", "x1Y2", "äÖü", "_", "__", "aB_cD", "one_Two",
      "url_id", "a__b", "_a_b_", "ABC_DEF", "ONE",
    ]
    for name in names {
      let value = CBORContainerTests.Written { encoder in
        var container = encoder.container(keyedBy: Name.self)
        try container.encode(1, forKey: Name(stringValue: name))
      }
      let json = JSONEncoder()
      json.keyEncodingStrategy = .convertToSnakeCase
      let expected = try JSONDecoder().decode([String: Int].self, from: json.encode(value))
      #expect(
        try CBORDecoder().decode([String: Int].self, from: encoder.encode(value)) == expected,
        "\(name)")
      struct Keys: Decodable {
        let keys: [Name]
        init(from decoder: any Decoder) throws {
          keys = try decoder.container(keyedBy: Name.self).allKeys
        }
      }
      let fromJSON = JSONDecoder()
      fromJSON.keyDecodingStrategy = .convertFromSnakeCase
      let keys = try fromJSON.decode(Keys.self, from: JSONEncoder().encode([name: 1])).keys
      #expect(try decoder.decode(Keys.self, from: cbor([name: 1])).keys == keys, "\(name)")
    }
    let bytes = try encoder.encode(Camel())
    let text = try CBORValue(bytes).description
    #expect(text.contains(#""my_url_property": {"innerKey": 2}"#), "\(text)")
    #expect(text.contains(#""plain": {"inner_value": true}"#), "\(text)")
    // The round trip loses case, as in JSON.
    struct Lost: Decodable { let myUrlProperty: [String: Int] }
    #expect(try decoder.decode(Lost.self, from: bytes).myUrlProperty == ["innerKey": 2])
  }

  @Test func customStrategiesAreGivenThePath() throws {
    var encoder = CBOREncoder()
    encoder.keyEncodingStrategy = .custom { path in
      Name(stringValue: CodingFailure.path(path).joined(separator: "/"))
    }
    let bytes = try encoder.encode(["x": Camel(myURLProperty: [:], plain: .init())])
    let text = try CBORValue(bytes).description
    #expect(text.contains(#""x/plain": {"x/plain/innerValue": true}"#), "\(text)")
    var decoder = CBORDecoder()
    decoder.keyDecodingStrategy = .custom { path in
      Name(stringValue: String(path.last?.stringValue.split(separator: "/").last ?? ""))
    }
    let back = try decoder.decode([String: Camel].self, from: bytes)
    #expect(back["x"] == Camel(myURLProperty: [:]))
  }
}
