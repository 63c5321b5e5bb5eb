// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Loading what neither memory nor a tier has: once for all who ask.
struct CacheLoadingTests {
  @Test func missIsLoadedIntoAllTiersAndAHitIsNot() async throws {
    let tiers = ["a", "b"].map { FakeTier<Int, String>($0) }
    let cache = makeTieredCache(tiers[0], tiers[1])
    let loads = CacheCounter()
    for _ in 0..<3 {
      let value = try await cache.value(forKey: 1, cost: 4, expiration: .seconds(1000)) {
        loads.add()
        return "one"
      }
      #expect(value == "one")
      cache.memoryCache.removeAll()
    }
    #expect(loads.value == 1)
    for tier in tiers {
      #expect(tier[1] == "one")
      #expect(tier.live(1)?.cost == 4)
      #expect(tier.state.withLock { $0.stored[1]?.entry.expiration } == .seconds(1000))
    }
    #expect(cache.statistics.loads == 1)
  }

  @Test func blockingFormLoadsOnceForManyThreads() throws {
    let tier = FakeTier<Int, Int>()
    let cache = makeTieredCache(tier)
    let loads = CacheCounter()
    let done = DispatchSemaphore(value: 0)
    for _ in 0..<20 {
      let thread = Thread {
        let value = try? cache.value(forKey: 1) {
          loads.add()
          return 42
        }
        #expect(value == 42)
        done.signal()
      }
      thread.start()
    }
    for _ in 0..<20 { done.wait() }
    #expect(loads.value == 1)
    #expect(tier[1] == 42)
    #expect(throws: CacheTestFailure()) {
      try cache.value(forKey: 2) { throw CacheTestFailure() }
    }
    #expect(try cache.value(forKey: 2) { 2 } == 2)
  }

  @Test func manyTasksShareOneLookAndOneLoad() async throws {
    let tier = FakeTier<Int, Int>()
    let cache = makeTieredCache(tier)
    for round in 0..<10 {
      let asked = CacheCounter()
      let loads = CacheCounter()
      let before = tier.count(.read)
      let values = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<100 {
          group.addTask {
            asked.add()
            return try await cache.value(forKey: round) {
              await until { asked.value == 100 }
              return loads.add()
            }
          }
        }
        return try await group.reduce(into: [Int]()) { $0.append($1) }
      }
      #expect(values == [Int](repeating: 1, count: 100))
      #expect(tier.count(.read) == before + 1)
      #expect(tier[round] == 1)
    }
    #expect(cache.statistics.loads == 10)
  }

  @Test func manyTasksShareOneLookWhereATierHasTheValue() async throws {
    let tier = FakeTier<Int, Int>()
    let cache = makeTieredCache(tier)
    try tier.writeNow(CacheTierEntry(value: 7, cost: 3), 1)
    tier.readDoor.close()
    let tasks = (0..<50).map { _ in Task { try await cache.value(forKey: 1) { 8 } } }
    await until { cache.statistics.memory.misses == 50 }
    tier.readDoor.open()
    for task in tasks { #expect(try await task.value == 7) }
    #expect(tier.count(.read) == 1)
    #expect(cache.statistics.loads == 0)
    #expect(cache.memoryCache.totalCost == 3)
  }

  @Test func errorGoesToAllAndIsNotStored() async throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier)
    let door = CacheDoor()
    let tasks = (0..<10).map { _ in
      Task {
        try await cache.value(forKey: 1) {
          await door.pass()
          throw CacheTestFailure(number: 3)
        }
      }
    }
    await until { cache.statistics.memory.misses == 10 }
    door.open()
    for task in tasks {
      await #expect(throws: CacheTestFailure(number: 3)) { try await task.value }
    }
    #expect(tier.count == 0)
    #expect(cache.statistics.loadFailures == 1)
    #expect(try await cache.value(forKey: 1) { "one" } == "one")
  }

  @Test func whatIsSetOrRemovedWhileALoadIsUnderWayIsNewer() async throws {
    for change in 0..<3 {
      let tier = FakeTier<Int, String>()
      let cache = makeTieredCache(tier)
      let value = try await cache.value(forKey: 1) {
        switch change {
        case 0: try await cache.set("newer", forKey: 1)
        case 1: try await cache.remove(forKey: 1)
        default: try await cache.removeAll()
        }
        return "older"
      }
      #expect(value == "older")
      #expect(tier[1] == (change == 0 ? "newer" : nil), "change \(change)")
      #expect(cache.memoryCache.peek(forKey: 1) == (change == 0 ? "newer" : nil))
    }
  }

  @Test func tierThatCannotBeReadIsNoReasonNotToLoad() async throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier)
    tier.fail(.read)
    #expect(try await cache.value(forKey: 1) { "one" } == "one")
    #expect(tier[1] == "one")
    #expect(cache.statistics.failures == 1)
  }

  @Test func loadThatCannotBeStoredIsGivenAndTold() async throws {
    let tier = FakeTier<Int, String>()
    let told = Locked<[CacheWriteFailure<Int>]>([])
    let cache = makeTieredCache(tier) {
      $0.onWriteFailure = { failure in told.withLock { $0.append(failure) } }
    }
    tier.fail(.write, with: CacheTestFailure(number: 9))
    #expect(try await cache.value(forKey: 1) { "one" } == "one")
    #expect(told.withLock { $0.first?.error as? CacheTestFailure } == CacheTestFailure(number: 9))
    #expect(cache.memoryCache.isEmpty)
    #expect(try await cache.value(forKey: 1) { "two" } == "two")
    #expect(try await cache.value(forKey: 1) { "three" } == "two")
  }

  @Test func cancelledTaskStopsWaitingAndTheLoadGoesOnForOthers() async throws {
    let cache = makeTieredCache(FakeTier<Int, String>())
    let door = CacheDoor()
    let load: @Sendable () async throws -> String = {
      await door.pass()
      try Task.checkCancellation()
      return "one"
    }
    let first = Task { try await cache.value(forKey: 1, orLoad: load) }
    await until { door.waiting == 1 }
    let second = Task { try await cache.value(forKey: 1, orLoad: load) }
    await until { cache.statistics.memory.misses == 2 }
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    door.open()
    #expect(try await second.value == "one")
    #expect(cache.statistics.loads == 1)
  }

  @Test func loadThatAsksForItsOwnKeyIsTold() async throws {
    let cache = makeTieredCache(FakeTier<Int, Int>())
    do {
      _ = try await cache.value(forKey: 1) {
        try await cache.value(forKey: 2) { try await cache.value(forKey: 1) { 1 } }
      }
      Issue.record("No error.")
    } catch let error as LarderError {
      #expect(error.code == .invalidArgument)
    }
    #expect(try await cache.value(forKey: 2) { try await cache.value(forKey: 1) { 1 } + 1 } == 2)
  }
}
