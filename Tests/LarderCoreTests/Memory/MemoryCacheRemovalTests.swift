// SPDX-License-Identifier: MIT

import LarderCore
import LarderTestSupport
import Testing

/// What leaves, why, and who hears of it.
struct MemoryCacheRemovalTests {
  private let ear = Ear<Int, String>()
  private let clock = ManualClock()

  private func make(
    _ change: (inout MemoryCacheConfiguration<Int, String>) -> Void = { _ in }
  ) -> MemoryCache<Int, String> {
    makeCache {
      $0.clock = clock.clock
      $0.onRemoval = { [ear] in ear.hear($0) }
      change(&$0)
    }
  }

  @Test func everyCauseIsTold() {
    let cache = make {
      $0.countLimit = 3
      $0.costLimit = 100
    }
    cache.fill(1...3, cost: 1)
    cache.remove(forKey: 1)
    cache.set("zwei", forKey: 2, cost: 1)
    cache.fill([4, 5], cost: 1)
    cache.fill([6], cost: 99)
    cache.fill([7], cost: 1, expiration: .seconds(1))
    clock.advance(1)
    #expect(cache.value(forKey: 7) == nil)
    #expect(
      ear.gone == [
        Gone(1, .removed), Gone(2, .replaced), Gone(3, .evictedForCount), Gone(2, .evictedForCount),
        Gone(4, .evictedForCost), Gone(5, .evictedForCost), Gone(7, .expired),
      ])
    #expect(ear.all.map(\.value) == ["1", "2", "3", "zwei", "4", "5", "7"])
    let statistics = cache.statistics
    #expect(statistics.removed == 1)
    #expect(statistics.replaced == 1)
    #expect(statistics.expired == 1)
    #expect(statistics.evictedForCount == 2)
    #expect(statistics.evictedForCost == 2)
    #expect(statistics.evictions == 4)
  }

  @Test func removingAllTellsOfEach() {
    let cache = make()
    cache.fill(1...100)
    cache.removeAll()
    #expect(Set(ear.gone) == Set((1...100).map { Gone($0, .removed) }))
    #expect(ear.all.allSatisfy { $0.value == "\($0.key)" && $0.lost == 0 })
    #expect(cache.statistics.removed == 100)
  }

  @Test func removeByPredicateRemovesWhatItFinds() {
    let cache = make()
    cache.fill(1...10, cost: 1)
    #expect(cache.removeAll { key, value in key % 2 == 0 && value.count == 1 } == 4)
    #expect(Set(cache.keys()) == [1, 3, 5, 7, 9, 10])
    #expect(Set(ear.gone) == Set([2, 4, 6, 8].map { Gone($0, .removed) }))
    #expect(cache.totalCost == 6)
    #expect(cache.removeAll { _, _ in false } == 0)
    #expect(cache.removeAll { _, _ in true } == 6)
    #expect(cache.contradiction() == nil)
  }

  @Test func predicateThatThrowsRemovesNothing() {
    let cache = make()
    cache.fill(1...10)
    #expect(throws: Failure(number: 3)) {
      var seen = 0
      try cache.removeAll { _, _ in
        seen += 1
        if seen == 3 { throw Failure(number: 3) }
        return true
      }
    }
    #expect(cache.count == 10)
    #expect(ear.all.isEmpty)
    cache.fill([11])
    #expect(cache.count == 11)
  }

  @Test func predicateSeesNothingThatHasExpired() {
    let cache = make()
    cache.fill(1...5)
    cache.fill(6...9, expiration: .seconds(1))
    clock.advance(1)
    let seen = Counter()
    cache.removeAll { _, _ in
      seen.add()
      return false
    }
    #expect(seen.value == 5)
  }

  @Test func callbackMayUseTheCache() {
    let holder = Locked<MemoryCache<Int, String>?>(nil)
    let cache = makeCache {
      $0.countLimit = 2
      $0.onRemoval = { removal in
        guard removal.value == "1", let cache = holder.withLock({ $0 }) else { return }
        // A second chance, with a value that tells.
        cache.set("again \(removal.value)", forKey: removal.key)
        _ = cache.value(forKey: removal.key)
        _ = cache.statistics
      }
    }
    holder.withLock { $0 = cache }
    cache.fill(1...3)
    #expect(cache.count == 2)
    #expect(cache.value(forKey: 1) == "again 1")
    holder.withLock { $0 = nil }
  }

  @Test func sequenceGivesWhatLeavesFromItsMakingOn() async {
    let cache = makeCache { $0.countLimit = 2 }
    cache.fill(1...5)
    let removals = cache.removals
    cache.fill([6])
    cache.remove(forKey: 6)
    var iterator = removals.makeAsyncIterator()
    #expect(await iterator.next() == Removal(key: 4, value: "4", cause: .evictedForCount))
    #expect(await iterator.next() == Removal(key: 6, value: "6", cause: .removed))
    async let next = {
      var iterator = removals.makeAsyncIterator(); return await iterator.next()
    }()
    cache.remove(forKey: 5)
    #expect(await next == Removal(key: 5, value: "5", cause: .removed))
  }

  @Test func everySequenceHearsEverything() async {
    let cache = makeCache()
    let removals = (0..<3).map { _ in cache.removals }
    cache.fill(1...100)
    cache.removeAll { key, _ in key > 90 }
    for sequence in removals {
      var seen: Set<Int> = []
      for await removal in sequence {
        seen.insert(removal.key)
        if seen.count == 10 { break }
      }
      #expect(seen == Set(91...100))
    }
  }

  @Test(arguments: [1, 2, 10, -3]) func slowListenerLosesTheOldestAndIsTold(limit: Int) async {
    let cache = makeCache()
    let removals = cache.removals(bufferLimit: limit)
    let room = max(1, limit)
    for key in 1...25 {
      cache.fill([key])
      cache.remove(forKey: key)
    }
    var iterator = removals.makeAsyncIterator()
    for key in (26 - room)...25 {
      let removal = await iterator.next()
      #expect(removal?.key == key)
      #expect(removal?.lost == (key == 26 - room ? 25 - room : 0))
    }
    cache.fill([26])
    cache.remove(forKey: 26)
    #expect(await iterator.next()?.lost == 0)
  }

  @Test func sequenceEndsWithTheCacheBehindWhatIsLeft() async {
    var cache: MemoryCache? = makeCache()
    let removals = cache?.removals
    cache?.fill([1])
    cache?.remove(forKey: 1)
    async let keys = {
      var keys: [Int] = []
      if let removals { for await removal in removals { keys.append(removal.key) } }
      return keys
    }()
    cache = nil
    #expect(await keys == [1])
  }

  @Test func sequenceEndsWhenItsTaskIsCancelled() async {
    let cache = makeCache()
    for _ in 0..<100 {
      let removals = cache.removals
      let task = Task { for await _ in removals {} }
      task.cancel()
      await task.value
    }
  }

  @Test func nobodyIsLeftListeningWhenTheSequenceIsGone() async {
    let alive = Counter()
    let cache = makeCache(Int.self, Tracked.self) { $0.releasesAsynchronously = false }
    var removals: RemovalSequence<Int, Tracked>? = cache.removals
    cache.set(Tracked(1, alive), forKey: 1)
    cache.remove(forKey: 1)
    #expect(alive.value == 1)
    _ = removals
    removals = nil
    #expect(alive.value == 0)
    cache.set(Tracked(1, alive), forKey: 1)
    cache.remove(forKey: 1)
    #expect(alive.value == 0)
  }

  @Test func removalsOfManyThreadsAreAllHeard() async {
    let cache = MemoryCache<Int, String>(policy: .lru, countLimit: 50)
    let removals = cache.removals(bufferLimit: .max)
    let threads = 4
    let each = 2000
    onThreads(threads) { thread in cache.fill((thread * each)..<((thread + 1) * each)) }
    var seen: Set<Int> = []
    for await removal in removals {
      #expect(seen.insert(removal.key).inserted)
      if seen.count == threads * each - 50 { break }
    }
    #expect(seen.isDisjoint(with: cache.keys()))
  }
}
