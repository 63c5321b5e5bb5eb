// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Entries whose time is over.
struct MemoryCacheExpirationTests {
  static let policies = EvictionPolicy.allCases
  private let clock = ManualClock()

  private func make(
    _ expiration: Expiration = .never, policy: EvictionPolicy = .lru, countLimit: Int = .max,
    _ change: (inout MemoryCacheConfiguration<Int, String>) -> Void = { _ in }
  ) -> MemoryCache<Int, String> {
    makeCache(policy: policy) {
      $0.expiration = expiration
      $0.clock = clock.clock
      $0.countLimit = countLimit
      change(&$0)
    }
  }

  @Test func nothingExpiresByDefault() {
    let cache = make()
    cache.fill([1])
    clock.advance(1e12)
    #expect(cache.value(forKey: 1) == "1")
    #expect(cache.removeExpired() == 0)
  }

  @Test(arguments: policies, [Int.max, 10])
  func entryExpiresAtItsVeryDeadlineAndLeavesWhenRead(policy: EvictionPolicy, limit: Int) {
    let cache = make(.seconds(10), policy: policy, countLimit: limit)
    cache.fill([1])
    clock.advance(9.999)
    #expect(cache.value(forKey: 1) == "1")
    clock.advance(0.001)
    #expect(cache.value(forKey: 1) == nil)
    #expect(cache.count == 0)
    #expect(cache.statistics.expired == 1)
    #expect(cache.statistics.misses == 1)
    #expect(cache.contradiction() == nil)
  }

  @Test func containsAndPeekFindNoExpiredEntryAndLeaveIt() {
    let cache = make(.seconds(1))
    cache.fill([1])
    clock.advance(1)
    #expect(!cache.contains(1))
    #expect(cache.peek(forKey: 1) == nil)
    #expect(cache.count == 1)
  }

  @Test func aDateInThePastExpiresAtOnce() {
    for past in [clock.date, clock.date - 1, .distantPast] {
      let cache = make(.date(past))
      cache.fill([1])
      #expect(cache.value(forKey: 1) == nil)
      #expect(cache.count == 0)
    }
  }

  @Test func aDateIsADate() {
    let cache = make(.date(clock.date + 100))
    cache.fill([1])
    clock.advance(60)
    cache.fill([2])
    clock.advance(39)
    #expect(cache.value(forKey: 1) == "1")
    clock.advance(1)
    #expect(cache.value(forKey: 1) == nil)
    #expect(cache.count == 0)
  }

  @Test func readingDoesNotProlongALifeAfterWrite() {
    let cache = make(.seconds(10))
    cache.fill([1])
    for _ in 0..<9 {
      clock.advance(1)
      #expect(cache.value(forKey: 1) == "1")
    }
    clock.advance(1)
    #expect(cache.value(forKey: 1) == nil)
  }

  @Test func settingAgainBeginsANewLife() {
    let cache = make(.seconds(10))
    cache.fill([1])
    clock.advance(9)
    cache.fill([1])
    clock.advance(9)
    #expect(cache.value(forKey: 1) == "1")
    clock.advance(1)
    #expect(cache.value(forKey: 1) == nil)
  }

  @Test(arguments: policies, [Int.max, 10])
  func readingProlongsALifeAfterAccess(policy: EvictionPolicy, limit: Int) {
    let cache = make(.afterAccess(.seconds(10)), policy: policy, countLimit: limit)
    cache.fill(1...3)
    for _ in 0..<5 {
      clock.advance(9)
      #expect(cache.value(forKey: 1) == "1")
      // Leaves no trace, so that it does not prolong.
      #expect(cache.removeExpired() <= 2)
    }
    #expect(cache.keys() == [1])
    clock.advance(10)
    #expect(cache.value(forKey: 1) == nil)
  }

  @Test func peekDoesNotProlong() {
    let cache = make(.afterAccess(.seconds(10)))
    cache.fill([1])
    clock.advance(9)
    #expect(cache.peek(forKey: 1) == "1")
    #expect(cache.contains(1))
    clock.advance(1)
    #expect(cache.peek(forKey: 1) == nil)
  }

  @Test func theEarliestOfSeveralEndsCounts() {
    let cache = make(.init(afterWrite: .seconds(30), afterAccess: .seconds(10)))
    cache.fill([1, 2])
    for _ in 0..<3 {
      #expect(cache.value(forKey: 1) == "1")
      clock.advance(9)
    }
    #expect(!cache.contains(2))
    #expect(cache.value(forKey: 1) == "1")
    clock.advance(3)
    #expect(cache.value(forKey: 1) == nil)
  }

  @Test func anEntrysOwnExpirationCountsForItAlone() {
    let cache = make(.seconds(100))
    cache.fill([1], expiration: .seconds(10))
    cache.fill([2])
    cache.fill([3], expiration: .never)
    clock.advance(10)
    #expect(Set(cache.keys()) == [2, 3])
    clock.advance(90)
    #expect(cache.keys() == [3])
    // Written again without one it has the cache's.
    cache.fill([3])
    clock.advance(100)
    #expect(cache.keys() == [])
  }

  @Test func entriesOwnExpirationsAloneExpireInACacheThatHasNone() {
    let cache = make()
    cache.fill(1...5)
    cache.fill(6...10, expiration: .seconds(5))
    clock.advance(5)
    #expect(Set(cache.keys()) == Set(1...5))
  }

  @Test func removeExpiredRemovesAllThatHave() {
    let cache = make(.seconds(10))
    cache.fill(0..<5000)
    clock.advance(5)
    cache.fill(5000..<5010)
    #expect(cache.removeExpired() == 0)
    clock.advance(5)
    #expect(cache.removeExpired() == 5000)
    #expect(cache.count == 10)
    #expect(cache.removeExpired() == 0)
    #expect(cache.contradiction() == nil)
  }

  @Test func removeExpiredGoesByTheTimeOfWritingAndNotOfReading() {
    let cache = make(.seconds(10))
    cache.fill([1])
    clock.advance(9)
    _ = cache.value(forKey: 1)
    clock.advance(1)
    #expect(cache.removeExpired() == 1)
  }

  @Test func entriesWrittenWhileNothingExpiredLiveFromTheChangeOn() {
    let cache = make()
    cache.fill([1])
    clock.advance(1000)
    cache.expiration = .seconds(10)
    #expect(cache.value(forKey: 1) == "1")
    clock.advance(9)
    #expect(cache.value(forKey: 1) == "1")
    clock.advance(1)
    #expect(cache.value(forKey: 1) == nil)
  }

  @Test func changedExpirationHoldsForWhatIsThereFromWhenItWasWritten() {
    let cache = make(.seconds(100))
    cache.fill([1])
    clock.advance(20)
    cache.fill([2])
    cache.expiration = .seconds(20)
    #expect(cache.keys() == [2])
    #expect(cache.statistics.expired == 1)
    cache.expiration = .never
    #expect(cache.expiration == .never)
    clock.advance(1e6)
    #expect(cache.value(forKey: 2) == "2")
  }

  @Test func expiredEntryUnderAKeyIsNoValueToReplaceOrRemove() {
    let ear = Ear<Int, String>()
    let cache = make(.seconds(10)) { $0.onRemoval = { ear.hear($0) } }
    cache.fill([1, 2])
    clock.advance(10)
    cache.set("new", forKey: 1)
    #expect(cache.remove(forKey: 2) == nil)
    #expect(Set(ear.gone) == [Gone(1, .expired), Gone(2, .expired)])
    #expect(cache.value(forKey: 1) == "new")
  }

  @Test func expiredEntriesLeaveBeforeOthersAreEvicted() {
    let ear = Ear<Int, String>()
    let cache = make(countLimit: 4) { $0.onRemoval = { ear.hear($0) } }
    cache.fill(1...2)
    cache.fill(3...4, expiration: .seconds(1))
    clock.advance(1)
    cache.fill(5...6)
    #expect(Set(ear.gone) == [Gone(3, .expired), Gone(4, .expired)])
    #expect(Set(cache.keys()) == [1, 2, 5, 6])
  }

  @Test func entriesTellWhenTheyExpire() throws {
    let cache = make(.seconds(100))
    cache.fill([1])
    cache.fill([2], expiration: .never)
    let entries = Dictionary(uniqueKeysWithValues: cache.entries().map { ($0.key, $0.expires) })
    let expires = try #require(entries[1] ?? nil)
    #expect(abs(expires.timeIntervalSince(clock.date + 100)) < 0.001)
    #expect(entries[2] == .some(nil))
  }

  @Test func aManyTimesRewrittenDeadlineIsStillTheRightOne() {
    var random = SeededGenerator(seed: 5)
    let cache = make(countLimit: 200)
    var ends: [Int: Int] = [:]
    for step in 0..<20_000 {
      let key = Int.random(in: 0..<150, using: &random)
      let life = Int.random(in: 1...50, using: &random)
      let now = Int(clock.now.components.seconds)
      if step % 3 == 0 {
        let isAlive = ends[key].map { $0 > now } ?? false
        #expect(cache.contains(key) == isAlive, "seed \(random.seed), step \(step)")
      } else {
        cache.set("", forKey: key, expiration: .seconds(Double(life)))
        ends[key] = now + life
      }
      if step % 7 == 0 { clock.advance(1) }
    }
    #expect(cache.contradiction() == nil)
  }
}
