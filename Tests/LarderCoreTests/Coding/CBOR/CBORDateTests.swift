// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Dates and the strategies for them.
@Suite struct CBORDateTests {
  private let sample = Date(timeIntervalSince1970: 1_700_000_000.25)

  private func coders(
    _ encoding: CBOREncoder.DateEncodingStrategy, _ decoding: CBORDecoder.DateDecodingStrategy
  ) -> (CBOREncoder, CBORDecoder) {
    var encoder = CBOREncoder()
    encoder.dateEncodingStrategy = encoding
    var decoder = CBORDecoder()
    decoder.dateDecodingStrategy = decoding
    return (encoder, decoder)
  }

  @Test func everyDateComesBackExactlyByDefault() throws {
    var generator = SeededGenerator(seed: 3339)
    for _ in 0..<20_000 {
      let date = Date.make(&generator, plain: false)
      let bytes = try cbor(date)
      let back = try CBORDecoder().decode(Date.self, from: bytes)
      #expect(
        back == date,
        "Seed \(generator.seed): \(date.timeIntervalSinceReferenceDate), \(bytes.hex)")
      #expect(try bytes[0] == 0xc1 || CBORValue(bytes).description.hasPrefix(#"0(""#))
    }
    for seconds in [
      0, -0.0, 0.5, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, 1e-300, -1e-9,
      0.1.nextUp, 1.nextDown, -1.nextUp, 978_307_200, -978_307_200, -978_307_200.1, 6.5e8.nextUp,
    ] {
      let date = Date(timeIntervalSinceReferenceDate: seconds)
      #expect(try roundTrip(date) == date, "\(seconds)")
    }
  }

  @Test func datesOutOfTheCalendarDoNotTrap() throws {
    for seconds in [1e12, -1e12, 1e18, -1e18, 1e300, -1e300, .infinity, -.infinity, .nan] {
      let date = Date(timeIntervalSinceReferenceDate: seconds)
      for strategy in [
        CBOREncoder.DateEncodingStrategy.tagged, .epoch, .iso8601, .secondsSince1970,
        .millisecondsSince1970, .deferredToDate,
      ] {
        let (encoder, decoder) = coders(strategy, .tagged)
        // An error is as good as bytes, but what is tagged can be read.
        guard let bytes = try? encoder.encode([date]) else { continue }
        switch strategy {
        case .tagged, .epoch, .iso8601:
          #expect(throws: Never.self) { try decoder.decode([Date].self, from: bytes) }
        default: _ = try? decoder.decode([Date].self, from: bytes)
        }
      }
    }
    #expect(try roundTrip(Date.distantPast) == .distantPast)
    #expect(try roundTrip(Date.distantFuture) == .distantFuture)
  }

  @Test func datesAreWrittenByEachStrategy() throws {
    let whole = Date(timeIntervalSince1970: 1_700_000_000)
    let expected: [(CBOREncoder.DateEncodingStrategy, String, String)] = [
      (.tagged, "1(1700000000)", "1(1700000000.25)"),
      (.epoch, "1(1700000000)", "1(1700000000.25)"),
      (.iso8601, #"0("2023-11-14T22:13:20Z")"#, #"0("2023-11-14T22:13:20.250Z")"#),
      (.secondsSince1970, "1700000000", "1700000000.25"),
      (.millisecondsSince1970, "1700000000000", "1700000000250"),
      (.deferredToDate, "721692800.0", "721692800.25"),
      (
        .custom { date, encoder in
          var container = encoder.unkeyedContainer()
          try container.encode(Int(date.timeIntervalSince1970))
          try container.encode(date)
        }, "", ""
      ),
    ]
    for (strategy, first, second) in expected.dropLast() {
      let (encoder, _) = coders(strategy, .tagged)
      #expect(try CBORValue(encoder.encode(whole)).description == first)
      #expect(try CBORValue(encoder.encode([sample])).description == "[\(second)]")
      #expect(try CBORValue(encoder.encode(["d": sample])).description == #"{"d": \#(second)}"#)
    }
  }

  @Test func customStrategiesWriteAndReadDates() throws {
    let (encoder, decoder) = coders(
      .custom { date, encoder in
        var container = encoder.container(keyedBy: Name.self)
        try container.encode(date.timeIntervalSince1970, forKey: "seconds")
      },
      .custom { decoder in
        let container = try decoder.container(keyedBy: Name.self)
        return Date(timeIntervalSince1970: try container.decode(Double.self, forKey: "seconds"))
      })
    let value = ["a": [sample, sample + 1]]
    let bytes = try encoder.encode(value)
    #expect(try CBORValue(bytes).description.contains(#"{"seconds": 1700000000.25}"#))
    #expect(try decoder.decode([String: [Date]].self, from: bytes) == value)
    #expect(
      failure { try decoder.decode([Date].self, from: cbor([1])) } == .otherType(["Index 0#0"]))
    #expect(
      failure { try decoder.decode([[String: Double]: Date].self, from: cbor([[String: Int]]())) }
        == nil)
    struct Thrown: Error {}
    let (refusing, _) = coders(.custom { _, _ in throw Thrown() }, .tagged)
    #expect(throws: Thrown.self) { try refusing.encode([sample]) }
    let (silent, _) = coders(.custom { _, _ in }, .tagged)
    #expect(try silent.encode([sample]).hex == "81a0")
  }

  @Test func datesAreReadByEachStrategy() throws {
    let whole = Date(timeIntervalSince1970: 1_700_000_000)
    for (encoding, decoding) in [
      (CBOREncoder.DateEncodingStrategy.tagged, CBORDecoder.DateDecodingStrategy.tagged),
      (.epoch, .tagged), (.iso8601, .tagged), (.secondsSince1970, .secondsSince1970),
      (.millisecondsSince1970, .millisecondsSince1970), (.deferredToDate, .deferredToDate),
    ] {
      let (encoder, decoder) = coders(encoding, decoding)
      for date in [whole, sample, Date(timeIntervalSince1970: 0), .distantPast] {
        #expect(try decoder.decode([Date].self, from: encoder.encode([date])) == [date])
      }
    }
  }

  @Test func datesInTextHaveOffsetsAndFractions() throws {
    for (text, seconds) in [
      ("2013-03-21T20:04:00Z", 1_363_896_240), ("2013-03-21T21:04:00+01:00", 1_363_896_240),
      ("2013-03-21t20:04:00.5z", 1_363_896_240.5), ("2013-03-21T15:34:00-04:30", 1_363_896_240),
      ("2013-03-21T20:04:00.000000000Z", 1_363_896_240), ("1970-01-01T00:00:00Z", 0),
      ("0000-01-01T00:00:00Z", -62_167_219_200), ("2016-12-31T23:59:60Z", 1_483_228_800),
    ] as [(String, Double)] {
      let date = Date(timeIntervalSince1970: seconds)
      for value in [CBORValue.tagged(0, .text(text)), .text(text)] {
        #expect(try CBORDecoder().decode(Date.self, from: value.encoded) == date, "\(text)")
      }
    }
    for text in [
      "", "x", "2013-03-21", "2013-02-30T00:00:00Z", "2013-03-21T24:00:00Z",
      "2013-03-21T20:04:00", "2013-03-21T20:04:00Zx", "20130321T200400Z",
    ] {
      let bytes = try CBORValue.tagged(0, .text(text)).encoded
      #expect(failure { try CBORDecoder().decode(Date.self, from: bytes) } == .corrupted([]))
    }
  }

  @Test func whatIsNoDateIsRefusedWithItsPath() throws {
    for (hex, expected) in [
      ("05", CodingFailure.otherType(["d"])), ("f5", .otherType(["d"])), ("80", .otherType(["d"])),
      ("f6", .missingValue(["d"])), ("c16161", .otherType(["d"])), ("c005", .otherType(["d"])),
    ] {
      #expect(failure { try value([String: Date].self, hex: "a16164" + hex) } == expected, "\(hex)")
    }
  }
}
