// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Loads that take too long.
struct LoadTimeoutTests {
  private let clock = ManualClock()
  private let door = Door()

  private func make(
    _ change: (inout MemoryCacheConfiguration<Int, String>) -> Void
  ) -> MemoryCache<Int, String> {
    makeCache {
      $0.clock = clock.clock
      change(&$0)
    }
  }

  private func slow(_ cache: MemoryCache<Int, String>) -> Task<String, any Error> {
    Task {
      try await cache.value(forKey: 1) {
        await door.pass()
        return Task.isCancelled ? "cancelled" : "late"
      }
    }
  }

  @Test func loadIsGivenUpAtItsVeryTimeout() async throws {
    let cache = make { $0.loadTimeout = .seconds(5) }
    let tasks = [slow(cache), slow(cache)]
    await until { cache.statistics.sharedLoads == 1 && clock.sleepers.count == 1 }
    await until { door.waiting == 1 }
    clock.advance(4.999)
    #expect(clock.sleepers.count == 1 && cache.statistics.loadTimeouts == 0)
    clock.advance(0.001)
    for task in tasks {
      let error = await #expect(throws: LarderError.self) { try await task.value }
      #expect(error?.code == .timedOut)
    }
    // Later callers load anew, and what the first load returns is not stored.
    #expect(try await cache.value(forKey: 1) { "new" } == "new")
    door.open()
    await until { clock.sleepers.count == 0 }
    #expect(cache.peek(forKey: 1) == "new")
    let statistics = cache.statistics
    #expect(statistics.loadTimeouts == 1 && statistics.loadFailures == 1 && statistics.loads == 2)
    #expect(statistics.loadTime == .seconds(5))
  }

  @Test func longestTimeoutsAreCountedLikeOthers() async throws {
    let cache = make {
      $0.loadTimeout = .seconds(Int64.max)
      $0.clock = CacheClock(now: { .zero }, date: { .distantPast }, sleep: { _ in })
    }
    for _ in 0..<3 { await #expect(throws: LarderError.self) { try await slow(cache).value } }
    door.open()
    #expect(cache.statistics.loadTimeouts == 3)
  }

  @Test(arguments: [5, 6, Int64.max])
  func softTimeoutThatIsNoShorterHasNoSay(soft: Int64) async throws {
    let cache = make {
      $0.loadTimeout = .seconds(5)
      $0.staleIfError = .seconds(1)
      $0.softLoadTimeout = .seconds(soft)
    }
    let task = slow(cache)
    await until { clock.sleepers.count == 1 && door.waiting == 1 }
    clock.advance(4.999)
    #expect(clock.sleepers.count == 1 && cache.statistics.loadTimeouts == 0)
    clock.advance(0.001)
    await #expect(throws: LarderError.self) { try await task.value }
    #expect(cache.statistics.loadTimeouts == 1)
    door.open()
  }

  @Test func loadThatEndsInTimeIsNot() async throws {
    let cache = make {
      $0.loadTimeout = .seconds(5)
      $0.staleIfError = .seconds(1)
      $0.softLoadTimeout = .seconds(4)
    }
    let task = slow(cache)
    await until { clock.sleepers.count == 1 }
    clock.advance(3.999)
    door.open()
    #expect(try await task.value == "late")
    await until { clock.sleepers.count == 0 }
    #expect(cache.statistics.loadTimeouts == 0 && cache.peek(forKey: 1) == "late")
  }

  @Test func loadThatTimesOutHasFailed() async throws {
    let cache = make {
      $0.loadTimeout = .seconds(5)
      $0.expiration = .seconds(10)
      $0.staleIfError = .seconds(60)
    }
    cache.fill([1])
    clock.advance(10)
    let task = slow(cache)
    await until { clock.sleepers.count == 1 }
    clock.advance(5)
    #expect(try await task.value == "1")
    #expect(cache.statistics.staleHits == 1)
    door.open()
  }

  @Test func oldValueIsGivenOutAtTheSoftTimeoutAndTheLoadGoesOn() async throws {
    let cache = make {
      $0.softLoadTimeout = .seconds(2)
      $0.expiration = .seconds(10)
      $0.staleIfError = .seconds(60)
    }
    cache.fill([1])
    clock.advance(10)
    let tasks = [slow(cache), slow(cache)]
    await until { cache.statistics.sharedLoads == 1 && clock.sleepers.count == 1 }
    clock.advance(1.999)
    #expect(clock.sleepers.count == 1)
    clock.advance(0.001)
    for task in tasks { #expect(try await task.value == "1") }
    // Who comes later does not wait at all.
    #expect(try await slow(cache).value == "1")
    #expect(cache.statistics.staleHits == 3 && cache.statistics.loads == 0)
    door.open()
    await until { cache.peek(forKey: 1) == "late" }
    #expect(cache.statistics.loads == 1)
  }

  @Test func withoutAnOldValueTheSoftTimeoutEndsNothing() async throws {
    let cache = make {
      $0.softLoadTimeout = .seconds(2)
      $0.loadTimeout = .seconds(5)
      $0.staleIfError = .seconds(60)
    }
    let task = slow(cache)
    await until { clock.sleepers.count == 1 }
    clock.advance(2)
    await until { clock.sleepers.count == 1 }
    clock.advance(2.999)
    door.open()
    #expect(try await task.value == "late")
    #expect(cache.statistics.staleHits == 0 && cache.statistics.loadTimeouts == 0)
  }

  @Test func threadsThatWaitAreReleasedAndTheOneThatLoadsIsNot() async throws {
    let cache = make { $0.loadTimeout = .seconds(5) }
    let mayEnd = DispatchSemaphore(value: 0)
    let loaded = Locked<String?>(nil)
    let code = Locked<LarderError.Code?>(nil)
    Thread.detachNewThread {
      let value = try? cache.value(forKey: 1) {
        mayEnd.wait()
        return "slow"
      }
      loaded.withLock { $0 = value }
    }
    await until { clock.sleepers.count == 1 }
    Thread.detachNewThread {
      do { _ = try cache.value(forKey: 1) { "no" } } catch {
        code.withLock { $0 = (error as? LarderError)?.code }
      }
    }
    await until { cache.statistics.sharedLoads == 1 }
    clock.advance(5)
    await until { code.withLock { $0 } != nil }
    #expect(code.withLock { $0 } == .timedOut)
    mayEnd.signal()
    await until { loaded.withLock { $0 } != nil }
    #expect(loaded.withLock { $0 } == "slow")
    #expect(cache.isEmpty && cache.statistics.loads == 1)
  }
}
