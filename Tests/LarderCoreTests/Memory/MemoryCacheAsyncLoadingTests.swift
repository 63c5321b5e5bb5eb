// SPDX-License-Identifier: MIT

import LarderCore
import LarderTestSupport
import Testing

/// Loading what is missing, suspended: one load for all who ask.
struct MemoryCacheAsyncLoadingTests {
  @Test func missIsLoadedAndStoredAndAHitIsNot() async throws {
    let cache = MemoryCache<Int, String>()
    let loads = Counter()
    for _ in 0..<3 {
      let value = try await cache.value(forKey: 1) {
        loads.add()
        await Task.yield()
        return "one"
      }
      #expect(value == "one")
    }
    #expect(loads.value == 1)
    #expect(cache.statistics.loads == 1)
    #expect(cache.statistics.hits == 2)
  }

  @Test func manyTasksShareOneLoad() async throws {
    let cache = MemoryCache<Int, Int>()
    for round in 0..<20 {
      let loads = Counter()
      let asked = Counter()
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
      #expect(loads.value == 1)
    }
    #expect(cache.statistics.loads == 20)
  }

  @Test func errorGoesToAllAndIsNotStored() async throws {
    let cache = MemoryCache<Int, String>()
    let door = Door()
    let tasks = (0..<10).map { _ in
      Task {
        try await cache.value(forKey: 1) {
          await door.pass()
          throw Failure(number: 3)
        }
      }
    }
    await until { door.waiting == 1 && cache.statistics.sharedLoads == 9 }
    door.open()
    for task in tasks {
      await #expect(throws: Failure(number: 3)) { try await task.value }
    }
    #expect(!cache.contains(1))
    #expect(try await cache.value(forKey: 1) { "one" } == "one")
  }

  @Test func cancelledTaskStopsWaitingAndTheLoadGoesOnForOthers() async throws {
    let cache = MemoryCache<Int, String>()
    let door = Door()
    let wasCancelled = Locked<Bool?>(nil)
    let load: @Sendable () async throws -> String = {
      await door.pass()
      wasCancelled.withLock { $0 = Task.isCancelled }
      return "one"
    }
    let first = Task { try await cache.value(forKey: 1, orLoad: load) }
    await until { door.waiting == 1 }
    let second = Task { try await cache.value(forKey: 1, orLoad: load) }
    await until { cache.statistics.sharedLoads == 1 }
    // It was the first that began the load.
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    door.open()
    #expect(try await second.value == "one")
    #expect(wasCancelled.withLock { $0 } == false)
    #expect(cache.value(forKey: 1) == "one")
  }

  @Test func loadIsCancelledWhenNobodyWaitsAnyMore() async throws {
    let cache = MemoryCache<Int, String>()
    let door = Door()
    let wasCancelled = Locked<Bool?>(nil)
    let tasks = (0..<3).map { _ in
      Task {
        try await cache.value(forKey: 1) {
          await door.pass()
          wasCancelled.withLock { $0 = Task.isCancelled }
          return "late"
        }
      }
    }
    // A miss is counted before its load begins, or is joined.
    await until { door.waiting == 1 && cache.statistics.sharedLoads == 2 }
    for task in tasks { task.cancel() }
    for task in tasks {
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    // Who comes now does not wait for what was given up.
    #expect(try await cache.value(forKey: 1) { "new" } == "new")
    door.open()
    await until { cache.statistics.loads == 2 }
    #expect(wasCancelled.withLock { $0 } == true)
    #expect(cache.value(forKey: 1) == "new")
  }

  @Test func cancelledTaskGetsWhatIsThereAndLoadsNothing() async {
    let cache = MemoryCache<Int, String>()
    cache.fill([1])
    let task = Task {
      await until { Task.isCancelled }
      let there = try? await cache.value(forKey: 1) { "new" }
      do {
        _ = try await cache.value(forKey: 2) { "new" }
        return false
      } catch {
        return there == "1" && error is CancellationError
      }
    }
    task.cancel()
    #expect(await task.value)
    #expect(cache.statistics.loads == 0)
  }

  @Test func whatIsSetOrRemovedWhileALoadIsUnderWayIsNewer() async throws {
    let cache = MemoryCache<Int, String>()
    let set = try await cache.value(forKey: 1) {
      cache.set("newer", forKey: 1)
      return "older"
    }
    #expect(set == "older")
    #expect(cache.value(forKey: 1) == "newer")
    let removed = try await cache.value(forKey: 2) {
      cache.removeAll()
      return "older"
    }
    #expect(removed == "older")
    #expect(cache.isEmpty)
  }

  @Test func loadThatAsksForItsOwnKeyIsTold() async throws {
    let cache = MemoryCache<Int, Int>()
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

  @Test func threadAndTaskShareALoad() async throws {
    let cache = MemoryCache<Int, String>()
    let door = Door()
    let task = Task {
      try await cache.value(forKey: 1) {
        await door.pass()
        return "task's"
      }
    }
    await until { door.waiting == 1 }
    let value = Locked<String?>(nil)
    async let thread: Void = withCheckedContinuation { continuation in
      onThreads(1) { _ in
        if cache.contains(2) { return }
        cache.fill([2])
        let read = try? cache.value(forKey: 1) { "thread's" }
        value.withLock { $0 = read }
      }
      continuation.resume()
    }
    await until { cache.contains(2) }
    door.open()
    _ = await thread
    #expect(try await task.value == "task's")
    #expect(value.withLock { $0 } == "task's")
  }

  @Test func loadSeesTheTaskLocalsOfWhoAsked() async throws {
    let cache = MemoryCache<Int, String>()
    let value = try await Trace.$name.withValue("asker") {
      try await cache.value(forKey: 1) { Trace.name }
    }
    #expect(value == "asker")
  }

  @Test func nothingIsLeftOfALoad() async throws {
    let alive = Counter()
    do {
      let cache = makeCache(Int.self, Tracked.self) { $0.releasesAsynchronously = false }
      for key in 0..<100 {
        let captured = Tracked(-1, alive)
        let value = try await cache.value(forKey: key % 10) {
          await Task.yield()
          return Tracked(captured.id, alive)
        }
        #expect(value.id == -1)
      }
      cache.removeAll()
    }
    await until { alive.value == 0 }
  }
}

private enum Trace {
  @TaskLocal static var name = ""
}
