// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Loads that hang while their key is written or removed.
struct ReleasedWaiterTests {
  private let cache = MemoryCache<Int, String>()
  private let door = Door()

  /// Tasks that wait for one load, which hangs.
  private func waiters(_ count: Int, _ calls: Counter, then value: String = "late") async
    -> [Task<String, any Error>]
  {
    let tasks = (0..<count).map { _ in
      Task {
        try await cache.value(forKey: 1) {
          if calls.add() == 1 { await door.pass() }
          return Task.isCancelled ? "cancelled" : value
        }
      }
    }
    await until { cache.statistics.sharedLoads == UInt64(count - 1) && calls.value == 1 }
    return tasks
  }

  /// A removal that comes before the caller waits leaves the load to it.
  @Test func nobodyIsCancelledByRemovalsAndWrites() async throws {
    for round in 0..<3000 {
      let task = Task {
        try await cache.value(forKey: 1) {
          for _ in 0..<round % 4 { await Task.yield() }
          try Task.checkCancellation()
          return "loaded"
        }
      }
      for _ in 0..<round % 3 { await Task.yield() }
      cache.remove(forKey: 1)
      if round % 2 == 0 { cache.set("set", forKey: 1) }
      #expect(["loaded", "set"].contains(try await task.value), "round \(round)")
      cache.remove(forKey: 1)
    }
  }

  @Test func whoWaitsGetsWhatIsSet() async throws {
    let writes: [@Sendable (MemoryCache<Int, String>) -> Void] = [
      { $0.set("set", forKey: 1) }, { $0.set([(key: 1, value: "set")]) },
      { $0.update(forKey: 1) { $0 = "set" } },
    ]
    for write in writes {
      cache.removeAll()
      cache.resetStatistics()
      let calls = Counter()
      let tasks = await waiters(4, calls)
      write(cache)
      for task in tasks { #expect(try await task.value == "set") }
      #expect(calls.value == 1 && cache.peek(forKey: 1) == "set")
    }
    door.open()
    await until { cache.statistics.loads == 3 }
    #expect(cache.peek(forKey: 1) == "set")
  }

  @Test func whoWaitsStartsOverAfterARemoval() async throws {
    let removals: [@Sendable (MemoryCache<Int, String>) -> Void] = [
      { $0.remove(forKey: 1) }, { $0.remove(forKeys: [1]) }, { $0.removeAll() },
      { $0.set(nil, forKey: 1) }, { $0.update(forKey: 1) { $0 = nil } },
    ]
    for remove in removals {
      cache.resetStatistics()
      cache.removeAll()
      let calls = Counter()
      let tasks = await waiters(4, calls, then: "fresh")
      remove(cache)
      for task in tasks { #expect(try await task.value == "fresh") }
      // The one that hangs, and one for all.
      #expect(calls.value == 2 && cache.peek(forKey: 1) == "fresh")
    }
    door.open()
  }

  @Test func hungLoadIsCancelledWhenNobodyWaitsForIt() async throws {
    let wasCancelled = Locked<Bool?>(nil)
    let task = Task {
      try await cache.value(forKey: 1) {
        await door.pass()
        wasCancelled.withLock { $0 = Task.isCancelled }
        return "late"
      }
    }
    await until { door.waiting == 1 }
    cache.set("set", forKey: 1)
    #expect(try await task.value == "set")
    door.open()
    await until { wasCancelled.withLock { $0 } != nil }
    #expect(wasCancelled.withLock { $0 } == true)
    #expect(cache.peek(forKey: 1) == "set")
  }

  @Test func whoLoadsASecondTimeWaitsForIt() async throws {
    let calls = Counter()
    let second = Door()
    let task = Task {
      try await cache.value(forKey: 1) {
        let number = calls.add()
        await (number == 1 ? door : second).pass()
        return "\(number)"
      }
    }
    await until { door.waiting == 1 }
    cache.remove(forKey: 1)
    await until { second.waiting == 1 }
    cache.remove(forKey: 1)
    second.open()
    #expect(try await task.value == "2")
    #expect(calls.value == 2 && cache.isEmpty)
    door.open()
  }

  @Test func threadThatWaitsGetsWhatIsSet() async throws {
    let calls = Counter()
    let tasks = await waiters(1, calls)
    let got = Locked<String?>(nil)
    let thread = Thread { [cache] in
      let value = try? cache.value(forKey: 1) { "thread's" }
      got.withLock { $0 = value }
    }
    thread.start()
    await until { cache.statistics.sharedLoads == 1 }
    cache.set("set", forKey: 1)
    await until { got.withLock { $0 } != nil }
    #expect(got.withLock { $0 } == "set")
    #expect(try await tasks[0].value == "set")
    door.open()
  }

  @Test func loadThatRemovesItsOwnKeyIsNotStartedOver() async throws {
    let calls = Counter()
    let value = try await cache.value(forKey: 1) {
      calls.add()
      cache.remove(forKey: 1)
      return "one"
    }
    #expect(value == "one" && calls.value == 1 && cache.isEmpty)
  }
}
