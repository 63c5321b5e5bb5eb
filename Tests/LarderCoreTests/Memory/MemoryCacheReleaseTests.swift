// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Where and when values end: every one once, and never while the cache is locked.
struct MemoryCacheReleaseTests {
  typealias Cache = MemoryCache<Int, Tracked>
  private let alive = Counter()

  @Test(arguments: EvictionPolicy.allCases, [false, true])
  func everyValueEndsOnce(policy: EvictionPolicy, asynchronously: Bool) async {
    let clock = ManualClock()
    var random = SeededGenerator(seed: 11)
    do {
      let cache = makeCache(Int.self, Tracked.self, policy: policy) {
        $0.countLimit = 100
        $0.costLimit = 5000
        $0.clock = clock.clock
        $0.releasesAsynchronously = asynchronously
      }
      for step in 0..<20_000 {
        let key = Int.random(in: 0..<300, using: &random)
        switch Int.random(in: 0..<12, using: &random) {
        case 0: cache.remove(forKey: key)
        case 1: cache.set(Tracked(key, alive), forKey: key, expiration: .seconds(3))
        case 2: cache.update(forKey: key) { $0 = key % 2 == 0 ? nil : Tracked(key, alive) }
        case 3: clock.advance(0.1)
        case 4: if step % 100 == 0 { cache.removeAll { key, _ in key % 7 == 0 } }
        case 5: if step % 300 == 0 { cache.trim(toCount: 20) }
        case 6: if step % 1000 == 0 { cache.removeAll() }
        case 7: #expect(cache.value(forKey: key).map { $0.id == key } ?? true)
        case 8: if step % 50 == 0 { cache.countLimit = step % 100 == 0 ? .max : 100 }
        default:
          cache.set(Tracked(key, alive), forKey: key, cost: Int.random(in: 0...200, using: &random))
        }
      }
      #expect(cache.contradiction() == nil)
      if !asynchronously { #expect(alive.value == cache.count) }
      let count = cache.count
      await until { alive.value == count }
    }
    await until { alive.value == 0 }
  }

  @Test func valuesEndWithTheCache() async {
    for limit in [Int.max, 10_000] {
      var cache: Cache? = Cache(countLimit: limit)
      for key in 0..<5000 { cache?.set(Tracked(key, alive), forKey: key) }
      #expect(alive.value == 5000)
      cache = nil
      await until { alive.value == 0 }
    }
  }

  @Test(arguments: [false, true])
  func endOfAValueMayUseTheCache(asynchronously: Bool) async {
    let ends = Counter()
    let made = Counter()
    do {
      let cache = makeCache(Int.self, Tracked.self) {
        $0.countLimit = 10
        $0.releasesAsynchronously = asynchronously
      }
      let touch: @Sendable () -> Void = { [weak cache] in
        ends.add()
        guard let cache else { return }
        _ = cache.value(forKey: 1)
        _ = cache.contains(2)
        cache.set(nil, forKey: 1000)
        _ = cache.statistics
        _ = cache.keys()
      }
      let make: @Sendable (Int) -> Tracked = { [alive] key in
        made.add()
        return Tracked(key, alive, atEnd: touch)
      }
      for key in 0..<30 { cache.set(make(key), forKey: key) }
      for key in 20..<30 { cache.set(make(key), forKey: key) }
      cache.set((20..<30).map { (key: $0, value: make($0)) })
      cache.set((40..<60).map { (key: $0, value: make($0)) })
      cache.remove(forKey: 50)
      cache.remove(forKeys: [51, 52])
      cache.update(forKey: 53) { $0 = make(53) }
      cache.update(forKey: 54) { $0 = nil }
      cache.removeAll { key, _ in key == 55 }
      cache.trim(toCount: 3)
      cache.countLimit = 2
      cache.set(make(70), forKey: 70, expiration: .seconds(0))
      cache.removeAll()
      cache.set(make(1), forKey: 1)
    }
    await until { alive.value == 0 }
    #expect(ends.value == made.value)
  }

  @Test func endOfAKeyMayUseTheCache() async {
    final class Key: Hashable, Sendable {
      let id: Int
      let atEnd: @Sendable () -> Void
      init(_ id: Int, _ atEnd: @escaping @Sendable () -> Void) {
        self.id = id
        self.atEnd = atEnd
      }
      deinit { atEnd() }
      static func == (one: Key, other: Key) -> Bool { one.id == other.id }
      func hash(into hasher: inout Hasher) { hasher.combine(id) }
    }
    let ends = Counter()
    do {
      let cache = makeCache(Key.self, Int.self) { $0.countLimit = 5 }
      let atEnd: @Sendable () -> Void = { [weak cache] in
        ends.add()
        _ = cache?.totalCost
        _ = cache?.keys()
      }
      for number in 0..<20 { cache.set(number, forKey: Key(number, atEnd)) }
      for number in 15..<20 { cache.set(number, forKey: Key(number, atEnd)) }
      for number in 15..<18 { cache.remove(forKey: Key(number, atEnd)) }
      cache.update(forKey: Key(18, atEnd)) { $0 = nil }
      #expect(cache.count == 1)
    }
    #expect(ends.value == 29)
  }

  @Test func evictedValuesEndElsewhereOrHere() async {
    for asynchronously in [true, false] {
      let elsewhere = Counter()
      let here = Counter()
      let thread = Locked<ObjectIdentifier?>(nil)
      let cache = makeCache(Int.self, Tracked.self) {
        $0.countLimit = 1
        $0.releasesAsynchronously = asynchronously
      }
      let alive = alive
      onThreads(1) { _ in
        thread.withLock { $0 = ObjectIdentifier(Thread.current) }
        for key in 0..<100 {
          let value = Tracked(key, alive) {
            let isHere = ObjectIdentifier(Thread.current) == thread.withLock { $0 }
            (isHere ? here : elsewhere).add()
          }
          cache.set(value, forKey: key)
        }
      }
      await until { here.value + elsewhere.value == 99 }
      #expect((asynchronously ? elsewhere : here).value == 99)
      cache.removeAll()
    }
  }

  @Test(arguments: [false, true])
  func valuesThatInsistEndOnTheMainThread(asynchronously: Bool) async {
    let onMain = Counter()
    let elsewhere = Counter()
    // On Linux other threads serve the main queue once the main thread has nothing to do.
    let main = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: main, value: true)
    let cache = makeCache(Int.self, Tracked.self) {
      $0.countLimit = 1
      $0.releasesOnMainThread = true
      $0.releasesAsynchronously = asynchronously
    }
    let fill: @Sendable (Range<Int>) -> Void = { [alive] keys in
      for key in keys {
        let value = Tracked(key, alive) {
          (DispatchQueue.getSpecific(key: main) == true ? onMain : elsewhere).add()
        }
        cache.set(value, forKey: key)
      }
    }
    onThreads(1) { _ in fill(0..<100) }
    await MainActor.run { fill(100..<200) }
    onThreads(1) { _ in cache.removeAll() }
    await until { onMain.value + elsewhere.value == 200 }
    #expect(elsewhere.value == 0)
  }

  @Test func manyEvictedValuesDoNotPileUp() async {
    let most = Locked(0)
    let cache = Cache(policy: .fifo, countLimit: 10)
    let alive = alive
    onThreads(1) { _ in
      for key in 0..<100_000 {
        cache.set(Tracked(key, alive), forKey: key)
        most.withLock { $0 = max($0, alive.value) }
      }
    }
    // Those in the cache, those that wait, and those that are just being destroyed.
    #expect(most.withLock { $0 } <= 10 + 2 * 4096 + 2)
    await until { alive.value == 10 }
  }

  @Test func valuesThatAreMovedByMoreThanTheirBytesAreMoved() async {
    // A weak reference is known by its address.
    struct Holder: Sendable {
      weak let value: Tracked?
      let id: Int
    }
    let kept = (0..<3000).map { Tracked($0, alive) }
    for refreshAfter in [nil, Duration.seconds(10)] {
      let cache = makeCache(Int.self, Holder.self) { $0.refreshAfter = refreshAfter }
      for value in kept {
        cache.set(Holder(value: kept[0], id: 0), forKey: value.id)
        cache.set(Holder(value: value, id: value.id), forKey: value.id)
      }
      for value in kept {
        let holder = cache.value(forKey: value.id)
        #expect(holder?.value === value)
        #expect(holder?.id == value.id)
      }
      cache.countLimit = 100
      for key in cache.keys() { #expect(cache.value(forKey: key)?.value?.id == key) }
      #expect(cache.contradiction() == nil)
    }
    #expect(alive.value == 3000)
    withExtendedLifetime(kept) {}
  }
}
