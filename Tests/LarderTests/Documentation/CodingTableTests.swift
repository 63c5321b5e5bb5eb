// SPDX-License-Identifier: MIT

import Foundation
import Larder
import Testing

/// What the article on coders says becomes of a type, and what it is also read from.
@Suite("The table of the article on coders") struct CodingTableTests {
  private enum Level: Int, Codable, Hashable, CodingKeyRepresentable { case low = 1, high = 2 }
  private enum Color: String, Codable { case red }
  private enum Shape: Codable, Equatable { case point, circle(radius: Int), pair(Int, Int) }

  private struct Numbered: Codable, Equatable {
    enum CodingKeys: Int, CodingKey { case name = 1, age = -1 }
    var name: String
    var age: Int?
  }

  /// `others` are bytes that are read as the same value.
  private func expect<Value: Codable & Equatable>(
    _ value: Value, _ bytes: String, _ others: String...,
    location: SourceLocation = #_sourceLocation
  ) throws {
    let encoded = try CBOREncoder().encode(value)
    #expect(hexadecimal(encoded) == bytes, sourceLocation: location)
    for source in [bytes] + others {
      let decoded = try CBORDecoder().decode(Value.self, from: Data(hexadecimal: source))
      #expect(decoded == value, "\(source)", sourceLocation: location)
    }
  }

  @Test func numbers() throws {
    try expect([true, false], "82f5f4")
    try expect(500, "1901f4", "1a000001f4", "f95fd0", "c24201f4")
    try expect(Int8(-1), "20", "c340")
    try expect(UInt64.max, "1bffffffffffffffff", "c248ffffffffffffffff")
    try expect(Int128(UInt64.max) + 1, "c249010000000000000000")
    try expect(-Int128(UInt64.max) - 2, "c349010000000000000000")
    try expect(UInt128(24), "1818")
    try expect(1.5, "f93e00", "fa3fc00000", "fb3ff8000000000000")
    try expect(Float(100_000), "fa47c35000", "1a000186a0")
    try expect(1.1, "fb3ff199999999999a")
    #expect(try hexadecimal(CBOREncoder().encode(-Double.nan)) == "f97e00")
    try expect(
      try #require(Decimal(string: "273.15")), "c48221196ab3", "fb4071126666666666",
      "c482211a00006ab3")
  }

  @Test func textBytesAndWhatIsMadeOfThem() throws {
    try expect("ü", "62c3bc", "7f62c3bcff")
    try expect(Data([1, 2]), "420102", "5f41014102ff")
    try expect(try #require(URL(string: "a:b")), "d82063613a62", "63613a62")
    let uuid = try #require(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF"))
    let text = hexadecimal(Data(uuid.uuidString.utf8))
    try expect(
      uuid, "d8255000112233445566778899aabbccddeeff",
      "5000112233445566778899aabbccddeeff", "7824" + text)
  }

  @Test func dates() throws {
    let text = hexadecimal(Data("2013-03-21T20:04:00Z".utf8))
    try expect(
      Date(timeIntervalSince1970: 1_363_896_240), "c11a514b67b0", "c074" + text, "74" + text)
    try expect(Date(timeIntervalSince1970: 1_363_896_240.5), "c1fb41d452d9ec200000")
    // Nearer to 2001 than to 1970, a date has bits that seconds since 1970 have no room for.
    let fine = Date(timeIntervalSinceReferenceDate: 0.1)
    let bytes = try CBOREncoder().encode(fine)
    #expect(bytes.first == 0xC0)
    #expect(try CBORDecoder().decode(Date.self, from: bytes) == fine)
  }

  @Test func containers() throws {
    try expect([1, nil], "8201f6", "8201f7", "9f01f6ff")
    try expect(Set([1]), "8101")
    try expect(["5": 1], "a1613501")
    try expect([5: 1], "a10501", "bf0501ff")
    try expect([Level.high: 1], "a10201")
    try expect([1.5: 1], "82f93e0001")
    try expect(Numbered(name: "a", age: 2), "a20161612002", "a22002016161")
    try expect(Numbered(name: "a", age: nil), "a1016161", "a2016161" + "20f6")
    try expect(Color.red, "63726564")
    try expect([Shape.point], "81a165706f696e74a0")
    try expect([Shape.circle(radius: 1)], "81a166636972636c65a16672616469757301")
    try expect([Shape.pair(1, 2)], "81a16470616972a2625f3001625f3102")
    try expect(["a": CBORValue.tagged(99, [1, .undefined])], "a16161d8638201f7")
  }

  @Test func unknownTagsArePassedOver() throws {
    let bytes = Data(hexadecimal: "d9d9f7a1616182d86301c618ff")
    #expect(try CBORDecoder().decode([String: [Int]].self, from: bytes) == ["a": [1, 255]])
  }

  private func hexadecimal(_ bytes: Data) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

extension Data {
  /// Pairs of hexadecimal digits; the rest is left away.
  fileprivate init(hexadecimal text: String) {
    self.init()
    var rest = text[...]
    while rest.count >= 2, let byte = UInt8(rest.prefix(2), radix: 16) {
      append(byte)
      rest = rest.dropFirst(2)
    }
  }
}
