// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import LarderCore

/// Dates as text: exact, and strict about what is a date.
@Suite("RFC 3339") struct RFC3339Tests {
  // MARK: - Known texts

  private static let known: [(Double, String)] = [
    (0, "2001-01-01T00:00:00Z"),
    (-0.0, "2001-01-01T00:00:00Z"),
    (0.5, "2001-01-01T00:00:00.500Z"),
    (-0.5, "2000-12-31T23:59:59.500Z"),
    (-1, "2000-12-31T23:59:59Z"),
    (0.1, "2001-01-01T00:00:00.100Z"),
    (-0.1, "2000-12-31T23:59:59.900Z"),
    (1e-3, "2001-01-01T00:00:00.001Z"),
    (1e-7, "2001-01-01T00:00:00.0000001Z"),
    (-1e-7, "2000-12-31T23:59:59.9999999Z"),
    (1.5e-10, "2001-01-01T00:00:00.00000000015Z"),
    (-1.5e-10, "2000-12-31T23:59:59.99999999985Z"),
    (0.1 + 0.2, "2001-01-01T00:00:00.30000000000000004Z"),
    (-(0.1 + 0.2), "2000-12-31T23:59:59.69999999999999996Z"),
    (-978_307_200, "1970-01-01T00:00:00Z"),
    (-978_307_200.5, "1969-12-31T23:59:59.500Z"),
    (700_000_000.125, "2023-03-08T20:26:40.125Z"),
    (86_400 * 59 - 1, "2001-02-28T23:59:59Z"),
    (86_400 * 59, "2001-03-01T00:00:00Z"),
    (86_400 * (365 * 3 + 59), "2004-02-29T00:00:00Z"),
    (86_400 * (365 * 3 + 60), "2004-03-01T00:00:00Z"),
    (86_400 * -307, "2000-02-29T00:00:00Z"),
    (86_400 * -306, "2000-03-01T00:00:00Z"),
    (86_400 * -366, "2000-01-01T00:00:00Z"),
    (-63_113_904_000, "0001-01-01T00:00:00Z"),
    (63_113_904_000, "4001-01-01T00:00:00Z"),
    (-63_145_440_000, "0000-01-02T00:00:00Z"),
    (-63_145_526_400, "0000-01-01T00:00:00Z"),
    (-63_140_342_401, "0000-02-29T23:59:59Z"),
    (252_423_993_599, "9999-12-31T23:59:59Z"),
    (252_423_993_599.5, "9999-12-31T23:59:59.500Z"),
  ]

  @Test func knownDatesHaveTheirTexts() {
    for (time, text) in Self.known {
      let date = Date(timeIntervalSinceReferenceDate: time)
      #expect(RFC3339.text(date) == text, "\(time)")
      #expect(parse(text) == date, "\(text)")
    }
    // The first day of the year 1 in the Julian calendar, which Foundation has for it.
    #expect(RFC3339.text(.distantPast) == "0000-12-30T00:00:00Z")
    #expect(parse("0000-12-30T00:00:00Z") == .distantPast)
    #expect(RFC3339.text(.distantFuture) == "4001-01-01T00:00:00Z")
  }

  @Test func numbersNextToTheReferenceKeepEachOfTheirDigits() {
    for time in [Double.leastNonzeroMagnitude, .leastNormalMagnitude, 1.7976931348623157e-300] {
      for signed in [time, -time] {
        let date = Date(timeIntervalSinceReferenceDate: signed)
        let text = RFC3339.text(date)
        #expect(text.flatMap(parse) == date, "\(signed)")
        #expect((text?.utf8.count ?? .max) < RFC3339.capacity)
      }
    }
    let least = RFC3339.text(Date(timeIntervalSinceReferenceDate: .leastNonzeroMagnitude))
    #expect(least == "2001-01-01T00:00:00." + String(repeating: "0", count: 323) + "5Z")
  }

  @Test func yearsWithoutFourDigitsAndDatesThatAreNotFiniteHaveNoText() {
    let outside: [Double] = [
      (-63_145_526_400).nextDown, 252_423_993_600, 1e300, -1e300, .infinity, -.infinity, .nan,
      .greatestFiniteMagnitude,
    ]
    for time in outside {
      #expect(RFC3339.text(Date(timeIntervalSinceReferenceDate: time)) == nil, "\(time)")
    }
    for time in [(252_423_993_600).nextDown, -63_145_526_400] {
      let date = Date(timeIntervalSinceReferenceDate: time)
      #expect(RFC3339.text(date).flatMap(parse) == date, "\(time)")
    }
  }

  @Test func aBufferThatIsTooSmallIsNotWrittenTo() {
    for capacity in [0, 20, RFC3339.capacity - 1, RFC3339.capacity] {
      var bytes = [UInt8](repeating: 7, count: capacity)
      let count = bytes.withUnsafeMutableBufferPointer { RFC3339.write(.distantPast, to: $0) }
      #expect(count == (capacity < RFC3339.capacity ? nil : 20))
      #expect(bytes.contains { $0 != 7 } == (count != nil))
    }
  }

  // MARK: - Any date

  @Test func everyDateComesBackAsItWas() {
    var generator = SeededGenerator(seed: 20)
    let day = 86_400.0
    let now = 800_000_000.0
    let epoch = -978_307_200.0
    let centers = [
      (now, 1e8), (now, 1), (0, 10), (0, 1e-3), (0, 1e-20), (epoch, 1e8), (epoch, 1),
      (-63_113_904_000 + 365 * day, 365 * day), (252_423_993_600 - 365 * day, 365 * day),
      (94_000_000_000, 1.5e11), (-31_557_000_000, 3.1e10),
    ]
    for (center, width) in centers {
      for _ in 0..<4000 {
        let time = center + Double.random(in: -width...width, using: &generator)
        // The number itself, whole ones, halves, thousandths, millionths, one bit off.
        let candidates = [
          time, time.rounded(), (time * 2).rounded() / 2, (time * 1e3).rounded() / 1e3,
          (time * 1e6).rounded() / 1e6, (time * 1e7).rounded() / 1e7, time.rounded().nextUp,
          time.rounded().nextDown,
        ]
        for candidate in candidates {
          let date = Date(timeIntervalSinceReferenceDate: candidate)
          let text = RFC3339.text(date)
          guard let text, parse(text) == date else {
            Issue.record("\(candidate) as \(text ?? "nil"), seed \(generator.seed)")
            return
          }
        }
      }
    }
  }

  @Test func textsGrowWithTheDates() {
    var generator = SeededGenerator(seed: 21)
    for _ in 0..<2000 {
      let time = Double.random(in: -2e9...2e9, using: &generator)
      var last = ""
      // What stands in front of the `Z` is then ordered as the dates are.
      for next in [time.nextDown, time, time.nextUp, time + 1e-3, time + 1] {
        let text = RFC3339.text(Date(timeIntervalSinceReferenceDate: next))?.dropLast() ?? ""
        #expect(last < text, "\(time), seed \(generator.seed)")
        last = String(text)
      }
    }
  }

  @Test func datesHaveNoMoreDigitsThanTheyNeed() {
    var generator = SeededGenerator(seed: 22)
    for _ in 0..<20_000 {
      let digits = Int.random(in: 3...6, using: &generator)
      let power = (0..<digits).reduce(1) { power, _ in power * 10 }
      let whole = Int.random(in: -2_000_000_000...2_000_000_000, using: &generator)
      let time =
        Double(whole * power + Int.random(in: 1..<power, using: &generator)) / Double(power)
      let text = RFC3339.text(Date(timeIntervalSinceReferenceDate: time)) ?? ""
      #expect(text.utf8.count <= 21 + digits, "\(time), seed \(generator.seed)")
    }
  }

  @Test func wholeSecondsAreWrittenAndReadAsFoundationDoes() throws {
    var generator = SeededGenerator(seed: 23)
    let style = Date.ISO8601FormatStyle()
    // From 1583 on Foundation's calendar is the Gregorian one, too.
    for _ in 0..<5000 {
      let time = Int.random(in: -13_190_000_000...252_423_993_599, using: &generator)
      let date = Date(timeIntervalSinceReferenceDate: Double(time))
      let text = date.formatted(style)
      #expect(RFC3339.text(date) == text, "seed \(generator.seed)")
      #expect(try style.parse(text) == date, "seed \(generator.seed)")
      #expect(parse(text) == date, "seed \(generator.seed)")
    }
  }

  @Test func millisecondsAreReadAsFoundationDoes() throws {
    var generator = SeededGenerator(seed: 24)
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    for _ in 0..<5000 {
      let milliseconds = Int.random(in: -2_000_000_000_000...2_000_000_000_000, using: &generator)
      let date = Date(timeIntervalSinceReferenceDate: Double(milliseconds) / 1000)
      let text = try #require(RFC3339.text(date))
      guard text.utf8.count == 24 else { continue }
      let foundations = try style.parse(text)
      #expect(abs(foundations.timeIntervalSince(date)) < 1e-5, "\(text), seed \(generator.seed)")
    }
  }

  @Test func everyDayOfFourHundredYearsFollowsTheOneBefore() {
    var year = 1900
    var month = 1
    var day = 1
    var time = -3_187_296_000.0
    for _ in 0..<146_097 {
      let text = RFC3339.text(Date(timeIntervalSinceReferenceDate: time)) ?? ""
      let expected =
        "\(year)-\(month < 10 ? "0" : "")\(month)-\(day < 10 ? "0" : "")\(day)T00:00:00Z"
      if text != expected || parse(text)?.timeIntervalSinceReferenceDate != time {
        Issue.record("\(text) should be \(expected)")
        return
      }
      let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
      let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
      day += 1
      if day > lengths[month - 1] {
        day = 1
        month += 1
      }
      if month > 12 {
        month = 1
        year += 1
      }
      time += 86_400
    }
    #expect(year == 2300)
  }

  // MARK: - What is read

  @Test func everyFormOfTheStandardIsRead() {
    let date = Date(timeIntervalSinceReferenceDate: 700_000_000.125)
    let forms = [
      "2023-03-08T20:26:40.125Z", "2023-03-08t20:26:40.125z", "2023-03-08 20:26:40.125Z",
      "2023-03-08T20:26:40.1250000000000000000000000000000000000000Z",
      "2023-03-08T20:26:40.125+00:00", "2023-03-08T20:26:40.125-00:00",
      "2023-03-08T22:26:40.125+02:00", "2023-03-09T00:26:40.125+04:00",
      "2023-03-08T10:56:40.125-09:30", "2023-03-09T20:25:40.125+23:59",
      "2023-03-07T20:27:40.125-23:59",
    ]
    for form in forms { #expect(parse(form) == date, "\(form)") }
    #expect(parse("2023-03-08T20:26:40.0Z") == Date(timeIntervalSinceReferenceDate: 700_000_000))
    #expect(
      parse("2023-03-08T20:26:40.000000000000000000000Z")?.timeIntervalSince1970 == 1678307200)
  }

  @Test func moreDigitsThanADateCanHoldAreRoundedToTheNearest() {
    // Half-way to the next date is 2^-24 s at this distance.
    let base = 700_000_000.0
    let half = "000000059604644775390625"
    let cases = [
      ("." + half + "Z", base), ("." + half + "1Z", base.nextUp),
      (".00000005960464477539062Z", base), (".00000011920928955078125Z", base.nextUp),
      ("." + String(repeating: "9", count: 5000) + "Z", base + 1),
      ("." + String(repeating: "0", count: 5000) + "1Z", base),
    ]
    for (fraction, time) in cases {
      let date = Date(timeIntervalSinceReferenceDate: time)
      #expect(parse("2023-03-08T20:26:40" + fraction) == date, "\(fraction.prefix(40))")
    }
  }

  @Test func aLeapSecondIsTheFirstSecondOfTheNextDay() {
    for text in [
      "2016-12-31T23:59:60Z", "2017-01-01T00:59:60+01:00", "2016-12-31T15:59:60-08:00",
    ] {
      #expect(parse(text) == parse("2017-01-01T00:00:00Z"), "\(text)")
    }
    #expect(parse("2016-12-31T23:59:60.250Z") == parse("2017-01-01T00:00:00.250Z"))
    for text in [
      "2016-12-31T23:58:60Z", "2016-12-31T22:59:60Z", "2016-12-31T23:59:60+01:00",
      "2016-12-31T23:59:61Z",
    ] {
      #expect(parse(text) == nil, "\(text)")
    }
  }

  @Test func everythingElseIsNoDate() {
    let texts = [
      "", "Z", "2023-03-08", "2023-03-08T20:26:40", "2023-03-08T20:26Z", "20230308T202640Z",
      "2023-03-08T20:26:40.Z", "2023-03-08T20:26:40,5Z", "2023-03-08T20:26:40.1 Z",
      "2023-03-08T20:26:40ZZ", "2023-03-08T20:26:40Z ", " 2023-03-08T20:26:40Z",
      "2023-03-08T20:26:40+0200", "2023-03-08T20:26:40+02", "2023-03-08T20:26:40+24:00",
      "2023-03-08T20:26:40+02:60", "2023-03-08T20:26:40*02:00", "2023-03-08T20:26:40+2:000",
      "2023-00-08T20:26:40Z", "2023-13-08T20:26:40Z", "2023-03-00T20:26:40Z",
      "2023-03-32T20:26:40Z", "2023-04-31T20:26:40Z", "2023-02-29T20:26:40Z",
      "1900-02-29T20:26:40Z", "2023-03-08T24:00:00Z", "2023-03-08T20:60:40Z",
      "2023-3-008T20:26:40Z", "+023-03-08T20:26:40Z", "2023-03-08_20:26:40Z",
      "2023/03/08T20:26:40Z", "2023-03-08T20-26-40Z", "２０23-03-08T20:26:40Z",
    ]
    for text in texts { #expect(parse(text) == nil, "\(text)") }
    #expect(parse("2024-02-29T20:26:40Z") != nil)
    #expect(parse("2000-02-29T20:26:40Z") != nil)
  }

  @Test func noChangeOfATextTraps() {
    var generator = SeededGenerator(seed: 25)
    let text = Array("2023-12-31T23:59:60.123456789012345678-23:59".utf8)
    let alphabet = Array("0123456789:-+.TtZz \u{7F}\0".utf8) + [0xFF]
    for _ in 0..<50_000 {
      var changed = text
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let index = Int.random(in: 0..<changed.count, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: changed.remove(at: index)
        case 1: changed[index] = alphabet.randomElement(using: &generator) ?? 0
        default: changed.insert(alphabet.randomElement(using: &generator) ?? 0, at: index)
        }
      }
      let date = changed.withUnsafeBufferPointer { RFC3339.date($0) }
      if let date, let again = RFC3339.text(date) {
        #expect(parse(again) == date, "\(changed), seed \(generator.seed)")
      }
    }
  }

  private func parse(_ text: String) -> Date? {
    var text = text
    return text.withUTF8 { RFC3339.date($0) }
  }
}
