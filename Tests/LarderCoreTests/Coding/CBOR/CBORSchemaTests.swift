// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Types change while their bytes stay.
@Suite struct CBORSchemaTests {
  private struct First: Codable, Equatable {
    var id = 7
    var name = "first"
    var tags = ["a", "b"]
    var address = Address()
    struct Address: Codable, Equatable {
      var street = "s"
      var number = 1
    }
  }

  @Test func anAddedOptionalPropertyIsNil() throws {
    struct Second: Codable {
      var id: Int
      var name: String
      var added: Date?
      var tags: [String]
      var nested: [String: [Int]]?
      var address: First.Address?
    }
    let second = try CBORDecoder().decode(Second.self, from: cbor(First()))
    #expect(second.added == nil && second.nested == nil && second.tags == ["a", "b"])
    #expect(second.address == First().address)
  }

  @Test func anAddedPropertyThatIsNotOptionalIsMissing() throws {
    struct Second: Codable {
      var id: Int
      var address: Address
      struct Address: Codable { var city: String }
    }
    #expect(
      failure { try CBORDecoder().decode(Second.self, from: cbor(First())) }
        == .missingKey("city", ["address"]))
  }

  @Test func propertiesAreFoundInAnyOrder() throws {
    struct Second: Codable, Equatable {
      var address: Address
      var tags: [String]
      var name: String
      var id: Int
      struct Address: Codable, Equatable {
        var number: Int
        var street: String
      }
    }
    let second = try CBORDecoder().decode(Second.self, from: cbor(First()))
    #expect(second.id == 7 && second.address.number == 1 && second.address.street == "s")
    #expect(try CBORDecoder().decode(First.self, from: cbor(second)) == First())
    #expect(
      try CBORDecoder().decode(First.self, from: cbor(First(), deterministic: true)) == First())
  }

  @Test func removedPropertiesArePassedOver() throws {
    struct Second: Codable { var tags: [String] }
    #expect(try CBORDecoder().decode(Second.self, from: cbor(First())).tags == ["a", "b"])
    struct None: Codable {}
    _ = try CBORDecoder().decode(None.self, from: cbor(First()))
    #expect(try CBORDecoder().decode([None].self, from: cbor([First(), First()])).count == 2)
  }

  @Test func renamedPropertiesAreFoundByTheirOldKey() throws {
    struct Second: Codable, Equatable {
      var identifier: Int
      var title: String
      enum CodingKeys: String, CodingKey { case identifier = "id", title = "name" }
    }
    let second = try CBORDecoder().decode(Second.self, from: cbor(First()))
    #expect(second == Second(identifier: 7, title: "first"))
    #expect(try CBORValue(cbor(second)).description == #"{"id": 7, "name": "first"}"#)
  }

  @Test func aPropertyMayBecomeOfAWiderType() throws {
    struct Second: Codable {
      var id: Int128
      var name: CBORValue
      var tags: Set<String>
      var address: [String: CBORValue]
    }
    let second = try CBORDecoder().decode(Second.self, from: cbor(First()))
    #expect(second.id == 7 && second.name == .text("first") && second.tags == ["a", "b"])
    #expect(second.address == ["street": .text("s"), "number": .unsigned(1)])
  }

  /// Any item of up to `depth` levels, with tags, indefinite lengths and keys of every type.
  private func junk(_ generator: inout SeededGenerator, depth: Int) -> Data {
    func child() -> Data { junk(&generator, depth: depth - 1) }
    let kind = UInt8.random(in: 0..<(depth > 0 ? 14 : 8), using: &generator)
    switch kind {
    case 0: return Data([0x18, UInt8.random(in: 0...255, using: &generator)])
    case 1: return Data([0x3b]) + generator.bytes(8)
    case 2: return Data([0x44]) + generator.bytes(4)
    case 3: return Data([0x64]) + Data("junk".utf8)
    case 4: return Data([0xfb]) + generator.bytes(8)
    case 5: return Data([[0xf4, 0xf6, 0xf7, 0xe5].randomElement(using: &generator) ?? 0xf4])
    case 6: return Data([0x5f, 0x41, 1, 0x40, 0x42, 2, 3, 0xff])
    case 7: return Data([0x7f, 0x61, 0x61, 0x60, 0xff])
    case 8: return Data([0x83]) + child() + child() + child()
    case 9: return Data([0x9f]) + child() + child() + Data([0xff])
    case 10: return Data([0xa2, 0x01]) + child() + Data([0x61, 0x78]) + child()
    case 11: return Data([0xbf, 0x20]) + child() + Data([0x80]) + child() + Data([0xff])
    case 12: return Data([0xd9, 0x12, 0x34]) + child()
    default: return Data([0xa1, 0xa1, 0x01, 0x02]) + child()
    }
  }

  @Test func unknownKeysWithAnythingBehindThemArePassedOver() throws {
    var generator = SeededGenerator(seed: 77)
    for round in 0..<2_000 {
      let fields: [(String, Data)] = [
        ("id", try cbor(7)), ("name", try cbor("first")), ("tags", try cbor(["a", "b"])),
        ("address", try cbor(First.Address())),
      ]
      var pairs = try fields.map { try cbor($0.0) + $0.1 }
      for number in 0..<Int.random(in: 1..<40, using: &generator) {
        pairs.append(try cbor("junk\(number)") + junk(&generator, depth: 3))
      }
      pairs.append(Data([0x01]) + junk(&generator, depth: 2))
      pairs.shuffle(using: &generator)
      let isIndefinite = Bool.random(using: &generator)
      var bytes = Data(isIndefinite ? [0xbf] : [0xb8, UInt8(pairs.count)])
      for pair in pairs { bytes.append(pair) }
      if isIndefinite { bytes.append(0xff) }
      #expect(
        try CBORDecoder().decode(First.self, from: bytes) == First(),
        "Seed \(generator.seed), round \(round): \(bytes.hex)")
      #expect(
        try CBORDecoder().decode([First].self, from: Data([0x82]) + bytes + bytes).count == 2)
    }
  }
}
