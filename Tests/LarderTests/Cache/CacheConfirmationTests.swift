// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport
import Testing

@testable import Larder

@Suite("Copies on disk that a tier below confirms")
struct CacheConfirmationTests {
  private let clock = CacheTestClock()
  private let folder: TemporaryDirectory
  private let server: FakeTier<String, Int>

  init() throws {
    folder = try TemporaryDirectory()
    server = FakeTier("shared", clock: clock.clock)
  }

  private var path: String { folder.file("cache").path }

  private func open(
    _ shared: ConfirmingTier?, at path: String? = nil,
    _ change: (inout CacheConfiguration<String, Int>) -> Void = { _ in }
  ) throws -> Cache<String, Int> {
    var configuration = CacheConfiguration<String, Int>()
    configuration.clock = clock.clock
    configuration.furtherTiers = shared.map { [$0] } ?? []
    change(&configuration)
    return try Cache(
      at: .path(path ?? self.path), coder: .cbor, keyCoder: .string, configuration: configuration)
  }

  /// Tells a cache that anything may have changed, and waits until it has done what that asks for.
  private func lose(_ shared: ConfirmingTier, _ cache: Cache<String, Int>) async {
    await tell(.unconfirmed, shared, cache)
  }

  private func tell(
    _ invalidation: CacheInvalidation<String>, _ shared: ConfirmingTier,
    _ cache: Cache<String, Int>
  ) async {
    let count = cache.statistics.invalidations
    let disk = cache.slots.count - 2
    let removals = cache.statistics.tiers[disk].removals
    shared.tell(invalidation)
    await until { cache.statistics.invalidations > count }
    // The next one is applied only behind it.
    shared.tell(.keys(["mark"]))
    await until { cache.statistics.invalidations > count + 1 }
    // And is waited for: a read during it is not kept if the keys share a group of writers.
    let more: UInt64 = invalidation == .unconfirmed ? 1 : 2
    await until {
      cache.statistics.tiers[disk].removals >= removals + more
        && cache.writers.isGood(cache.writers.token("mark"))
    }
  }

  private func onDisk(_ cache: Cache<String, Int>, _ key: String) throws -> CacheTierEntry<Int>? {
    try cache.diskCache?.tierEntry(
      forKey: key, .peek,
      confirmation: CacheConfirmation(depth: 1, lifetime: nil, clock: clock.clock))
  }

  @Test func aVersionIsSixteenBytes() {
    let version = CacheTierVersion()
    #expect(version.bytes.count == 16 && CacheTierVersion(bytes: version.bytes) == version)
    let bytes = [UInt8](0..<16)
    #expect(CacheTierVersion(bytes: bytes)?.bytes == bytes)
    #expect(CacheTierVersion(bytes: bytes[1...]) == nil && CacheTierVersion() != version)
  }

  @Test(arguments: [false, true])
  func copiesStayAndAreConfirmedOnFirstUse(_ blocks: Bool) async throws {
    let shared = ConfirmingTier(server)
    let cache = try open(shared)
    for key in ["a", "b", "c", "d"] { try await cache.set(1, forKey: key, cost: 3) }
    try await cache.set(1, forKey: "e", extendedData: Data([7]))
    await lose(shared, cache)
    #expect(cache.memoryCache.count == 0)
    #expect(try await cache.diskCache?.peek(forKey: "a") == 1)
    try shared.change("b", 2)
    try shared.change("c", nil)
    let reads = server.count(.read)
    let value: (String) async throws -> Int? = {
      blocks
        ? try (cache.value(forKey:) as (String) throws -> Int?)($0)
        : try await cache.value(forKey: $0)
    }
    #expect(try await value("a") == 1 && shared.confirmations == 1)
    #expect(server.count(.read) == reads && cache.memoryCache.peek(forKey: "a") == 1)
    #expect(try await value("b") == 2)
    #expect(try await value("c") == nil && shared.refutations == 2)
    // From then on it is as good as one that was read.
    cache.memoryCache.removeAll()
    #expect(try await value("a") == 1 && shared.confirmations == 1)
    let found = try await cache.valueWithExtendedData(forKey: "e")
    #expect(found?.value == 1 && found?.extendedData == Data([7]) && shared.confirmations == 2)
    #expect(try await cache.extendedData(forKey: "e") == Data([7]) && shared.confirmations == 2)
    #expect(try onDisk(cache, "a")?.cost == 3)
    // And is confirmed again when that is over.
    await lose(shared, cache)
    #expect(try await value("a") == 1 && shared.confirmations == 3)
    await tell(.all, shared, cache)
    #expect(try await cache.diskCache?.peek(forKey: "d") == nil)
    let disk = cache.statistics.tiers[0]
    #expect(disk.hits == 4 && disk.misses == 2)
  }

  /// The copy is of a folder as a process leaves it that is killed.
  @Test(arguments: [false, true])
  func copiesSurviveTheProcess(_ isKilled: Bool) async throws {
    let first = try open(ConfirmingTier(server))
    for key in ["a", "b"] { try await first.set(1, forKey: key) }
    let copy = folder.file("copy").path
    if isKilled {
      try FileManager.default.copyItem(atPath: path, toPath: copy)
    } else {
      try await first.close()
    }
    let shared = ConfirmingTier(server)
    try shared.change("b", 2)
    let cache = try open(shared, at: isKilled ? copy : path)
    #expect(try await cache.diskCache?.peek(forKey: "b") == 1)
    #expect(try await cache.value(forKey: "a") == 1 && shared.confirmations == 1)
    #expect(try await cache.value(forKey: "b") == 2 && shared.refutations == 1)
  }

  @Test func whatCannotBeConfirmedIsNotFound() async throws {
    let shared = ConfirmingTier(server)
    let cache = try open(shared)
    for key in ["a", "b"] { try await cache.set(1, forKey: key) }
    await lose(shared, cache)
    shared.setGone(true)
    await #expect(throws: CacheTestFailure.self) { try await cache.value(forKey: "a") }
    // It is not asked twice.
    #expect(cache.statistics.tiers[1].failures == 1)
    await #expect(throws: CacheTestFailure.self) { try await cache.contains("a") }
    #expect(throws: CacheTestFailure.self) {
      try (cache.value(forKey:) as (String) throws -> Int?)("a")
    }
    #expect(try await cache.value(forKey: "a") { 5 } == 5)
    #expect(try await cache.values(forKeys: ["a", "b"]) { _ in ["a": 6, "b": 6] }["b"] == 6)
    await #expect(throws: CacheTestFailure.self) { try await cache.update(forKey: "a") { _ in } }
    shared.setGone(false)
    #expect(try await cache.value(forKey: "b") == 1)
  }

  @Test func othersThanReadsStartFromWhatTheServerHas() async throws {
    let shared = ConfirmingTier(server)
    let cache = try open(shared)
    for key in ["a", "b", "c"] { try await cache.set(1, forKey: key) }
    await lose(shared, cache)
    try shared.change("a", 2)
    try shared.change("b", nil)
    #expect(try await cache.contains("b") == false)
    #expect(try (cache.contains(_:) as (String) throws -> Bool)("b") == false)
    #expect(try await cache.contains("c"))
    #expect(try await cache.update(forKey: "a") { $0 = ($0 ?? 0) + 1 } == ())
    #expect(server["a"] == 3 && shared.confirmations == 0)
    #expect(try await cache.value(forKey: "b") { 7 } == 7)
    #expect(try await cache.values(forKeys: ["c"]) { _ in [:] } == ["c": 1])
    #expect(shared.confirmations == 1)
  }

  /// Whatever writes an entry, it has one version in all tiers.
  @Test(arguments: [CacheWritePolicy.writeThrough, .writeBack(queueLimit: 100)])
  func everyWriteHasOneVersion(_ policy: CacheWritePolicy) async throws {
    let shared = ConfirmingTier(server)
    let cache = try open(shared) { $0.writePolicy = policy }
    try await cache.set(1, forKey: "a")
    try await cache.set([(key: "b", value: 1), (key: "c", value: 1)])
    _ = try await cache.value(forKey: "d") { 1 }
    _ = try await cache.values(forKeys: ["e", "f"]) { keys in
      Dictionary(uniqueKeysWithValues: keys.map { ($0, 1) })
    }
    try await cache.update(forKey: "a") { $0 = 2 }
    try await cache.set(1, forKey: "g", durability: .power)
    try shared.change("h", 1)
    _ = try await cache.value(forKey: "h")
    try await cache.checkpoint()
    for key in "abcdefgh".map(String.init) {
      let version = try onDisk(cache, key)?.version
      #expect(version != nil && version == server.live(key)?.version, "\(key)")
    }
    await lose(shared, cache)
    for key in "abcdefgh".map(String.init) {
      #expect(try await cache.value(forKey: key) == (key == "a" ? 2 : 1))
    }
    #expect(shared.confirmations == 8 && shared.refutations == 0)
    try await cache.close()
  }

  /// The server has stored it, and another machine's value, before the disk gets its copy.
  @Test(arguments: [CacheWritePolicy.writeThrough, .writeBack(queueLimit: 100)])
  func aWriteThatRacesTheLossLeavesNothingConfirmed(_ policy: CacheWritePolicy) async throws {
    let shared = ConfirmingTier(server)
    let cache = try open(shared) { $0.writePolicy = policy }
    shared.lateWriteDoor.close()
    let write = Task {
      try await cache.set(1, forKey: "a")
      try await cache.checkpoint()
    }
    await until { shared.lateWriteDoor.waiting == 1 }
    try shared.change("a", 2)
    shared.tell(.unconfirmed)
    await until { cache.statistics.invalidations == 1 }
    shared.lateWriteDoor.open()
    try await write.value
    await tell(.keys(["other"]), shared, cache)
    #expect(try await cache.value(forKey: "a") == 2)
  }

  @Test(arguments: [CacheInvalidation.unconfirmed, .keys(["a"]), .all])
  func aReadThatRacesAnInvalidationIsNotKept(
    _ invalidation: CacheInvalidation<String>
  ) async throws {
    let shared = ConfirmingTier(server)
    let cache = try open(shared)
    try shared.change("a", 1)
    server.lateReadDoor.close()
    let read = Task { try await cache.value(forKey: "a") }
    await until { server.lateReadDoor.waiting == 1 }
    try shared.change("a", 2)
    await tell(invalidation, shared, cache)
    server.lateReadDoor.open()
    #expect(try await read.value == 1)
    #expect(try await cache.value(forKey: "a") == 2)
  }

  @Test(arguments: [CacheInvalidation.unconfirmed, .keys(["a"]), .all])
  func aConfirmationThatRacesAnInvalidationIsNotKept(
    _ invalidation: CacheInvalidation<String>
  ) async throws {
    let shared = ConfirmingTier(server)
    let cache = try open(shared)
    try await cache.set(1, forKey: "a")
    await lose(shared, cache)
    shared.lateConfirmDoor.close()
    let read = Task { try await cache.value(forKey: "a") }
    await until { shared.lateConfirmDoor.waiting == 1 }
    try shared.change("a", 2)
    await tell(invalidation, shared, cache)
    shared.lateConfirmDoor.open()
    #expect(try await read.value == 1)
    #expect(cache.memoryCache.peek(forKey: "a") == nil)
    #expect(try await cache.value(forKey: "a") == 2)
  }

  /// As they would be dropped otherwise.
  @Test func copiesThatAreOldAreConfirmed() async throws {
    let shared = ConfirmingTier(server, copyLifetime: .seconds(60))
    let cache = try open(shared)
    try await cache.set(1, forKey: "a")
    try await cache.set(1, forKey: "b", expiration: .seconds(100))
    try shared.change("c", 1)
    #expect(try await cache.value(forKey: "c") == 1)
    clock.advance(61)
    for key in ["a", "b", "c"] { #expect(cache.memoryCache.peek(forKey: key) == nil) }
    try shared.change("c", 2)
    #expect(try await cache.value(forKey: "a") == 1 && shared.confirmations == 1)
    #expect(try await cache.value(forKey: "b") == 1 && shared.confirmations == 2)
    #expect(try await cache.value(forKey: "c") == 2)
    clock.advance(40)
    #expect(cache.memoryCache.peek(forKey: "a") == 1 && cache.memoryCache.peek(forKey: "b") == nil)
    #expect(try await cache.value(forKey: "b") == nil)
    #expect(try await cache.diskCache?.peek(forKey: "b") == nil)
    // What a disk gives to memory is as old as on disk.
    cache.memoryCache.removeAll()
    #expect(try await cache.value(forKey: "a") == 1 && shared.confirmations == 2)
    clock.advance(21)
    #expect(cache.memoryCache.peek(forKey: "a") == nil)
    #expect(try await cache.value(forKey: "a") == 1 && shared.confirmations == 3)
  }

  @Test func otherTiersAboveAreEmptiedAndNeverGetMoreThanCopies() async throws {
    let shared = ConfirmingTier(server, copyLifetime: .seconds(60))
    let near = FakeTier<String, Int>("near", clock: clock.clock)
    let disk = try DiskCache<String, Int>(at: .path(path), coder: .cbor, keyCoder: .string)
    try near.writeNow(CacheTierEntry(value: 9), "old")
    var configuration = CacheConfiguration<String, Int>()
    configuration.clock = clock.clock
    let cache = Cache(name: "test", tiers: [near, disk, shared], configuration: configuration)
    await until { near.count == 0 }
    try await cache.set(1, forKey: "a")
    await lose(shared, cache)
    #expect(near.count == 0)
    #expect(try await cache.value(forKey: "a") == 1 && shared.confirmations == 1)
    #expect(near.live("a")?.version == nil && near["a"] == 1)
    clock.advance(61)
    #expect(near["a"] == nil)
  }

  @Test func hotKeysAreNotBroughtBackUnconfirmed() async throws {
    let first = try open(ConfirmingTier(server)) { $0.keepsHotKeys = true }
    for key in ["a", "b"] { try await first.set(1, forKey: key) }
    try await first.close()
    let restored = Locked<CacheRestoration?>(nil)
    let cache = try open(ConfirmingTier(server)) { configuration in
      configuration.keepsHotKeys = true
      configuration.onRestored = { done in restored.withLock { $0 = done } }
    }
    await until { restored.withLock { $0 != nil } }
    #expect(restored.withLock { $0?.count } == 0 && cache.memoryCache.count == 0)
    #expect(try await cache.diskCache?.peek(forKey: "a") == 1)
  }

  @Test func nothingIsHeardWhileSuspendedSoEverythingIsConfirmedThen() async throws {
    let shared = ConfirmingTier(server)
    let cache = try open(shared)
    for key in ["a", "b"] { try await cache.set(1, forKey: key) }
    try await cache.suspend()
    // Another process.
    do {
      let other = try open(nil)
      try await other.set(5, forKey: "c")
      try await other.close()
    }
    try shared.change("b", 2)
    try await cache.resume()
    #expect(try await cache.value(forKey: "a") == 1 && shared.confirmations == 1)
    #expect(try await cache.value(forKey: "b") == 2)
    // It has no version, and the server nothing.
    #expect(try await cache.value(forKey: "c") == nil && shared.refutations == 1)
  }

  @Test func otherCachesReadTheSameFolder() async throws {
    var cache = try open(ConfirmingTier(server))
    for key in ["a", "b"] { try await cache.set(1, forKey: key) }
    try await cache.close()
    cache = try open(nil)
    #expect(try await cache.value(forKey: "a") == 1)
    try await cache.set(2, forKey: "a")
    try await cache.close()
    // What has no version cannot be confirmed.
    var shared = ConfirmingTier(server)
    cache = try open(shared)
    #expect(try await cache.value(forKey: "a") == 1 && shared.confirmations == 0)
    #expect(try await cache.value(forKey: "b") == 1 && shared.confirmations == 1)
    try await cache.close()
    shared = ConfirmingTier(server, confirmsCopies: false)
    cache = try open(shared)
    #expect(try await cache.diskCache?.peek(forKey: "b") == nil)
    #expect(try await cache.value(forKey: "b") == 1 && shared.confirmations == 0)
    try await cache.close()
  }

  /// One that only reads has everything confirmed: another process may write.
  @Test func aDiskThatOnlyReadsHasEverythingConfirmed() async throws {
    let writer = try open(ConfirmingTier(server))
    try await writer.set(1, forKey: "a")
    let shared = ConfirmingTier(server)
    let reader = try open(shared) { $0.disk.isReadOnly = true }
    try await writer.set(1, forKey: "b")
    for round in 1...2 {
      reader.memoryCache.removeAll()
      #expect(try await reader.value(forKey: "a") == 1)
      #expect(try await reader.value(forKey: "b") == 1 && shared.confirmations == 2 * round)
    }
    try await reader.close()
    try await writer.close()
  }

  @Test func maintenanceKeepsVersions() async throws {
    let shared = ConfirmingTier(server)
    var cache = try open(shared)
    for number in 0..<500 { try await cache.set(number, forKey: "\(number)") }
    for number in 0..<250 { try await cache.set(number, forKey: "\(number)") }
    #expect(try await cache.diskCache?.verify().isIntact == true)
    try await cache.close()
    _ = try await DiskCache<String, Int>.compact(at: .path(path))
    let salvaged = folder.file("salvaged").path
    _ = try await DiskCache<String, Int>.salvage(from: .path(path), to: .path(salvaged))
    for path in [path, salvaged] {
      let shared = ConfirmingTier(server)
      cache = try open(shared, at: path)
      #expect(try await cache.diskCache?.verify().isIntact == true)
      for number in 0..<500 { #expect(try await cache.value(forKey: "\(number)") == number) }
      #expect(shared.confirmations == 500 && shared.refutations == 0)
      try await cache.close()
    }
  }
}
