// SPDX-License-Identifier: MIT

import Foundation
import LarderCore

extension RFC8949Example {
  static let containers: [Self] = [
    Self("80", .array([]), "[]"),
    Self("83010203", numbers(1...3), "[1, 2, 3]"),
    Self("8301820203820405", nested, "[1, [2, 3], [4, 5]]"),
    Self("98190102030405060708090a0b0c0d0e0f101112131415161718181819", numbers(1...25), upTo25),
    Self("a0", .map([]), "{}"),
    Self(
      "a201020304", map((.unsigned(1), .unsigned(2)), (.unsigned(3), .unsigned(4))),
      "{1: 2, 3: 4}"),
    Self(
      "a26161016162820203", map((.text("a"), .unsigned(1)), (.text("b"), numbers(2...3))),
      #"{"a": 1, "b": [2, 3]}"#),
    Self(
      "826161a161626163", .array([.text("a"), map((.text("b"), .text("c")))]),
      #"["a", {"b": "c"}]"#),
    Self(
      "a56161614161626142616361436164614461656145",
      map(
        (.text("a"), .text("A")), (.text("b"), .text("B")), (.text("c"), .text("C")),
        (.text("d"), .text("D")), (.text("e"), .text("E"))),
      #"{"a": "A", "b": "B", "c": "C", "d": "D", "e": "E"}"#),
  ]

  static let indefinite: [Self] = [
    Self("5f42010243030405ff", .bytes(Data([1, 2, 3, 4, 5])), "h'0102030405'", preferred: false),
    Self("7f657374726561646d696e67ff", .text("streaming"), #""streaming""#, preferred: false),
    Self("9fff", .array([]), "[]", preferred: false),
    Self("9f018202039f0405ffff", nested, "[1, [2, 3], [4, 5]]", preferred: false),
    Self("9f01820203820405ff", nested, "[1, [2, 3], [4, 5]]", preferred: false),
    Self("83018202039f0405ff", nested, "[1, [2, 3], [4, 5]]", preferred: false),
    Self("83019f0203ff820405", nested, "[1, [2, 3], [4, 5]]", preferred: false),
    Self(
      "9f0102030405060708090a0b0c0d0e0f101112131415161718181819ff", numbers(1...25), upTo25,
      preferred: false),
    Self(
      "bf61610161629f0203ffff", map((.text("a"), .unsigned(1)), (.text("b"), numbers(2...3))),
      #"{"a": 1, "b": [2, 3]}"#, preferred: false),
    Self(
      "826161bf61626163ff", .array([.text("a"), map((.text("b"), .text("c")))]),
      #"["a", {"b": "c"}]"#, preferred: false),
    Self(
      "bf6346756ef563416d7421ff", map((.text("Fun"), .bool(true)), (.text("Amt"), .negative(1))),
      #"{"Fun": true, "Amt": -2}"#, preferred: false),
  ]

  /// Appendix F: bytes that are not well-formed, by the kind of fault.
  static let malformed: [(fault: String, inputs: [String])] = [
    (
      "the input ends in a head",
      [
        "18", "19", "1a", "1b", "1901", "1a0102", "1b01020304050607", "38", "58", "78", "98",
        "9a01ff00", "b8", "d8", "f8", "f900", "fa0000", "fb000000",
      ]
    ),
    (
      "the input ends in a string",
      [
        "41", "61", "5affffffff00", "5bffffffffffffffff010203", "7affffffff00",
        "7b7fffffffffffffff010203",
      ]
    ),
    (
      "the input ends in an array or a map",
      ["81", "818181818181818181", "8200", "a1", "a20102", "a100", "a2000000"]
    ),
    ("the input ends behind a tag", ["c0"]),
    ("the input ends in a string of indefinite length", ["5f4100", "7f6100"]),
    (
      "the input ends in an array or a map of indefinite length",
      [
        "9f", "9f0102", "bf", "bf01020102", "819f", "9f8000", "9f9f9f9f9fffffffff",
        "9f819f819f9fffffff",
      ]
    ),
    (
      "reserved additional information",
      [
        "1c", "1d", "1e", "3c", "3d", "3e", "5c", "5d", "5e", "7c", "7d", "7e", "9c", "9d", "9e",
        "bc", "bd", "be", "dc", "dd", "de", "fc", "fd", "fe",
      ]
    ),
    ("a simple value below 32 in two bytes", ["f800", "f801", "f818", "f81f"]),
    (
      "a chunk of another type",
      ["5f00ff", "5f21ff", "5f6100ff", "5f80ff", "5fa0ff", "5fc000ff", "5fe0ff", "7f4100ff"]
    ),
    ("a chunk of indefinite length", ["5f5f4100ffff", "7f7f6100ffff"]),
    ("a break by itself", ["ff"]),
    (
      "a break in something of definite length",
      [
        "81ff", "8200ff", "a1ff", "a1ff00", "a100ff", "a20000ff", "9f81ff",
        "9f829f819f9fffffffff",
      ]
    ),
    ("a break for a value", ["bf00ff", "bf000000ff"]),
    ("an indefinite length where there is none", ["1f", "3f", "df"]),
  ]

  private static let nested = CBORValue.array([.unsigned(1), numbers(2...3), numbers(4...5)])

  private static let upTo25 = "[" + (1...25).map(String.init).joined(separator: ", ") + "]"

  private static func numbers(_ range: ClosedRange<UInt64>) -> CBORValue {
    .array(range.map { .unsigned($0) })
  }

  private static func map(_ pairs: (CBORValue, CBORValue)...) -> CBORValue {
    .map(pairs.map { CBORValue.Pair($0.0, $0.1) })
  }
}
