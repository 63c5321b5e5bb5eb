// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// When entries go. After RECache's DiskCache tests cacheLevelExpirationSeconds, DatePast,
/// NeverKeepsEntries; removeExpiredNeverIsNoOp, DatePastWipes, DateFutureKeeps, Seconds,
/// DaysPastWipes, DaysFutureKeeps; syncContainsRemovesExpired,
/// syncValueWithExtendedDataRemovesExpired; asyncRemoveExpired; and KVStorage's
/// removeItemsEarlierThanTime with its edges.
struct DiskCacheExpirationTests {
  private let place: DiskPlace
  private var clock: DiskClock { place.clock }

  init() throws { place = try DiskPlace() }

  @Test func entriesExpireByTheTimeSinceTheyWereWritten() throws {
    let cache = try place.openText { $0.expiration = .seconds(60) }
    try cache.set("one", forKey: 1)
    clock.advance(59.999)
    #expect(try cache.value(forKey: 1) == "one")
    clock.advance(0.001)
    #expect(try cache.value(forKey: 1) == nil)
    #expect(try !cache.contains(1))
    #expect(try cache.extendedData(forKey: 1) == nil)
    #expect(try cache.valueWithExtendedData(forKey: 1) == nil)
    #expect(try cache.info(forKey: 1) == nil)
    #expect(try cache.keys() == [])
  }

  @Test func readingDoesNotProlongALifeCountedFromTheWrite() throws {
    let cache = try place.openText { $0.expiration = .seconds(10) }
    try cache.set("one", forKey: 1)
    for _ in 0..<9 {
      clock.advance(1)
      #expect(try cache.value(forKey: 1) == "one")
    }
    clock.advance(1)
    #expect(try cache.value(forKey: 1) == nil)
    #expect(try cache.removeExpired() == 1)
  }

  @Test func removingTheExpiredGoesByTheWriteAndNotTheRead() throws {
    let cache = try place.openText { $0.expiration = .seconds(10) }
    try cache.fill(1...3)
    clock.advance(5)
    try cache.fill(4...6)
    clock.advance(5)
    for key in 1...6 { _ = try cache.value(forKey: key) }
    #expect(try cache.removeExpired() == 3)
    #expect(try cache.count == 3)
    #expect(try cache.keys() == [4, 5, 6])
  }

  @Test func aWriteBeginsANewLife() throws {
    let cache = try place.openText { $0.expiration = .seconds(10) }
    try cache.set("one", forKey: 1)
    clock.advance(8)
    try cache.set("two", forKey: 1)
    clock.advance(8)
    #expect(try cache.value(forKey: 1) == "two")
  }

  @Test func whatWasWrittenWithoutAnExpirationHasItsTimeFromTheWrite() throws {
    let cache = try place.openText()
    try cache.set("one", forKey: 1)
    try cache.checkpoint()
    clock.advance(100)
    try cache.set("two", forKey: 2)
    cache.expiration = .seconds(60)
    #expect(try cache.value(forKey: 1) == nil)
    #expect(try cache.value(forKey: 2) == "two")
    cache.expiration = .seconds(1000)
    #expect(try cache.value(forKey: 1) == "one")
    cache.expiration = .never
    clock.advance(1e6)
    #expect(try cache.removeExpired() == 0)
    #expect(try cache.value(forKey: 1) == "one")
  }

  @Test func aDateInThePastTakesAllAndOneInTheFutureNone() throws {
    let cache = try place.openText()
    try cache.fill(1...3)
    cache.expiration = .date(clock.date + 10)
    #expect(try cache.removeExpired() == 0)
    #expect(try cache.value(forKey: 1) == "1")
    cache.expiration = .date(clock.date - 1)
    #expect(try cache.value(forKey: 1) == nil)
    #expect(try cache.removeExpired() == 3)
    #expect(try cache.isEmpty)
  }

  @Test(arguments: [(-1, 3), (0, 3), (1, 0), (Int.max, 0), (Int.min, 3)])
  func days(days: Int, removed: Int) throws {
    let cache = try place.openText()
    try cache.fill(1...3)
    cache.expiration = .days(days)
    #expect(try cache.removeExpired() == removed)
  }

  @Test func neverRemovesNothing() throws {
    let cache = try place.openText()
    try cache.fill(1...3)
    clock.advance(1e9)
    #expect(try cache.removeExpired() == 0)
    #expect(try cache.count == 3)
  }

  @Test func anEntrysOwnExpirationStandsInPlaceOfTheCaches() throws {
    let cache = try place.openText { $0.expiration = .seconds(60) }
    try cache.set("short", forKey: 1, expiration: .seconds(10))
    try cache.set("long", forKey: 2, expiration: .seconds(600))
    try cache.set("ever", forKey: 3, expiration: .never)
    try cache.set("default", forKey: 4)
    for keys in [[2, 3, 4], [2, 3], [3]] {
      clock.advance(keys.count == 3 ? 10 : keys.count == 2 ? 50 : 540)
      #expect(try cache.keys() == keys)
      try cache.checkpoint()
    }
    #expect(try cache.removeExpired() + Int(cache.statistics.expired) >= 3)
    #expect(try cache.count == 1)
  }

  @Test func anEntryThatIdlesLivesAsLongAsItIsUsed() throws {
    let cache = try place.openText()
    try cache.set("one", forKey: 1, expiration: .afterAccess(.seconds(10)))
    try cache.set("two", forKey: 2, expiration: .afterAccess(.seconds(10)))
    for step in 0..<5 {
      clock.advance(6)
      #expect(try cache.value(forKey: 1) == "one")
      if step % 2 == 1 { try cache.checkpoint() }
    }
    #expect(try cache.value(forKey: 2) == nil)
    clock.advance(10)
    #expect(try cache.value(forKey: 1) == nil)
  }

  @Test func theCachesOwnIdleTimeHoldsForWhatIsWrittenFromThenOn() throws {
    let cache = try place.openText()
    try cache.set("one", forKey: 1)
    cache.expiration = .afterAccess(.seconds(10))
    try cache.set("two", forKey: 2)
    clock.advance(10)
    #expect(try cache.keys() == [1])
  }

  @Test func theEarliestOfThreeEndsCounts() throws {
    let cache = try place.openText()
    let ends = Expiration(
      afterWrite: .seconds(30), afterAccess: .seconds(20), date: clock.date + 25)
    try cache.set("one", forKey: 1, expiration: ends)
    clock.advance(15)
    #expect(try cache.value(forKey: 1) == "one")
    clock.advance(9)
    #expect(try cache.value(forKey: 1) == "one")
    clock.advance(1)
    #expect(try cache.value(forKey: 1) == nil)
  }

  /// By the clocks of the system, of which a date's is read to the microsecond.
  @Test(arguments: [Expiration.seconds(0), .seconds(-5), .seconds(1e-12), .days(-1)])
  func whatLivesForNoTimeIsNeverRead(expiration: Expiration) throws {
    let cache = try DiskCache<Int, Int>(at: .path(place.path))
    for round in 0..<2000 {
      try cache.set(round, forKey: 1, expiration: expiration)
      #expect(try cache.value(forKey: 1) == nil)
    }
  }

  @Test(arguments: [Expiration.seconds(0), .seconds(-5), .afterAccess(.zero)])
  func nothingAndLessIsOverAtOnce(expiration: Expiration) throws {
    let cache = try place.openText()
    try cache.set("one", forKey: 1, expiration: expiration)
    #expect(try cache.value(forKey: 1) == nil)
    #expect(try cache.removeExpired() <= 1)
    #expect(try cache.isEmpty)
  }

  @Test func timesPast2038AreOrdinary() throws {
    clock.set(Date(timeIntervalSince1970: 4_000_000_000))
    let cache = try place.openText { $0.expiration = .days(365 * 20) }
    try cache.set("one", forKey: 1)
    #expect(try cache.info(forKey: 1)?.written == Date(timeIntervalSince1970: 4_000_000_000))
    let end = Date(timeIntervalSince1970: 4_000_000_000 + 365 * 20 * 86_400)
    #expect(try cache.info(forKey: 1)?.expires == end)
    clock.advance(365 * 20 * 86_400 - 1)
    #expect(try cache.value(forKey: 1) == "one")
    clock.advance(1)
    #expect(try cache.value(forKey: 1) == nil)
  }

  @Test(arguments: [Date.distantFuture, Date(timeIntervalSince1970: .infinity)])
  func aDateBeyondAllTimesIsNever(date: Date) throws {
    let cache = try place.openText()
    try cache.set("one", forKey: 1, expiration: .date(date))
    clock.advance(1e9)
    #expect(try cache.value(forKey: 1) == "one")
    #expect(try cache.info(forKey: 1)?.expires == nil)
  }

  @Test func aClockThatGoesBackDoesNotKillAnEntry() throws {
    let cache = try place.openText { $0.expiration = .seconds(60) }
    try cache.set("one", forKey: 1)
    clock.set(Date(timeIntervalSince1970: 1_700_000_000))
    #expect(try cache.value(forKey: 1) == "one")
    try cache.set("two", forKey: 2)
    clock.advance(59)
    #expect(try cache.value(forKey: 2) == "two")
    clock.advance(1)
    #expect(try cache.value(forKey: 2) == nil)
  }

  @Test func timesOutliveTheProcess() throws {
    do {
      let cache = try place.openText()
      try cache.set("one", forKey: 1, expiration: .seconds(60))
      try cache.set("two", forKey: 2)
      try cache.close()
    }
    clock.advance(30)
    let cache = try place.openText { $0.expiration = .seconds(90) }
    #expect(try cache.keys() == [1, 2])
    clock.advance(30)
    #expect(try cache.keys() == [2])
    clock.advance(30)
    #expect(try cache.keys() == [])
  }

  @Test func theExpiredAreLookedForByTheFlush() throws {
    let cache = try place.openText { $0.expiration = .seconds(60) }
    try cache.fill(1...10)
    try cache.checkpoint()
    clock.advance(60)
    try cache.set("eleven", forKey: 11)
    #expect(try cache.removeExpired() <= 10)
    #expect(try cache.count == 1)
    #expect(try cache.statistics.expired == 10)
  }

  @Test func theEndIsToldWithTheEntry() throws {
    let cache = try place.openText { $0.expiration = .seconds(60) }
    try cache.set("one", forKey: 1)
    try cache.set("two", forKey: 2, expiration: .seconds(5))
    try cache.set("three", forKey: 3, expiration: .never)
    let now = clock.date
    #expect(try cache.infos().map(\.expires) == [now + 60, now + 5, nil])
    #expect(try cache.infos().allSatisfy { $0.written == now })
  }

  /// Whether or not a checkpoint has folded the read into the index.
  @Test func theEndThatIsToldCountsFromTheLastRead() throws {
    let cache = try place.openText { $0.expiration = .afterAccess(.seconds(10)) }
    try cache.fill(1...3)
    try cache.checkpoint()
    let written = clock.date
    clock.advance(8)
    #expect(try cache.value(forKey: 2) != nil)
    for _ in 0..<2 {
      #expect(try cache.info(forKey: 2)?.expires == written + 18)
      #expect(try cache.infos().map(\.expires) == [written + 10, written + 18, written + 10])
      try cache.checkpoint()
    }
    try cache.set("four", forKey: 4)
    clock.advance(1)
    #expect(try cache.value(forKey: 4) == "four")
    let end = clock.date + 2
    #expect(try cache.removeAll { ($0.expires ?? end) < end } == 2)
    #expect(try cache.keys() == [2, 4])
  }
}
