// SPDX-License-Identifier: MIT

import LarderCore
import LarderTestSupport
import Testing

/// Changing a value in one step.
struct MemoryCacheUpdatingTests {
  @Test func updateInsertsChangesAndRemoves() {
    let cache = MemoryCache<Int, String>()
    let result = cache.update(forKey: 1) { value in
      #expect(value == nil)
      value = "one"
      return 7
    }
    #expect(result == 7)
    #expect(cache.value(forKey: 1) == "one")
    cache.update(forKey: 1) { $0?.append("!") }
    #expect(cache.value(forKey: 1) == "one!")
    cache.update(forKey: 1) { $0 = nil }
    #expect(cache.isEmpty)
    cache.update(forKey: 2) { $0 = nil }
    #expect(cache.isEmpty)
    #expect(cache.contradiction() == nil)
  }

  @Test func updateOfManyThreadsLosesNothing() {
    let cache = MemoryCache<Int, Int>(countLimit: 10)
    onThreads(4) { _ in
      for number in 0..<20_000 { cache.update(forKey: number % 5) { $0 = ($0 ?? 0) + 1 } }
    }
    #expect(cache.values(forKeys: 0..<5).values.reduce(0, +) == 80_000)
  }

  @Test func updateKeepsCostAndPinAndEvictsForANewCost() {
    let cache = MemoryCache<Int, String>(policy: .lru, costLimit: 30)
    cache.fill(1...3, cost: 10)
    cache.pin(1)
    cache.update(forKey: 1) { $0?.append("x") }
    #expect(cache.totalCost == 30)
    cache.update(forKey: 1, cost: 20) { $0?.append("x") }
    #expect(Set(cache.keys()) == [1, 3])
    #expect(cache.isPinned(1))
    cache.update(forKey: 3, cost: -4) { $0?.append("x") }
    #expect(cache.totalCost == 20)
  }

  @Test func updateBeginsANewLife() {
    let clock = ManualClock()
    let cache = makeCache {
      $0.clock = clock.clock
      $0.expiration = .seconds(10)
    }
    cache.fill([1])
    clock.advance(9)
    cache.update(forKey: 1) { $0 = "new" }
    clock.advance(9)
    #expect(cache.value(forKey: 1) == "new")
    clock.advance(1)
    cache.update(forKey: 1, expiration: .seconds(100)) { value in
      #expect(value == nil)
      value = "another"
    }
    clock.advance(99)
    #expect(cache.value(forKey: 1) == "another")
  }

  @Test func updateThatThrowsLeavesWhatTheBodyLeft() {
    let cache = MemoryCache<Int, String>()
    cache.fill([1])
    #expect(throws: Failure()) {
      try cache.update(forKey: 1) { value in
        value = "half"
        throw Failure()
      }
    }
    #expect(cache.value(forKey: 1) == "half")
    #expect(throws: Failure()) {
      try cache.update(forKey: 2) { value in
        value = "two"
        throw Failure()
      }
    }
    #expect(cache.value(forKey: 2) == "two")
    #expect(throws: Failure()) {
      try cache.update(forKey: 1) { value in
        value = nil
        throw Failure()
      }
    }
    #expect(!cache.contains(1))
    #expect(cache.contradiction() == nil)
  }

  @Test func updateChangesAnArrayInPlace() {
    let cache = MemoryCache<Int, [Int]>()
    cache.set(Array(0..<1000), forKey: 1)
    let address: @Sendable (inout [Int]?) -> UInt = { array in
      array?.append(1)
      return array?.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) } ?? 0
    }
    _ = cache.update(forKey: 1, address)
    let first = cache.update(forKey: 1, address)
    let second = cache.update(forKey: 1, address)
    #expect(first == second)
  }

  @Test func updateIsHeard() {
    let ear = Ear<Int, String>()
    let cache = makeCache { $0.onRemoval = { ear.hear($0) } }
    cache.update(forKey: 1) { $0 = "a" }
    cache.update(forKey: 1) { $0 = "b" }
    cache.update(forKey: 1) { $0 = nil }
    #expect(
      ear.all == [
        Removal(key: 1, value: "a", cause: .replaced), Removal(key: 1, value: "b", cause: .removed),
      ])
  }
}
