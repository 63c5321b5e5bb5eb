// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

/// A tier that others share, and that says what a test wants about loads.
private final class AskedTier: CacheTier {
  typealias Answer = @Sendable () throws -> CacheTierLoad<Int>

  let fake = FakeTier<String, Int>("shared")
  let reasons = Locked<[CacheTierLoadReason]>([])
  private let state = Locked<(answer: Answer, asked: Int)>(({ .allowed }, 0))

  var name: String { fake.name }
  var asked: Int { state.withLock { $0.asked } }

  func answer(_ answer: @escaping Answer) { state.withLock { $0.answer = answer } }

  private func ask() throws -> CacheTierLoad<Int> {
    let answer = state.withLock { state in
      state.asked += 1
      return state.answer
    }
    return try answer()
  }

  func beginLoad(
    forKey key: String, reason: CacheTierLoadReason
  ) async throws -> CacheTierLoad<Int> {
    reasons.withLock { $0.append(reason) }
    return try ask()
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

@Suite("Whether a load may be kept") struct CachePermissionTests {
  private let near = FakeTier<String, Int>("near")
  private let shared = AskedTier()
  private let clock = CacheTestClock()

  private func cache(
    _ change: (inout CacheConfiguration<String, Int>) -> Void = { _ in }
  ) -> Cache<String, Int> {
    var configuration = CacheConfiguration<String, Int>()
    configuration.clock = clock.clock
    configuration.negativeLifetime = .seconds(86_400)
    change(&configuration)
    return Cache(name: "test", tiers: [near, shared], configuration: configuration)
  }

  private func isNowhere(_ key: String, _ cache: Cache<String, Int>) -> Bool {
    cache.memoryCache.peek(forKey: key) == nil && near[key] == nil && shared.fake[key] == nil
  }

  @Test func whatWasLoadedWithoutPermissionIsKeptNowhere() async throws {
    shared.answer { throw CacheTestFailure() }
    let cache = cache()
    #expect(try await cache.value(forKey: "a") { 1 } == 1)
    #expect(isNowhere("a", cache))
    #expect(try await cache.values(forKeys: ["b", "c"]) { _ in ["b": 2] } == ["b": 2])
    #expect(isNowhere("b", cache))
    #expect(
      shared.reasons.withLock { $0 } == [.missing, .missingAmongMany, .missingAmongMany])
    // Nor that there is nothing.
    #expect(try await cache.valueIfFound(forKey: "d") { nil } == nil)
    #expect(try await cache.valueIfFound(forKey: "d") { 4 } == 4)
    #expect(try await cache.values(forKeys: ["c"]) { _ in ["c": 3] } == ["c": 3])
    #expect(shared.fake.keysWritten.isEmpty && near.keysWritten.isEmpty)
    #expect(cache.statistics.failures == UInt64(shared.asked))
  }

  @Test func theBlockingCallsDoTheSame() throws {
    shared.answer { throw CacheTestFailure() }
    let cache = cache()
    #expect(try cache.value(forKey: "a") { 1 } == 1)
    #expect(isNowhere("a", cache))
    #expect(try cache.values(forKeys: ["b", "c"]) { _ in ["b": 2] } == ["b": 2])
    #expect(isNowhere("b", cache))
    #expect(try cache.valueIfFound(forKey: "d") { nil } == nil)
    #expect(try cache.valueIfFound(forKey: "d") { 4 } == 4)
    shared.fake.fail(.read, times: 100)
    shared.answer { .changed }
    #expect(try cache.value(forKey: "a") { 1 } == 1)
    shared.fake.fail(.read, times: 0)
    #expect(try cache.value(forKey: "a") { 1 } == 1)
    #expect(shared.fake.keysWritten.isEmpty && near.keysWritten.isEmpty)
    shared.answer { .allowed }
    #expect(try cache.value(forKey: "a") { 1 } == 1)
    #expect(shared.fake["a"] == 1 && near["a"] == 1)
  }

  /// A call of the loader for many keys waits for no answer of the tier after the other.
  @Test(arguments: [10, 200]) func manyKeysAreUnderWayAtOnce(count: Int) async throws {
    let keys = (0..<count).map { "k\($0)" }
    let most = min(count, 64)
    for door in [shared.fake.readDoor, shared.fake.writeDoor] { door.close() }
    let cache = cache()
    let call = Task {
      try await cache.values(forKeys: keys) { missing in
        Dictionary(uniqueKeysWithValues: missing.map { ($0, 1) })
      }
    }
    for door in [shared.fake.readDoor, shared.fake.writeDoor] {
      await until { door.waiting == most }
      door.open()
    }
    #expect(try await call.value == Dictionary(uniqueKeysWithValues: keys.map { ($0, 1) }))
    #expect(keys.allSatisfy { shared.fake[$0] == 1 && near[$0] == 1 })
  }

  /// An old value is replaced only by permission.
  @Test func aRefreshAsks() async throws {
    let cache = cache { $0.memory.refreshAfter = .seconds(10) }
    try await cache.set(1, forKey: "a")
    shared.answer { throw CacheTestFailure() }
    clock.advance(11)
    let loads = Locked(0)
    #expect(
      try await cache.value(forKey: "a") {
        loads.withLock { $0 += 1 }
        return 2
      } == 1)
    await until { !(loads.withLock({ $0 }) == 0 || cache.statistics.loads == 0) }
    #expect(shared.fake["a"] == 1 && near["a"] == 1)
    let published = Locked<[Int]>([])
    shared.answer {
      .granted(
        CacheTierLease(
          publish: { entry in
            published.withLock { $0.append(entry.value) }
            return true
          }, release: {}))
    }
    while published.withLock({ $0.isEmpty }) {
      _ = try await cache.value(forKey: "a") { 3 }
      await Task.yield()
    }
    await until { near["a"] == 3 }
    #expect(shared.fake["a"] == 1)
    let reasons = shared.reasons.withLock { Set($0) }
    #expect(reasons == [.refresh])
  }

  /// It is asked although the read failed, and what it says holds.
  @Test func aReadThatFailsIsNoPermission() async throws {
    let cache = cache()
    near.fail(.read)
    let released = Locked(0)
    shared.answer {
      .granted(
        CacheTierLease(publish: { _ in true }, release: { released.withLock { $0 += 1 } }))
    }
    #expect(try await cache.value(forKey: "a") { 1 } == 1)
    #expect(near["a"] == 1 && shared.fake["a"] == nil && shared.asked == 1)
    shared.fake.fail(.read)
    await #expect(throws: CacheTestFailure.self) {
      try await cache.value(forKey: "b") { () async throws -> Int in throw CacheTestFailure() }
    }
    #expect(released.withLock { $0 } == 1)
    // There is something that cannot be read: once is enough.
    shared.answer { .changed }
    shared.fake.fail(.read, times: 100)
    #expect(try await cache.value(forKey: "c") { 3 } == 3)
    #expect(isNowhere("c", cache) && shared.asked == 3)
  }

  /// The tier says that there is something, and has nothing, again and again.
  @Test func changesWithoutEndEndInALoad() async throws {
    let cache = cache()
    shared.answer { .changed }
    #expect(try await cache.value(forKey: "a") { 1 } == 1)
    #expect(isNowhere("a", cache) && shared.asked == cache.maximumLooks)
  }

  /// Asking would only take as long again.
  @Test func aTierThatDidNotAnswerIsNotAsked() async throws {
    let cache = cache()
    shared.fake.fail(.read, with: LarderError(.timedOut, "Late."))
    #expect(try await cache.value(forKey: "a") { 1 } == 1)
    #expect(isNowhere("a", cache) && shared.asked == 0)
  }

  /// What is written back is newer than what the tier has.
  @Test func aRemovalThatWaitsIsPermission() async throws {
    let cache = cache { $0.writePolicy = .writeBack(queueLimit: 100) }
    try shared.fake.writeNow(CacheTierEntry(value: 1), "a")
    shared.fake.writeDoor.close()
    try await cache.remove(forKey: "a")
    shared.answer { .changed }
    #expect(try await cache.value(forKey: "a") { 2 } == 2)
    #expect(shared.asked == 0)
    shared.fake.writeDoor.open()
    try await cache.checkpoint()
    #expect(shared.fake["a"] == 2)
    try await cache.close()
  }
}

@Suite("Copies that are made while all are dropped") struct CacheCopyTests {
  private let near = FakeTier<String, Int>("near")
  private let shared = SharedTier()
  private let cache: Cache<String, Int>

  init() {
    cache = Cache(name: "test", tiers: [near, shared])
  }

  /// Loses the connection between the shared tier's write and the copy.
  private func loseAll(during body: @escaping @Sendable () async throws -> Void) async throws {
    near.writeDoor.close()
    let write = Task { try await body() }
    await until { near.writeDoor.waiting != 0 }
    #expect(shared.fake["a"] == 1 && near["a"] == nil)
    shared.tell(.all)
    shared.tell(.keys(["mark"]))
    await until { cache.statistics.invalidations >= 2 }
    near.writeDoor.open()
    try await write.value
    // Nobody would tell when another machine writes now.
    #expect(near["a"] == nil && cache.memoryCache.peek(forKey: "a") == nil)
    try await cache.set(2, forKey: "a")
    #expect(near["a"] == 2)
  }

  @Test func aWriteLeavesNone() async throws {
    try await loseAll { [cache] in try await cache.set(1, forKey: "a") }
  }

  @Test func aBlockingWriteLeavesNone() async throws {
    try await loseAll { [cache] in
      try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
          continuation.resume(with: Result { try cache.set(1, forKey: "a") })
        }
      }
    }
  }

  /// A promotion is waited for, and what it copied is removed.
  @Test func aPromotionLeavesNone() async throws {
    try await shared.set(CacheTierEntry(value: 1), forKey: "a")
    near.writeDoor.close()
    let read = Task { try await cache.value(forKey: "a") }
    await until { near.writeDoor.waiting != 0 }
    shared.tell(.all)
    await until { cache.statistics.invalidations >= 1 }
    near.writeDoor.open()
    #expect(try await read.value == 1)
    await until { near["a"] == nil }
    #expect(cache.memoryCache.peek(forKey: "a") == nil)
  }
}
