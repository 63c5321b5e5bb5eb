// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Loads that fail, hang or take long, over tiers.
struct CacheFailingLoadTests {
  private let clock = CacheTestClock()
  private let door = CacheDoor()

  @Test func expiredValueInMemoryIsGivenOutWhileItsLoadFails() async throws {
    let tier = FakeTier<Int, String>(clock: clock.clock)
    let cache = makeTieredCache(tier, clock: clock) {
      $0.expiration = .seconds(10)
      $0.memory.staleIfError = .seconds(5)
    }
    try await cache.set("old", forKey: 1, expiration: .seconds(10))
    clock.advance(10)
    #expect(try await cache.value(forKey: 1) == nil)
    #expect(try await !cache.contains(1))
    #expect(try await cache.value(forKey: 1) { throw CacheTestFailure() } == "old")
    #expect(try await cache.valueIfFound(forKey: 1) { throw CacheTestFailure() } == "old")
    clock.advance(4.999)
    #expect(try await cache.value(forKey: 1) { throw CacheTestFailure() } == "old")
    #expect(cache.statistics.staleHits == 3)
    clock.advance(0.001)
    #expect(throws: CacheTestFailure()) {
      try cache.value(forKey: 1) { throw CacheTestFailure() }
    }
    // One of which a load has found that there is nothing is not given out any more.
    try await cache.set("old", forKey: 1, expiration: .seconds(10))
    clock.advance(10)
    #expect(try await cache.valueIfFound(forKey: 1) { nil } == nil)
    await #expect(throws: CacheTestFailure()) {
      try await cache.value(forKey: 1) { throw CacheTestFailure() }
    }
    // Nor is one that only a tier had.
    try await cache.set("old", forKey: 1, expiration: .seconds(10))
    cache.memoryCache.removeAll()
    clock.advance(10)
    #expect(throws: CacheTestFailure()) {
      try cache.value(forKey: 1) { throw CacheTestFailure() }
    }
    for remove in [false, true] {
      try await cache.set("old", forKey: 2, expiration: .seconds(10))
      clock.advance(10)
      if remove { try await cache.remove(forKey: 2) } else { try await cache.removeAll() }
      #expect(throws: CacheTestFailure()) {
        try cache.value(forKey: 2) { throw CacheTestFailure() }
      }
    }
  }

  /// A value that expires before the disk has it is kept as if it had been there.
  @Test(arguments: [nil, Expiration.seconds(60), .afterAccess(.seconds(60))])
  func valueThatExpiresWhileItWaitsIsGivenOut(own: Expiration?) async throws {
    let directory = try TemporaryDirectory()
    var configuration = CacheConfiguration<String, String>()
    configuration.clock = clock.clock
    configuration.expiration = .seconds(60)
    configuration.memory.staleIfError = .seconds(600)
    configuration.writePolicy = .writeBack()
    let place = StoreLocation.url(directory.file("cache"))
    var cache = try Cache<String, String>(at: place, configuration: configuration)
    let seen = Locked<[OldValue<String>?]>([])
    func load() async throws -> String {
      cache.memoryCache.removeAll()
      return try await cache.value(forKey: "k") { (old: OldValue<String>?) in
        seen.withLock { $0.append(old) }
        throw CacheTestFailure()
      }
    }
    try await cache.suspend()
    try await cache.set("old", forKey: "k", extendedData: Data("tag".utf8), expiration: own)
    clock.advance(61)
    #expect(try await load() == "old")
    clock.advance(100)
    try await cache.resume()
    try await cache.drain()
    #expect(cache.statistics.pendingWrites == 0)
    #expect(try await cache.value(forKey: "k") == nil)
    #expect(try await !cache.contains("k"))
    #expect(try await load() == "old")
    try await cache.close()
    cache = try Cache<String, String>(at: place, configuration: configuration)
    clock.advance(498)
    #expect(try await load() == "old")
    #expect(
      seen.withLock { $0.allSatisfy { $0?.value == "old" && $0?.extendedData == Data("tag".utf8) } }
    )
    clock.advance(2)
    await #expect(throws: CacheTestFailure()) { try await load() }
    #expect(seen.withLock { $0.count == 4 && $0.last == .some(nil) })
    // One that waited longer than it is kept is gone.
    try await cache.suspend()
    try await cache.set("late", forKey: "k", expiration: own)
    clock.advance(661)
    await #expect(throws: CacheTestFailure()) { try await load() }
    try await cache.resume()
    try await cache.drain()
    await #expect(throws: CacheTestFailure()) { try await load() }
    #expect(try cache.diskCache?.count == 0)
    try await cache.close()
  }

  /// What has expired is not given out any more once there is nothing to store under its key, be
  /// it in memory, on the disk, or found there by the next one who opens it.
  @Test(arguments: [false, true]) func expiredValueGoesWithItsKey(isReopened: Bool) async throws {
    let ways: [(String, @Sendable (Cache<String, String>) async throws -> Void)] = [
      ("not stored", { _ = try await $0.value(forKey: "k") { LoadedValue("", isStored: false) } }),
      ("nothing", { _ = try await $0.valueIfFound(forKey: "k") { nil } }),
      ("nothing, blocking", { try nothing($0) }),
      ("no value", { _ = try await $0.valueIfFound(forKey: "k") { LoadedValue(nil) } }),
      ("left out", { _ = try await $0.values(forKeys: ["k", "o"]) { _ in ["o": ""] } }),
      ("by prefix", { try await $0.remove(prefix: "k") }),
      ("updated", { try await $0.update(forKey: "k") { @Sendable value in value = nil } }),
      ("updated, blocking", { try updateToNothing($0) }),
      ("removed", { try await $0.remove(forKey: "k") }),
    ]
    for policy in [CacheWritePolicy.writeThrough, .writeBack()] {
      for (name, way) in ways {
        let directory = try TemporaryDirectory()
        var configuration = CacheConfiguration<String, String>()
        configuration.clock = clock.clock
        configuration.expiration = .seconds(60)
        configuration.memory.staleIfError = .seconds(600)
        configuration.writePolicy = policy
        let place = StoreLocation.url(directory.file("cache"))
        var cache = try Cache<String, String>(at: place, configuration: configuration)
        try await cache.set("old", forKey: "k")
        if !isReopened { try await cache.sync() }
        clock.advance(61)
        try await way(cache)
        if isReopened {
          try await cache.close()
          cache = try Cache<String, String>(at: place, configuration: configuration)
        }
        await #expect(throws: CacheTestFailure(), "\(name)") {
          try await cache.value(forKey: "k") { throw CacheTestFailure() }
        }
        try await cache.close()
      }
    }
  }

  /// The value of a load that is just being stored while everything is removed goes, too.
  @Test(arguments: [false, true], [false, true])
  func loadThatIsBeingStoredGoesWithEverything(byPrefix: Bool, isRefresh: Bool) async throws {
    for policy in [CacheWritePolicy.writeThrough, .writeBack()] {
      for isBlocking in [false, true] {
        let tier = FakeTier<String, String>(clock: clock.clock)
        let cache = makeTieredCache(tier, clock: clock) {
          $0.writePolicy = policy
          $0.memory.refreshAfter = .seconds(10)
        }
        if isRefresh {
          try await cache.set("old", forKey: "key")
          try await cache.drain()
          clock.advance(11)
        }
        tier.writeDoor.close()
        let ended = Locked(false)
        if isBlocking {
          Thread.detachNewThread {
            _ = try? cache.value(forKey: "key") { "loaded" }
            ended.withLock { $0 = true }
          }
        } else {
          Task {
            _ = try await cache.value(forKey: "key") { "loaded" }
            ended.withLock { $0 = true }
          }
        }
        await until { tier.writeDoor.waiting == 1 }
        let removal = Task {
          if byPrefix { try await cache.remove(prefix: "k") } else { try await cache.removeAll() }
        }
        // With write-back it waits for the write, and else the write comes behind it.
        if policy == .writeThrough { try await removal.value }
        tier.writeDoor.open()
        try await removal.value
        let writes = isRefresh ? 2 : 1
        await until { ended.withLock { $0 } && tier.count(.write) == writes && tier.count == 0 }
        try await cache.drain()
        #expect(tier.count == 0)
        #expect(try await cache.value(forKey: "key") == nil)
        try await cache.close()
      }
    }
  }

  /// Three tasks ask for old values of four keys while others remove these.
  @Test func oldValueMayLeaveTheDiskMeanwhile() async throws {
    let directory = try TemporaryDirectory()
    var configuration = CacheConfiguration<Int, String>()
    configuration.clock = clock.clock
    configuration.expiration = .seconds(60)
    configuration.memory.staleIfError = .seconds(600)
    let cache = try Cache<Int, String>(
      at: .url(directory.file("cache")), configuration: configuration)
    for _ in 0..<effort(20, long: 200) {
      for key in 0..<100 { try await cache.set("old", forKey: key) }
      clock.advance(61)
      cache.memoryCache.removeAll()
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          for key in 0..<100 {
            let value = try? await cache.value(forKey: key) { throw CacheTestFailure() }
            #expect(value == nil || value == "old")
          }
        }
        group.addTask { for key in 0..<100 { try? await cache.diskCache?.remove(forKey: key) } }
      }
    }
    try await cache.close()
  }

  private func slow(_ cache: Cache<Int, String>, _ calls: CacheCounter) -> Task<String, any Error> {
    Task {
      try await cache.value(forKey: 1) {
        let number = calls.add()
        if number == 1 { await door.pass() }
        return "load \(number)"
      }
    }
  }

  @Test func whoWaitsForALoadThatHangsIsReleased() async throws {
    for isSet in [true, false] {
      let tier = FakeTier<Int, String>()
      let cache = makeTieredCache(tier)
      let calls = CacheCounter()
      let tasks = (0..<4).map { _ in slow(cache, calls) }
      await until { cache.statistics.sharedLoads == 3 && calls.value == 1 }
      if isSet { try await cache.set("set", forKey: 1) } else { try await cache.remove(forKey: 1) }
      for task in tasks { #expect(try await task.value == (isSet ? "set" : "load 2")) }
      #expect(tier[1] == (isSet ? "set" : "load 2"))
      #expect(cache.memoryCache.peek(forKey: 1) == tier[1])
    }
    door.open()
  }

  @Test func loadIsGivenUpAtItsVeryTimeout() async throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier, clock: clock) { $0.memory.loadTimeout = .seconds(5) }
    let calls = CacheCounter()
    let tasks = [slow(cache, calls), slow(cache, calls)]
    await until { cache.statistics.sharedLoads == 1 && clock.sleepers.count == 1 }
    await until { door.waiting == 1 }
    clock.advance(4.999)
    #expect(cache.statistics.loadTimeouts == 0)
    clock.advance(0.001)
    for task in tasks {
      let error = await #expect(throws: LarderError.self) { try await task.value }
      #expect(error?.code == .timedOut)
    }
    #expect(try await slow(cache, calls).value == "load 2")
    door.open()
    await until { clock.sleepers.count == 0 }
    #expect(cache.statistics.loadTimeouts == 1 && cache.statistics.loads == 2)
    #expect(tier[1] == "load 2")
  }

  @Test func oldValueIsGivenOutAtTheSoftTimeoutAndTheLoadGoesOn() async throws {
    let tier = FakeTier<Int, String>(clock: clock.clock)
    let cache = makeTieredCache(tier, clock: clock) {
      $0.memory.softLoadTimeout = .seconds(2)
      $0.memory.staleIfError = .seconds(60)
    }
    try await cache.set("old", forKey: 1, expiration: .seconds(10))
    clock.advance(10)
    let task = slow(cache, CacheCounter())
    await until { clock.sleepers.count == 1 && door.waiting == 1 }
    clock.advance(2)
    #expect(try await task.value == "old")
    door.open()
    await until { cache.memoryCache.peek(forKey: 1) == "load 1" }
    #expect(tier[1] == "load 1" && cache.statistics.staleHits == 1)
  }
}

private func nothing(_ cache: Cache<String, String>) throws {
  _ = try cache.valueIfFound(forKey: "k") { nil }
}

private func updateToNothing(_ cache: Cache<String, String>) throws {
  try cache.update(forKey: "k") { $0 = nil }
}
