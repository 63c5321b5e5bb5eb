// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import LarderLogTool

@Suite struct CBORTextTests {
  /// Pairs of an item in hexadecimal digits and its JSON.
  static let numbers = [
    ("00", "0"), ("1903e8", "1000"), ("1bffffffffffffffff", "18446744073709551615"),
    ("20", "-1"), ("3903e7", "-1000"), ("3bffffffffffffffff", "-18446744073709551616"),
    ("f90000", "0.0"), ("f98000", "-0.0"), ("f94200", "3.0"), ("fb3ff199999999999a", "1.1"),
    ("fa47c35000", "100000.0"), ("fb7e37e43c8800759c", "1e+300"),
    ("f90001", "5.960464477539063e-08"),
    ("f97c00", "null"), ("f97e00", "null"), ("f9fc00", "null"),
  ]
  static let plain = [
    ("f4", "false"), ("f5", "true"), ("f6", "null"), ("f7", "null"), ("f8ff", "null"),
    ("60", #""""#), ("6449455446", #""IETF""#), ("62225c", #""\"\\""#), ("63e6b0b4", "\"水\""),
    ("680a0d09001f7f2f3c", #""\n\r\t\u0000\u001f\u007f/<""#),
    ("40", #""""#), ("43fbff01", #""-_8B""#), ("4101", #""AQ""#),
    ("80", "[]"), ("83018202039f0405ff", "[1,[2,3],[4,5]]"), ("a0", "{}"),
    ("a26162016161820203", #"{"b":1,"a":[2,3]}"#), ("bf6346756ef5ff", #"{"Fun":true}"#),
  ]
  static let keys = [
    ("a201020304", #"{"1":2,"3":4}"#), ("a2200021f5", #"{"-1":0,"-2":true}"#),
    ("a1420102f6", #"{"h'0102'":null}"#), ("a1f500", #"{"true":0}"#),
    ("a181616100", #"{"[\"a\"]":0}"#),
  ]
  static let tagged = [
    // Text dates as they are, numbers as text.
    ("c074323031332d30332d32315432303a30343a30305a", #""2013-03-21T20:04:00Z""#),
    ("c11a514b67b0", #""2013-03-21T20:04:00Z""#),
    ("c1fb41d452d9ec200000", #""2013-03-21T20:04:00.500Z""#),
    ("c100", #""1970-01-01T00:00:00Z""#), ("c120", #""1969-12-31T23:59:59Z""#),
    ("c1f9b800", #""1969-12-31T23:59:59.500Z""#),
    ("c1fb3f50624dd2f1a9fc", #""1970-01-01T00:00:00.001Z""#),
    ("c11b0000003afff4417f", #""9999-12-31T23:59:59Z""#), ("c11b0000003afff44180", "253402300800"),
    ("c1f97e00", "null"), ("c16161", #""a""#),
    // Bignums: 2⁶⁴, -1 - 2⁶⁴, the last ones of 128 bits, and one of 129.
    ("c249010000000000000000", "18446744073709551616"),
    ("c349010000000000000000", "-18446744073709551617"), ("c240", "0"), ("c340", "-1"),
    ("c250ffffffffffffffffffffffffffffffff", "340282366920938463463374607431768211455"),
    ("c350ffffffffffffffffffffffffffffffff", "-340282366920938463463374607431768211456"),
    ("c2520000ffffffffffffffffffffffffffffffff", "340282366920938463463374607431768211455"),
    ("c2510100000000000000000000000000000000", #""AQAAAAAAAAAAAAAAAAAAAAA""#),
    ("c3510100000000000000000000000000000000", #""~AQAAAAAAAAAAAAAAAAAAAAA""#),
    // Decimal fractions.
    ("c48221196ab3", "273.15"), ("c4822105", "0.05"), ("c4822124", "-0.05"), ("c4820005", "5"),
    ("c4820305", "5000"), ("c4822000", "0"), ("c482187b05", "5e123"), ("c482387a24", "-5e-123"),
    ("c4823b7fffffffffffffff05", "5e-9223372036854775808"),
    ("c48220c249010000000000000000", "1844674407370955161.6"), ("c48101", "[1]"),
    // Hints how bytes are to be written hold for everything below them.
    ("d543fbff01", #""-_8B""#), ("d64101", #""AQ==""#), ("d74401020aff", #""01020aff""#),
    ("82d781410a410a", #"[["0a"],"Cg"]"#),
    ("d8255000112233445566778899aabbccddeeff", #""00112233-4455-6677-8899-AABBCCDDEEFF""#),
    ("d825420001", #""AAE""#),
    ("d82076687474703a2f2f7777772e6578616d706c652e636f6d", #""http://www.example.com""#),
    ("d9d9f7820102", "[1,2]"),
  ]

  @Test(arguments: numbers + plain + keys + tagged)
  func anItemIsOneLineOfJSON(_ digits: String, _ json: String) throws {
    var text = CBORText()
    let bytes = try #require(Data(hexadecimal: digits))
    try bytes.withUnsafeBytes { try text.convert($0) }
    #expect(String(decoding: text.json, as: UTF8.self) == json)
    #expect(
      throws: Never.self,
      "The text is not JSON.",
      performing: {
        try JSONSerialization.jsonObject(with: Data(text.json), options: .fragmentsAllowed)
      })
  }

  @Test(arguments: ["", "18", "62ff", "0000", "8301", "a201020103", "ff", "1c"])
  func whatIsNotOneValidItemIsAnError(_ digits: String) throws {
    var text = CBORText()
    let good = Data([0x83, 1, 2, 3])
    try good.withUnsafeBytes { try text.convert($0) }
    let bytes = try #require(Data(hexadecimal: digits))
    #expect(throws: DecodingError.self) { try bytes.withUnsafeBytes { try text.convert($0) } }
    #expect(text.json.isEmpty)
    try good.withUnsafeBytes { try text.convert($0) }
    #expect(text.json == Array("[1,2,3]".utf8))
  }
}

extension Data {
  /// `nil` if the text is not pairs of hexadecimal digits.
  init?(hexadecimal text: String) {
    guard text.utf8.count.isMultiple(of: 2) else { return nil }
    self.init()
    var rest = text[...]
    while !rest.isEmpty {
      guard let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
      append(byte)
      rest = rest.dropFirst(2)
    }
  }
}
