// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Lives that are shorter or longer than there is time.
struct MemoryCacheExpirationBoundsTests {
  private let clock = ManualClock()

  private func make(
    _ expiration: Expiration,
    _ change: (inout MemoryCacheConfiguration<Int, String>) -> Void = { _ in }
  ) -> MemoryCache<Int, String> {
    makeCache {
      $0.expiration = expiration
      $0.clock = clock.clock
      change(&$0)
    }
  }

  @Test(arguments: [-1, 0, .min]) func daysThatArePastExpireAtOnce(days: Int) {
    let cache = make(.days(days))
    cache.fill([1])
    #expect(cache.value(forKey: 1) == nil)
    #expect(cache.count == 0)
  }

  @Test func daysToComeKeep() {
    let cache = make(.days(2))
    cache.fill(1...3)
    clock.advance(2 * 86_400 - 1)
    #expect(cache.value(forKey: 1) == "1")
    clock.advance(1)
    #expect(cache.removeExpired() == 3)
  }

  @Test(arguments: [
    Expiration.seconds(.infinity), .seconds(.nan), .seconds(1e300), .days(.max),
    .after(.seconds(Int64.max)), .afterAccess(.seconds(Int64.max)), .date(.distantFuture),
    .date(Date(timeIntervalSinceReferenceDate: 1e300)),
    .date(Date(timeIntervalSinceReferenceDate: .infinity)),
  ]) func endsBeyondAllTimesNeverCome(expiration: Expiration) {
    let cache = make(expiration)
    cache.fill([1])
    cache.fill([2], expiration: expiration)
    clock.advance(1e9)
    #expect(Set(cache.keys()) == [1, 2])
    #expect(cache.value(forKey: 1) == "1")
  }

  @Test(arguments: [
    Expiration.seconds(0), .seconds(-1), .seconds(-.infinity), .seconds(-1e300), .after(.zero),
    .after(.seconds(Int64.min)), .afterAccess(.zero), .afterAccess(.seconds(-3)),
    .date(Date(timeIntervalSinceReferenceDate: -1e300)),
    .date(Date(timeIntervalSinceReferenceDate: -.infinity)),
  ]) func endsBeforeTheBeginningAreAtOnce(expiration: Expiration) {
    let ear = Ear<Int, String>()
    let cache = make(expiration) { $0.onRemoval = { ear.hear($0) } }
    cache.fill([1])
    #expect(cache.value(forKey: 1) == nil)
    #expect(cache.isEmpty)
    cache.expiration = .never
    cache.fill([2], expiration: expiration)
    #expect(cache.value(forKey: 2) == nil)
    #expect(cache.isEmpty)
    #expect(ear.gone == [Gone(1, .expired), Gone(2, .expired)])
    #expect(cache.contradiction() == nil)
  }
}
