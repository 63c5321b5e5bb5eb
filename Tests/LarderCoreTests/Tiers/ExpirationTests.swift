// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import Testing

struct ExpirationTests {
  private let start = Date(timeIntervalSince1970: 1_000_000)

  @Test func neverHasNoDate() {
    #expect(Expiration.never.expirationDate(from: start) == nil)
    #expect(!Expiration.never.isExpired(writtenAt: .distantPast, now: .distantFuture))
    #expect(Expiration.never == Expiration())
  }

  @Test func datesAreCountedFromTheWrite() {
    #expect(Expiration.seconds(1.5).expirationDate(from: start) == start + 1.5)
    #expect(Expiration.seconds(-2).expirationDate(from: start) == start - 2)
    #expect(Expiration.days(2).expirationDate(from: start) == start + 172_800)
    #expect(Expiration.after(.milliseconds(250)).expirationDate(from: start) == start + 0.25)
    #expect(Expiration.afterAccess(.seconds(3)).expirationDate(from: start) == start + 3)
    #expect(Expiration.date(start).expirationDate(from: .distantFuture) == start)
  }

  @Test func theEarliestCounts() {
    let expiration = Expiration(
      afterWrite: .seconds(20), afterAccess: .seconds(10), date: start + 15)
    #expect(expiration.expirationDate(from: start) == start + 10)
    #expect(expiration.expirationDate(from: start + 8) == start + 15)
    #expect(expiration.expirationDate(from: start - 60) == start - 50)
  }

  @Test func expiredAtTheVeryDeadline() {
    let expiration = Expiration.seconds(10)
    #expect(!expiration.isExpired(writtenAt: start, now: start + 9.999))
    #expect(expiration.isExpired(writtenAt: start, now: start + 10))
    #expect(expiration.isExpired(writtenAt: start, now: start + 11))
    #expect(expiration.isExpired(writtenAt: .distantPast))
    #expect(!expiration.isExpired(writtenAt: .distantFuture))
  }

  @Test func noNumberIsTooMuch() {
    for never in [Expiration.seconds(.nan), .seconds(.infinity), .seconds(1e300)] {
      #expect(never == .never)
    }
    let noDate = Expiration.date(Date(timeIntervalSince1970: .nan))
    #expect(!noDate.isExpired(writtenAt: start, now: .distantFuture))
    let both = Expiration(afterWrite: .seconds(1), date: noDate.date)
    #expect(both.expirationDate(from: start) == start + 1)
    for days in [Int.min, -1, 0] {
      #expect(Expiration.days(days).isExpired(writtenAt: start, now: start))
    }
    #expect(!Expiration.days(.max).isExpired(writtenAt: start, now: .distantFuture))
    #expect(Expiration.seconds(-1e300).isExpired(writtenAt: start, now: start))
    #expect(!Expiration.after(.seconds(Int64.max)).isExpired(writtenAt: start, now: start))
    #expect(Expiration.after(.seconds(Int64.min)).isExpired(writtenAt: start, now: start))
  }

  @Test(arguments: [0.0, 0.5, 1, 2439, 1_000_001, 3.75, -2439, -0.25])
  func secondsAreExact(seconds: Double) {
    #expect(
      Expiration.seconds(seconds).afterWrite
        == .seconds(Int64(seconds.rounded(.down)))
        + .milliseconds(Int64((seconds - seconds.rounded(.down)) * 1000)))
  }
}
