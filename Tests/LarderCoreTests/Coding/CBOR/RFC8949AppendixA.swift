// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import Testing

/// One row of RFC 8949, Appendix A.
struct RFC8949Example: Sendable, CustomTestStringConvertible {
  let hex: String
  let value: CBORValue
  /// The value in diagnostic notation. Of indefinite lengths, that of the same item with a definite
  /// one, since a value does not know how it was written.
  let diagnostic: String
  /// Whether an encoder has to write the value in just this way.
  let isPreferred: Bool

  init(_ hex: String, _ value: CBORValue, _ diagnostic: String, preferred: Bool = true) {
    self.hex = hex
    self.value = value
    self.diagnostic = diagnostic
    self.isPreferred = preferred
  }

  var testDescription: String { hex }
}

extension RFC8949Example {
  /// All rows, in the order of the RFC.
  static let all = integers + floats + simples + tags + strings + containers + indefinite

  static let integers: [Self] = [
    Self("00", .unsigned(0), "0"),
    Self("01", .unsigned(1), "1"),
    Self("0a", .unsigned(10), "10"),
    Self("17", .unsigned(23), "23"),
    Self("1818", .unsigned(24), "24"),
    Self("1819", .unsigned(25), "25"),
    Self("1864", .unsigned(100), "100"),
    Self("1903e8", .unsigned(1000), "1000"),
    Self("1a000f4240", .unsigned(1_000_000), "1000000"),
    Self("1b000000e8d4a51000", .unsigned(1_000_000_000_000), "1000000000000"),
    Self("1bffffffffffffffff", .unsigned(.max), "18446744073709551615"),
    Self(
      "c249010000000000000000", .tagged(2, .bytes(Data(hex: "010000000000000000"))),
      "18446744073709551616"),
    Self("3bffffffffffffffff", .negative(.max), "-18446744073709551616"),
    Self(
      "c349010000000000000000", .tagged(3, .bytes(Data(hex: "010000000000000000"))),
      "-18446744073709551617"),
    Self("20", .negative(0), "-1"),
    Self("29", .negative(9), "-10"),
    Self("3863", .negative(99), "-100"),
    Self("3903e7", .negative(999), "-1000"),
  ]

  static let floats: [Self] = [
    Self("f90000", .float(0), "0.0"),
    Self("f98000", .float(-0.0), "-0.0"),
    Self("f93c00", .float(1), "1.0"),
    Self("fb3ff199999999999a", .float(1.1), "1.1"),
    Self("f93e00", .float(1.5), "1.5"),
    Self("f97bff", .float(65504), "65504.0"),
    Self("fa47c35000", .float(100_000), "100000.0"),
    Self("fa7f7fffff", .float(3.4028234663852886e+38), "3.4028234663852886e+38"),
    Self("fb7e37e43c8800759c", .float(1.0e+300), "1.0e+300"),
    Self("f90001", .float(5.960464477539063e-8), "5.960464477539063e-8"),
    Self("f90400", .float(0.00006103515625), "0.00006103515625"),
    Self("f9c400", .float(-4), "-4.0"),
    Self("fbc010666666666666", .float(-4.1), "-4.1"),
    Self("f97c00", .float(.infinity), "Infinity"),
    Self("f97e00", .float(.nan), "NaN"),
    Self("f9fc00", .float(-.infinity), "-Infinity"),
    Self("fa7f800000", .float(.infinity), "Infinity", preferred: false),
    Self("fa7fc00000", .float(.nan), "NaN", preferred: false),
    Self("faff800000", .float(-.infinity), "-Infinity", preferred: false),
    Self("fb7ff0000000000000", .float(.infinity), "Infinity", preferred: false),
    Self("fb7ff8000000000000", .float(.nan), "NaN", preferred: false),
    Self("fbfff0000000000000", .float(-.infinity), "-Infinity", preferred: false),
  ]

  static let simples: [Self] = [
    Self("f4", .bool(false), "false"),
    Self("f5", .bool(true), "true"),
    Self("f6", .null, "null"),
    Self("f7", .undefined, "undefined"),
    Self("f0", .simple(16), "simple(16)"),
    Self("f8ff", .simple(255), "simple(255)"),
  ]

  static let tags: [Self] = [
    Self(
      "c074323031332d30332d32315432303a30343a30305a", .tagged(0, .text("2013-03-21T20:04:00Z")),
      #"0("2013-03-21T20:04:00Z")"#),
    Self("c11a514b67b0", .tagged(1, .unsigned(1_363_896_240)), "1(1363896240)"),
    Self("c1fb41d452d9ec200000", .tagged(1, .float(1_363_896_240.5)), "1(1363896240.5)"),
    Self("d74401020304", .tagged(23, .bytes(Data([1, 2, 3, 4]))), "23(h'01020304')"),
    Self(
      "d818456449455446", .tagged(24, .bytes(Data(hex: "6449455446"))), "24(h'6449455446')"),
    Self(
      "d82076687474703a2f2f7777772e6578616d706c652e636f6d",
      .tagged(32, .text("http://www.example.com")), #"32("http://www.example.com")"#),
  ]

  static let strings: [Self] = [
    Self("40", .bytes(Data()), "h''"),
    Self("4401020304", .bytes(Data([1, 2, 3, 4])), "h'01020304'"),
    Self("60", .text(""), #""""#),
    Self("6161", .text("a"), #""a""#),
    Self("6449455446", .text("IETF"), #""IETF""#),
    Self("62225c", .text("\"\\"), #""\"\\""#),
    Self("62c3bc", .text("\u{fc}"), "\"\u{fc}\""),
    Self("63e6b0b4", .text("\u{6c34}"), "\"\u{6c34}\""),
    Self("64f0908591", .text("\u{10151}"), "\"\u{10151}\""),
  ]
}
