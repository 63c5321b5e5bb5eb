// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Loading what is missing, on the caller's thread: one load for all who ask.
struct MemoryCacheLoadingTests {
  @Test func missIsLoadedAndStoredAndAHitIsNot() throws {
    let cache = MemoryCache<Int, String>()
    let loads = Counter()
    for _ in 0..<3 {
      let value = try cache.value(forKey: 1) {
        loads.add()
        return "one"
      }
      #expect(value == "one")
    }
    #expect(loads.value == 1)
    #expect(cache.peek(forKey: 1) == "one")
    let statistics = cache.statistics
    #expect(statistics.loads == 1)
    #expect(statistics.hits == 2)
    #expect(statistics.misses == 1)
  }

  @Test func loadedEntryHasTheCostAndLifeAskedFor() throws {
    let clock = ManualClock()
    let cache = makeCache { $0.clock = clock.clock }
    _ = try cache.value(forKey: 1, cost: 7, expiration: .seconds(5)) { "one" }
    #expect(cache.totalCost == 7)
    clock.advance(5)
    #expect(cache.peek(forKey: 1) == nil)
    #expect(try cache.value(forKey: 1) { "again" } == "again")
  }

  @Test func manyThreadsShareOneLoad() {
    let cache = MemoryCache<Int, Int>()
    for round in 0..<50 {
      let loads = Counter()
      let values = Locked<[Int]>([])
      onThreads(8) { _ in
        let value = try? cache.value(forKey: round) {
          // Long enough for some of the others to come.
          for _ in 0..<100 { sched_yield() }
          return loads.add()
        }
        values.withLock { $0.append(value ?? -1) }
      }
      #expect(loads.value == 1)
      #expect(values.withLock { $0 } == [Int](repeating: 1, count: 8))
    }
  }

  @Test func waitingThreadsGetTheSameValueWhileItsLoadIsHeldUp() {
    let cache = MemoryCache<Int, String>()
    let started = DispatchSemaphore(value: 0)
    let mayEnd = DispatchSemaphore(value: 0)
    let loads = Counter()
    onThreads(5) { number in
      if number == 0 {
        let value = try? cache.value(forKey: 1) {
          loads.add()
          started.signal()
          mayEnd.wait()
          return "slow"
        }
        #expect(value == "slow")
      } else {
        started.wait()
        started.signal()
        if number == 4 { mayEnd.signal() }
        let value = try? cache.value(forKey: 1) {
          loads.add()
          return "fast"
        }
        #expect(value == "slow")
      }
    }
    #expect(loads.value == 1)
  }

  @Test func errorGoesToAllAndIsNotStored() throws {
    let cache = MemoryCache<Int, String>()
    let failed = Counter()
    let loads = Counter()
    let started = DispatchSemaphore(value: 0)
    onThreads(4) { number in
      if number != 0 {
        started.wait()
        started.signal()
      }
      do {
        _ = try cache.value(forKey: 1) {
          loads.add()
          started.signal()
          for _ in 0..<200 { sched_yield() }
          throw Failure(number: 1)
        }
      } catch {
        #expect(error as? Failure == Failure(number: 1))
        failed.add()
      }
    }
    #expect(failed.value == 4)
    #expect(!cache.contains(1))
    #expect(cache.statistics.loadFailures == UInt64(loads.value))
    #expect(try cache.value(forKey: 1) { "one" } == "one")
  }

  @Test func whatIsSetWhileALoadIsUnderWayIsNewer() throws {
    let cache = MemoryCache<Int, String>()
    let value = try cache.value(forKey: 1) {
      cache.set("newer", forKey: 1)
      return "older"
    }
    #expect(value == "older")
    #expect(cache.value(forKey: 1) == "newer")
    _ = try cache.value(forKey: 2) {
      cache.set([(key: 2, value: "newer")])
      return "older"
    }
    #expect(cache.value(forKey: 2) == "newer")
    _ = try cache.value(forKey: 3) {
      cache.update(forKey: 3) { $0 = "newer" }
      return "older"
    }
    #expect(cache.value(forKey: 3) == "newer")
  }

  @Test func whatIsRemovedWhileALoadIsUnderWayStaysRemoved() throws {
    let cache = MemoryCache<Int, String>()
    let removals: [@Sendable () -> Void] = [
      { cache.remove(forKey: 1) }, { cache.set(nil, forKey: 1) }, { cache.removeAll() },
      { cache.remove(forKeys: [1]) }, { cache.update(forKey: 1) { $0 = nil } },
    ]
    for remove in removals {
      let value = try cache.value(forKey: 1) {
        remove()
        return "older"
      }
      #expect(value == "older")
      #expect(!cache.contains(1))
    }
    // Others do not matter to it.
    _ = try cache.value(forKey: 1) {
      cache.set("two", forKey: 2)
      cache.remove(forKey: 3)
      cache.removeAll { _, _ in true }
      return "one"
    }
    #expect(cache.value(forKey: 1) == "one")
  }

  @Test func whoAsksAfterARemovalLoadsAnew() throws {
    let cache = MemoryCache<Int, String>()
    let older = try cache.value(forKey: 1) {
      cache.remove(forKey: 1)
      onThreads(1) { _ in
        #expect((try? cache.value(forKey: 1) { "newer" }) == "newer")
      }
      return "older"
    }
    #expect(older == "older")
    #expect(cache.value(forKey: 1) == "newer")
  }

  @Test func loadMayLoadOtherKeysButNotItsOwn() throws {
    let cache = MemoryCache<Int, Int>()
    let value = try cache.value(forKey: 10) {
      try cache.value(forKey: 9) { 9 } + 1
    }
    #expect(value == 10)
    #expect(cache.value(forKey: 9) == 9)
    let code = errorCode {
      try cache.value(forKey: 1) {
        try cache.value(forKey: 2) { try cache.value(forKey: 1) { 1 } }
      }
    }
    #expect(code == .invalidArgument)
    #expect(cache.peek(forKey: 1) == nil)
    #expect(try cache.value(forKey: 1) { 1 } == 1)
  }

  @Test func loadedValueIsGivenOutEvenIfThereIsNoRoomForIt() throws {
    let cache = MemoryCache<Int, String>(countLimit: 0)
    #expect(try cache.value(forKey: 1) { "one" } == "one")
    #expect(cache.isEmpty)
    cache.countLimit = 10
    cache.costLimit = 5
    #expect(try cache.value(forKey: 1, cost: 6) { "one" } == "one")
    #expect(cache.isEmpty)
  }

  @Test func loadTimeIsMeasuredByTheClock() throws {
    let clock = ManualClock()
    let cache = makeCache { $0.clock = clock.clock }
    for key in 0..<3 {
      _ = try cache.value(forKey: key) {
        clock.advance(2)
        return ""
      }
    }
    #expect(errorCode { try cache.value(forKey: 9) { throw LarderError(.io, "") } } == .io)
    let statistics = cache.statistics
    #expect(statistics.loadTime == .seconds(6))
    #expect(statistics.averageLoadTime == .milliseconds(1500))
    #expect(statistics.loads == 4)
    #expect(statistics.loadFailures == 1)
    #expect(statistics.refreshes == 0)
  }
}
