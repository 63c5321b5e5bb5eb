// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport
import Testing

/// Loading all that is missing with one call.
struct BatchLoadingTests {
  private let clock = ManualClock()
  private let calls = Locked<[[Int]]>([])

  private func make(
    _ change: (inout MemoryCacheConfiguration<Int, String>) -> Void = { _ in }
  ) -> MemoryCache<Int, String> {
    makeCache {
      $0.clock = clock.clock
      change(&$0)
    }
  }

  /// Gives values to even keys.
  private func load(_ keys: [Int]) -> [Int: String] {
    calls.withLock { $0.append(keys) }
    let even = keys.filter { $0 % 2 == 0 }
    return Dictionary(uniqueKeysWithValues: even.map { ($0, "loaded \($0)") })
  }

  @Test func whatIsMissingIsLoadedByOneCall() async throws {
    for isAsync in [false, true] {
      calls.withLock { $0 = [] }
      let cache = make()
      cache.fill([1, 2])
      let keys = [4, 1, 3, 4, 2, 6, 3]
      for _ in 0..<2 {
        let values =
          isAsync
          ? try await cache.values(forKeys: keys) { load($0) }
          : try blocking(cache, keys)
        #expect(values == [1: "1", 2: "2", 4: "loaded 4", 6: "loaded 6"])
      }
      // What was left out is asked for again.
      #expect(calls.withLock { $0 } == [[4, 3, 6], [3]])
      #expect(cache.count == 4 && cache.statistics.loads == 2)
      #expect(cache.statistics.sharedLoads == 0)
    }
  }

  private func blocking(
    _ cache: MemoryCache<Int, String>, _ keys: [Int]
  ) throws -> [Int: String] {
    try cache.values(forKeys: keys) { load($0) }
  }

  @Test func callSaysWhatBecomesOfEachValue() async throws {
    let cache = make()
    let values = try await cache.values(forKeys: [1, 2, 3]) { keys in
      [
        1: LoadedValue("one", cost: 5, expiration: .seconds(10)),
        2: LoadedValue("two", isStored: false), 3: LoadedValue("three", cost: 0),
        4: LoadedValue("not asked for"),
      ]
    }
    #expect(values == [1: "one", 2: "two", 3: "three"])
    #expect(Set(cache.keys()) == [1, 3] && cache.totalCost == 5)
    clock.advance(10)
    #expect(cache.keys() == [3])
  }

  @Test func whatOthersLoadIsWaitedFor() async throws {
    let cache = make()
    let door = Door()
    let one = Task {
      try await cache.value(forKey: 1) {
        await door.pass()
        return "one"
      }
    }
    await until { door.waiting == 1 }
    let many = Task { try await cache.values(forKeys: [1, 2]) { load($0) } }
    await until { cache.peek(forKey: 2) != nil }
    // And the other way round.
    let late = Door()
    let batch = Task {
      try await cache.values(forKeys: [4, 5]) { keys in
        await late.pass()
        return load(keys)
      }
    }
    await until { late.waiting == 1 }
    let four = Task { try await cache.value(forKey: 4) { "no" } }
    let five = Task { try await cache.value(forKey: 5) { "own" } }
    await until { cache.statistics.sharedLoads == 3 }
    door.open()
    #expect(try await one.value == "one")
    #expect(try await many.value == [1: "one", 2: "loaded 2"])
    late.open()
    #expect(try await batch.value == [4: "loaded 4"])
    #expect(try await four.value == "loaded 4")
    // What the batch leaves out, those load themselves who must have it.
    #expect(try await five.value == "own")
    #expect(calls.withLock { $0 } == [[2], [4, 5]])
  }

  @Test func batchesThatAskForEachOthersKeysDoNotWaitForEver() async throws {
    let cache = make()
    let entered = Counter()
    let batches = [[2, 4], [4, 6], [6, 2]].map { keys in
      Task {
        try await cache.values(forKeys: keys) { missing in
          entered.add()
          return load(missing)
        }
      }
    }
    for (batch, keys) in zip(batches, [[2, 4], [4, 6], [6, 2]]) {
      #expect(try await Set(batch.value.keys) == Set(keys))
    }
    #expect(calls.withLock { $0.flatMap { $0 }.sorted() } == [2, 4, 6])
    // Threads, too.
    let threads = make()
    onThreads(8) { number in
      let keys = (0..<20).map { ($0 * 7 + number * 6) % 40 * 2 }
      let values = try? threads.values(forKeys: keys) { missing in
        Dictionary(uniqueKeysWithValues: missing.map { ($0, "\($0)") })
      }
      #expect(values?.count == Set(keys).count)
    }
    #expect(threads.contradiction() == nil)
  }

  @Test func failureGoesToAllThatHaveNoOldValue() async throws {
    let cache = make {
      $0.expiration = .seconds(10)
      $0.staleIfError = .seconds(5)
    }
    cache.fill([1, 2])
    clock.advance(10)
    for key in [1, 2] { #expect(cache.peek(forKey: key) == nil) }
    let old = try await cache.values(forKeys: [1, 2]) { _ in throw Failure(number: 1) }
    #expect(old == [1: "1", 2: "2"])
    #expect(try await cache.values(forKeys: [2]) { _ in throw Failure(number: 2) } == [2: "2"])
    await #expect(throws: Failure(number: 3)) {
      try await cache.values(forKeys: [1, 2, 3]) { _ in throw Failure(number: 3) }
    }
    clock.advance(5)
    #expect(throws: Failure(number: 4)) {
      try cache.values(forKeys: [1, 2]) { _ in throw Failure(number: 4) }
    }
    #expect(cache.statistics.loadFailures == 4)
  }

  @Test func whatIsOldIsLoadedAgainByOneCall() async throws {
    let cache = make { $0.refreshAfter = .seconds(10) }
    cache.fill([1, 2, 4])
    clock.advance(10)
    cache.fill([6])
    let values = try await cache.values(forKeys: [1, 2, 4, 6]) { load($0) }
    #expect(values == [1: "1", 2: "2", 4: "4", 6: "6"])
    await until { cache.peek(forKey: 4) == "loaded 4" && cache.peek(forKey: 1) == nil }
    #expect(calls.withLock { $0 } == [[1, 2, 4]])
    #expect(cache.statistics.refreshes == 3 && cache.statistics.loads == 1)
    // The blocking form loads both what is missing and what is old, at once.
    clock.advance(10)
    #expect(
      try blocking(cache, [8, 2, 6]) == [2: "loaded 2", 6: "loaded 6", 8: "loaded 8"])
    #expect(calls.withLock { $0.last } == [8, 2, 6])
    clock.advance(10)
    // A refresh that fails leaves the old values.
    #expect(try await cache.values(forKeys: [2]) { _ in throw Failure() } == [2: "loaded 2"])
  }

  @Test func callIsCancelledWithTheLastWhoWantsAnyOfIt() async throws {
    let cache = make()
    let door = Door()
    let wasCancelled = Locked<Bool?>(nil)
    let load: @Sendable ([Int]) async throws -> [Int: String] = { keys in
      await door.pass()
      wasCancelled.withLock { $0 = Task.isCancelled }
      return Dictionary(uniqueKeysWithValues: keys.map { ($0, "\($0)") })
    }
    let batch = Task { try await cache.values(forKeys: [1, 2, 3], orLoad: load) }
    await until { door.waiting == 1 }
    let two = Task { try await cache.value(forKey: 2) { "no" } }
    await until { cache.statistics.sharedLoads == 1 }
    batch.cancel()
    await #expect(throws: CancellationError.self) { try await batch.value }
    two.cancel()
    await #expect(throws: CancellationError.self) { try await two.value }
    door.open()
    await until { wasCancelled.withLock { $0 } != nil }
    #expect(wasCancelled.withLock { $0 } == true)
    await until { cache.statistics.loads == 1 }
    #expect(cache.isEmpty)
  }

  @Test func callThatOthersWantGoesOn() async throws {
    let cache = make()
    let door = Door()
    let batch = Task {
      try await cache.values(forKeys: [2, 4]) { keys in
        await door.pass()
        #expect(!Task.isCancelled)
        return load(keys)
      }
    }
    await until { door.waiting == 1 }
    let two = Task { try await cache.value(forKey: 2) { "no" } }
    await until { cache.statistics.sharedLoads == 1 }
    batch.cancel()
    await #expect(throws: CancellationError.self) { try await batch.value }
    door.open()
    #expect(try await two.value == "loaded 2")
  }

  @Test func keyThatIsSetOrRemovedMeanwhileIsNotWaitedFor() async throws {
    let cache = make()
    let door = Door()
    let batch = Task {
      try await cache.values(forKeys: [2, 4, 6]) { keys in
        if keys.count == 3 { await door.pass() }
        return load(keys)
      }
    }
    await until { door.waiting == 1 }
    cache.set("set", forKey: 2)
    cache.remove(forKey: 4)
    door.open()
    #expect(try await batch.value == [2: "set", 4: "loaded 4", 6: "loaded 6"])
    #expect(cache.peek(forKey: 2) == "set")
  }

  @Test func loadThatAsksForOneOfItsOwnKeysIsTold() async throws {
    let cache = make()
    await #expect(throws: LarderError.self) {
      try await cache.values(forKeys: [1, 2]) { keys in
        try await cache.values(forKeys: [3, 2]) { _ in [3: "three"] }
      }
    }
    #expect(throws: LarderError.self) {
      try cache.values(forKeys: [1, 2]) { _ in try cache.values(forKeys: [3, 2]) { load($0) } }
    }
    // Nothing is left behind.
    #expect(try await cache.values(forKeys: [2, 3, 4]) { load($0) }.count == 2)
    #expect(try blocking(cache, []).isEmpty)
  }

  @Test func callThatTakesTooLongIsGivenUpForAllKeys() async throws {
    let cache = make { $0.loadTimeout = .seconds(5) }
    let door = Door()
    let batch = Task {
      try await cache.values(forKeys: [2, 4]) { keys in
        await door.pass()
        return load(keys)
      }
    }
    await until { clock.sleepers.count == 1 }
    clock.advance(5)
    let error = await #expect(throws: LarderError.self) { try await batch.value }
    #expect(error?.code == .timedOut && cache.statistics.loadTimeouts == 1)
    door.open()
    #expect(try await cache.value(forKey: 2) { "new" } == "new")
  }
}
