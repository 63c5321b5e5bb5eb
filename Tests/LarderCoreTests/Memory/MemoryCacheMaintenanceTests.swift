// SPDX-License-Identifier: MIT

import LarderCore
import LarderTestSupport
import Testing

/// What happens by itself: looking for expired entries, and what the system tells.
struct MemoryCacheMaintenanceTests {
  private let clock = ManualClock()
  private let ear = Ear<Int, String>()

  private func make(
    interval: Duration = .milliseconds(1), expiration: Expiration = .never
  ) -> MemoryCache<Int, String> {
    makeCache {
      $0.clock = clock.clock
      $0.expiration = expiration
      $0.autoTrimInterval = interval
      $0.onRemoval = { [ear] in ear.hear($0) }
    }
  }

  @Test func expiredEntriesLeaveByThemselves() async {
    let cache = make(expiration: .seconds(10))
    cache.fill(1...5)
    clock.advance(10)
    await until { ear.all.count == 5 }
    #expect(Set(ear.causes) == [.expired])
    #expect(cache.isEmpty)
    // And again, after the task had nothing left to look for.
    for round in 0..<20 {
      cache.fill([round])
      clock.advance(10)
      await until { ear.all.count == 6 + round }
    }
    withExtendedLifetime(cache) {}
  }

  @Test func entriesWithALifeOfTheirOwnLeaveByThemselves() async {
    let cache = make()
    cache.fill(1...5)
    cache.fill(6...8, expiration: .seconds(1))
    clock.advance(1)
    await until { ear.all.count == 3 }
    #expect(cache.count == 5)
  }

  @Test func expirationThatIsSetLaterCountsToo() async {
    let cache = make()
    cache.fill(1...5)
    cache.expiration = .seconds(10)
    clock.advance(10)
    await until { ear.all.count == 5 }
    withExtendedLifetime(cache) {}
  }

  @Test(arguments: [Duration.zero, .seconds(-1), .seconds(Int64.min)])
  func intervalOfNothingLooksForNothingUntilItIsSet(interval: Duration) async {
    let cache = make(interval: interval, expiration: .seconds(10))
    #expect(cache.autoTrimInterval == interval)
    cache.fill(1...5)
    clock.advance(10)
    #expect(cache.count == 5)
    cache.autoTrimInterval = .milliseconds(1)
    await until { ear.all.count == 5 }
    cache.autoTrimInterval = interval
    cache.fill([6])
    cache.autoTrimInterval = .seconds(Int64.max)
    cache.fill([7])
    cache.autoTrimInterval = .milliseconds(1)
    clock.advance(10)
    await until { ear.all.count == 7 }
  }

  @Test func lookingDoesNotKeepTheCache() async {
    let alive = Counter()
    var cache: MemoryCache? = makeCache(Int.self, Tracked.self) {
      $0.expiration = .seconds(1000)
      $0.autoTrimInterval = .milliseconds(1)
    }
    cache?.set(Tracked(1, alive), forKey: 1)
    weak let gone = cache
    cache = nil
    await until { gone == nil && alive.value == 0 }
  }

  @Test func limitsHoldWithoutLooking() {
    let cache = makeCache { $0.countLimit = 2 }
    cache.fill(1...10)
    #expect(cache.count == 2)
  }

  @Test(arguments: [false, true]) func shortageOfMemoryEmptiesTheCache(removes: Bool) {
    let told = Locked<[Int]>([])
    let cache = makeCache {
      $0.removesAllOnMemoryWarning = removes
      $0.onMemoryWarning = { cache in told.withLock { $0.append(cache.count) } }
      $0.onEnterBackground = { _ in told.withLock { $0.append(-1) } }
    }
    cache.fill(1...5)
    cache.handle(.memoryWarning)
    #expect(told.withLock { $0 } == [5])
    #expect(cache.isEmpty == removes)
  }

  @Test(arguments: [false, true]) func backgroundEmptiesTheCache(removes: Bool) {
    let told = Locked<[Int]>([])
    let cache = makeCache {
      $0.removesAllInBackground = removes
      $0.onMemoryWarning = { _ in told.withLock { $0.append(-1) } }
      $0.onEnterBackground = { cache in told.withLock { $0.append(cache.count) } }
    }
    cache.fill(1...5)
    cache.handle(.background)
    #expect(told.withLock { $0 } == [5])
    #expect(cache.isEmpty == removes)
  }
}
