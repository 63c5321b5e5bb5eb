// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// A tier that others write to, and that tells of it.
final class SharedTier: CacheTier {
  let fake: FakeTier<String, Int>
  let copyLifetime: Duration?
  private let stream: AsyncStream<CacheInvalidation<String>>
  private let continuation: AsyncStream<CacheInvalidation<String>>.Continuation

  init(clock: CacheClock = .system, copyLifetime: Duration? = nil) {
    fake = FakeTier("shared", clock: clock)
    self.copyLifetime = copyLifetime
    (stream, continuation) = AsyncStream.makeStream()
  }

  var name: String { fake.name }
  func invalidations() -> AsyncStream<CacheInvalidation<String>>? { stream }
  func tell(_ invalidation: CacheInvalidation<String>) { continuation.yield(invalidation) }

  /// Another machine writes.
  func change(_ key: String, _ value: Int?) throws {
    if let value {
      try fake.writeNow(CacheTierEntry(value: value), key)
    } else {
      try fake.removeNow(key)
    }
    tell(.keys([key]))
  }

  func entry(forKey key: String) async throws -> CacheTierEntry<Int>? {
    try await fake.entry(forKey: key)
  }
  func set(_ entry: CacheTierEntry<Int>, forKey key: String) async throws {
    try await fake.set(entry, forKey: key)
  }
  func remove(forKey key: String) async throws { try await fake.remove(forKey: key) }
  func removeAll(progress: CacheProgress?) async throws { try fake.removeAllNow(progress) }
  func contains(_ key: String) async throws -> Bool { try fake.containsNow(key) }
}

@Suite("A cache over a tier that others change") struct CacheInvalidationTests {
  private let clock = CacheTestClock()
  private let near: FakeTier<String, Int>
  private let shared: SharedTier

  init() {
    near = FakeTier("near", clock: clock.clock)
    shared = SharedTier(clock: clock.clock)
  }

  private func cache(
    _ change: (inout CacheConfiguration<String, Int>) -> Void = { _ in }
  ) async -> Cache<String, Int> {
    var configuration = CacheConfiguration<String, Int>()
    configuration.clock = clock.clock
    change(&configuration)
    let cache = Cache(name: "test", tiers: [near, shared], configuration: configuration)
    // What it would have of an earlier process is removed in the background.
    await until { near.count(.removeAll) == 1 }
    return cache
  }

  /// Waits until the cache has heard of so many keys; what it does about them is done in order.
  private func heard(_ count: UInt64, _ cache: Cache<String, Int>) async throws {
    await until { cache.statistics.invalidations >= count }
    // The next one is applied only behind it.
    shared.tell(.keys(["mark"]))
    await until { cache.statistics.invalidations >= count + 1 }
  }

  @Test func whatOthersChangeIsDroppedFromMemoryAndTheTiersAbove() async throws {
    let cache = await cache()
    try await cache.set(1, forKey: "a")
    try await cache.set(1, forKey: "b")
    #expect(near["a"] == 1)
    try shared.change("a", 2)
    try await heard(1, cache)
    #expect(near["a"] == nil && cache.memoryCache.peek(forKey: "a") == nil)
    #expect(near["b"] == 1 && cache.memoryCache.peek(forKey: "b") == 1)
    #expect(try await cache.value(forKey: "a") == 2)
    #expect(near["a"] == 2)
    try shared.change("a", nil)
    try await heard(3, cache)
    #expect(try await cache.value(forKey: "a") == nil)
  }

  /// Many at a time, and none waits for a writer of another.
  @Test func manyKeysAreDroppedFromADisk() async throws {
    let directory = try TemporaryDirectory()
    var configuration = CacheConfiguration<String, Int>()
    configuration.furtherTiers = [shared]
    let cache = try Cache(at: .path(directory.file("cache").path), configuration: configuration)
    let disk = try #require(cache.diskCache)
    let keys = (0..<200).map { "k\($0)" }
    for key in keys { try await cache.set(1, forKey: key) }
    shared.fake.writeDoor.close()
    let write = Task { try await cache.set(2, forKey: "k100") }
    await until { shared.fake.writeDoor.waiting == 1 }
    shared.tell(.keys(keys + keys))
    await until {
      keys.allSatisfy { $0 == "k100" || (try? disk.contains($0)) == false }
    }
    #expect(try await disk.value(forKey: "k100") == 1)
    shared.fake.writeDoor.open()
    try await write.value
    await until { (try? disk.contains("k100")) == false }
    #expect(try await cache.value(forKey: "k100") == 2)
    #expect(cache.memoryCache.peek(forKey: "k99") == nil)
    try await cache.close()
  }

  /// Nothing can be removed from it, so nothing may be found in it.
  @Test func aDiskThatIsOnlyReadIsNotTrusted() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("cache").path
    let writer = try DiskCache<String, Int>(at: .path(path))
    try await writer.set(1, forKey: "a")
    var configuration = CacheConfiguration<String, Int>()
    configuration.disk.isReadOnly = true
    configuration.furtherTiers = [SharedTier(copyLifetime: .seconds(86_400))]
    let error = #expect(throws: LarderError.self) {
      try Cache<String, Int>(at: .path(path), configuration: configuration)
    }
    #expect(error?.code == .invalidArgument)
    let disk = try DiskCache(at: .path(path), configuration: configuration.disk)
    try shared.fake.writeNow(CacheTierEntry(value: 2), "a")
    let cache = Cache(name: "test", tiers: [disk, shared])
    #expect(try await cache.value(forKey: "a") == 2)
    cache.memoryCache.removeAll()
    #expect(try onThisThread { try cache.value(forKey: "a") } == 2)
    try shared.change("a", nil)
    try await heard(1, cache)
    #expect(try await cache.value(forKey: "a") == nil)
    try await cache.close()
    try await writer.close()
  }

  /// The blocking form.
  private func onThisThread<R>(_ body: () throws -> R) rethrows -> R { try body() }

  @Test func everythingIsDropped() async throws {
    let cache = await cache()
    for key in ["a", "b"] { try await cache.set(1, forKey: key) }
    shared.tell(.all)
    try await heard(1, cache)
    #expect(near.count == 0 && cache.memoryCache.count == 0 && shared.fake.count == 2)
    #expect(try await cache.value(forKey: "a") == 1)
  }

  @Test func copiesOfAnEarlierProcessAreDropped() async throws {
    try near.writeNow(CacheTierEntry(value: 1), "a")
    try shared.fake.writeNow(CacheTierEntry(value: 2), "a")
    let cache = await cache()
    #expect(near.count == 0)
    #expect(try await cache.value(forKey: "a") == 2)
  }

  /// Opening does not wait for a tier that has to wait for others.
  @Test func copiesOfAnEarlierProcessAreNotFoundBeforeTheyAreDropped() async throws {
    let slow = ConfirmingTier(near)
    try slow.change("a", 1)
    try slow.change("b", 1)
    try shared.fake.writeNow(CacheTierEntry(value: 2), "a")
    slow.removalDoor.close()
    let cache = Cache<String, Int>(name: "test", tiers: [slow, shared])
    #expect(try await cache.value(forKey: "a") == 2)
    #expect(try await cache.contains("b") == false)
    #expect(try (cache.value(forKey:) as (String) throws -> Int?)("b") == nil)
    #expect(try (cache.contains(_:) as (String) throws -> Bool)("b") == false)
    slow.removalDoor.open()
    await until { near.count(.removeAll) == 1 }
    try slow.change("c", 3)
    try await until { try await cache.value(forKey: "c") == 3 }
  }

  /// The value was on its way when it was changed: returned it may be, kept it must not be.
  @Test(arguments: [false, true])
  func aValueThatWasOverWhenItCameIsNotKept(_ changesAll: Bool) async throws {
    let cache = await cache()
    try shared.fake.writeNow(CacheTierEntry(value: 1), "a")
    shared.fake.lateReadDoor.close()
    let read = Task { try await cache.value(forKey: "a") }
    await until { shared.fake.lateReadDoor.waiting != 0 }
    try shared.fake.writeNow(CacheTierEntry(value: 2), "a")
    shared.tell(changesAll ? .all : .keys(["a"]))
    try await heard(1, cache)
    shared.fake.lateReadDoor.open()
    #expect(try await read.value == 1)
    #expect(near["a"] == nil && cache.memoryCache.peek(forKey: "a") == nil)
    #expect(try await cache.value(forKey: "a") == 2)
  }

  @Test func aLoadOfWhatWasChangedMeanwhileIsNotStored() async throws {
    let cache = await cache()
    let door = CacheDoor()
    let load = Task {
      try await cache.value(forKey: "a") {
        await door.pass()
        return 1
      }
    }
    await until { door.waiting != 0 }
    try shared.change("a", 2)
    try await heard(1, cache)
    door.open()
    _ = try await load.value
    #expect(shared.fake["a"] == 2)
    #expect(try await cache.value(forKey: "a") == 2)
  }

  /// Our write came first: its copies must go, although they are made when the other one is known.
  @Test func aWriteUnderWayIsWaitedFor() async throws {
    let cache = await cache()
    near.writeDoor.close()
    let write = Task { try await cache.set(1, forKey: "a") }
    await until { near.writeDoor.waiting != 0 }
    try shared.change("a", 2)
    // Others do not wait for it.
    cache.memoryCache.set(1, forKey: "b")
    shared.tell(.keys(["b"]))
    await until { cache.statistics.invalidations >= 2 }
    near.writeDoor.open()
    try await write.value
    await until { !(near["a"] != nil || cache.memoryCache.peek(forKey: "a") != nil) }
    #expect(try await cache.value(forKey: "a") == 2)
  }

  @Test func whatWasKnownToBeAbsentIsLookedForAgain() async throws {
    let cache = await cache { $0.negativeLifetime = .seconds(86_400) }
    #expect(try await cache.valueIfFound(forKey: "a") { nil } == nil)
    try shared.change("a", 2)
    try await heard(1, cache)
    #expect(try await cache.valueIfFound(forKey: "a") { nil } == 2)
  }

  @Test func writesThatWaitAreKept() async throws {
    let cache = await cache { $0.writePolicy = .writeBack(queueLimit: 100) }
    shared.fake.writeDoor.close()
    try await cache.set(1, forKey: "a")
    await until { shared.fake.writeDoor.waiting != 0 }
    try shared.fake.writeNow(CacheTierEntry(value: 2), "a")
    shared.tell(.keys(["a"]))
    await until { cache.statistics.invalidations >= 1 }
    #expect(try await cache.value(forKey: "a") == 1)
    shared.fake.writeDoor.open()
    try await cache.checkpoint()
    #expect(shared.fake["a"] == 1)
    try await cache.close()
  }

  @Test func copiesLiveAsLongAsTheTierAllows() async throws {
    let shared = SharedTier(clock: clock.clock, copyLifetime: .seconds(60))
    var configuration = CacheConfiguration<String, Int>()
    configuration.clock = clock.clock
    let cache = Cache(name: "test", tiers: [near, shared], configuration: configuration)
    await until { near.count(.removeAll) == 1 }
    try await cache.set(1, forKey: "a")
    try await cache.set(1, forKey: "b", expiration: .seconds(10))
    try await cache.set(1, forKey: "c", expiration: .seconds(600))
    #expect(shared.fake.live("a")?.expiration == .never)
    #expect(near.live("a")?.expiration?.afterWrite == .seconds(60))
    clock.advance(11)
    #expect(near["a"] == 1 && near["b"] == nil && near["c"] == 1)
    clock.advance(50)
    #expect(near["a"] == nil && near["c"] == nil && cache.memoryCache.peek(forKey: "a") == nil)
    #expect(shared.fake["a"] == 1 && shared.fake["c"] == 1)
  }

  /// The tier counts a life from when it got the entry, before the copies are made.
  @Test func copiesOfASlowWriteEndWithTheEntry() async throws {
    let shared = SharedTier(clock: clock.clock, copyLifetime: .seconds(86_400))
    var configuration = CacheConfiguration<String, Int>()
    configuration.clock = clock.clock
    let cache = Cache(name: "test", tiers: [near, shared], configuration: configuration)
    await until { near.count(.removeAll) == 1 }
    near.writeDoor.close()
    let write = Task { try await cache.set(1, forKey: "a", expiration: .seconds(10)) }
    await until { near.writeDoor.waiting == 1 }
    clock.advance(6)
    near.writeDoor.open()
    try await write.value
    #expect(try await cache.value(forKey: "a") == 1)
    clock.advance(5)
    #expect(shared.fake["a"] == nil && near["a"] == nil)
    #expect(cache.memoryCache.peek(forKey: "a") == nil)
    #expect(try await cache.value(forKey: "a") == nil)
  }

  @Test func nothingIsHeardWhileSuspendedSoEverythingIsDroppedThen() async throws {
    let cache = await cache()
    try await cache.set(1, forKey: "a")
    try await cache.suspend()
    try near.writeNow(CacheTierEntry(value: 1), "a")
    try await cache.resume()
    #expect(near.count == 0 && cache.memoryCache.count == 0)
  }

  @Test func aCacheIsNotKeptByWhatItListensTo() async throws {
    weak var gone: Cache<String, Int>?
    do {
      let cache = await cache()
      gone = cache
      try await cache.set(1, forKey: "a")
    }
    await until { gone == nil }
    shared.tell(.keys(["a"]))
    #expect(near["a"] == 1)
  }
}
