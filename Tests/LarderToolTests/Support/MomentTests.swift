// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import LarderTestSupport
import Testing

@testable import LarderLogTool

@Suite struct MomentTests {
  private static let now = Date(timeIntervalSince1970: 1_700_000_000)
  private static let utc = TimeZone(secondsFromGMT: 0)!

  private func seconds(_ text: String, _ zone: TimeZone = Self.utc) throws -> Double {
    try Moment(text, now: Self.now, zone: zone).date.timeIntervalSince1970
  }

  @Test func aDurationIsThatLongAgo() throws {
    #expect(try seconds("90s") == 1_699_999_910)
    #expect(try seconds("10m") == 1_699_999_400)
    #expect(try seconds("1.5h") == 1_699_994_600)
    #expect(try seconds("2d") == 1_699_827_200)
  }

  @Test func daysBeginAtMidnightOfTheirZone() throws {
    let east = try #require(TimeZone(secondsFromGMT: 7200))
    #expect(try seconds("today") == 1_699_920_000)
    #expect(try seconds("yesterday") == 1_699_833_600)
    // There it is the 15th already.
    #expect(try seconds("today", east) == 1_699_999_200)
    // A day of 23 hours came before.
    let berlin = try #require(TimeZone(identifier: "Europe/Berlin"))
    let monday = Date(timeIntervalSince1970: 1_679_900_400)
    let sunday = try Moment("yesterday", now: monday, zone: berlin).date
    #expect(sunday == Date(timeIntervalSince1970: 1_679_785_200))
  }

  @Test func secondsSince1970AreATime() throws {
    #expect(try seconds("@0") == 0)
    #expect(try seconds("@1700000000.25") == 1_700_000_000.25)
  }

  @Test func aDateIsLocalUnlessItHasAZone() throws {
    let east = try #require(TimeZone(secondsFromGMT: 7200))
    #expect(try seconds("2023-11-14") == 1_699_920_000)
    #expect(try seconds("2023-11-14", east) == 1_699_912_800)
    for text in [
      "2023-11-14T22:13:20Z", "2023-11-14 22:13:20Z", "2023-11-15T00:13:20+02:00",
      "2023-11-14T17:43:20-0430",
    ] {
      #expect(try seconds(text, east) == 1_700_000_000, "\(text)")
    }
    #expect(try seconds("2023-11-14T22:13") == 1_699_999_980)
    #expect(try seconds("2023-11-14T22:13:20.25") == 1_700_000_000.25)
    #expect(try seconds("2023-11-15T00:13:20", east) == 1_700_000_000)
  }

  @Test(arguments: [
    "", "never", "now", "10", "@", "@-1", "@1e5", "@1.", "Today", "tomorrow", "-5m", "0s", "2023",
    "2023-11", "2023-13-01", "2023-02-29",
    "2023-11-14T24:00", "2023-11-14T22", "2023-11-14T22:13:61", "2023-11-14Z", "2023-11-14T",
    "2023-11-14T22:13+2", "14.11.2023", " 10m",
  ])
  func anythingElseIsNoTime(text: String) {
    let error = #expect(throws: ValidationError.self) { try Moment(text) }
    #expect(error?.message.contains("'\(text)' is not a time") == true)
  }
}
