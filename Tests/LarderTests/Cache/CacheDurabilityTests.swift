// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// What a write survives when it says so itself.
struct CacheDurabilityTests {
  @Test(arguments: [false, true], [nil, .process, .power] as [Durability?])
  func everyTierIsToldWhatAWriteHasToSurvive(local: Bool, durability: Durability?) async throws {
    let near = FakeTier<Int, String>("near")
    let far = FakeTier<Int, String>("far")
    let cache = makeTieredCache(near, far, local: local)
    let once = durability == .power ? 1 : 0
    func syncs() -> [Int] { [near, far].map { tier in tier.state.withLock { $0.syncs } } }
    try await blockingly { try cache.set("one", forKey: 1, durability: durability) }
    #expect(syncs() == [once, once])
    try await cache.set("one", forKey: 1, durability: durability)
    #expect(syncs() == [2 * once, 2 * once])
    try await blockingly { try cache.update(forKey: 1, durability: durability) { $0 = "two" } }
    #expect(syncs() == [3 * once, 3 * once])
    try await cache.update(forKey: 1, durability: durability) { $0 = "three" }
    #expect(syncs() == [4 * once, 4 * once] && far[1] == "three" && near[1] == "three")
    try await blockingly { try cache.remove(forKey: 1, durability: durability) }
    #expect(syncs() == [5 * once, 5 * once])
    try await cache.remove(forKey: 1, durability: durability)
    #expect(syncs() == [6 * once, 6 * once] && far.count == 0 && near.count == 0)
  }

  @Test func diskIsSyncedWhenTheWriteReturns() async throws {
    let directory = try TemporaryDirectory()
    let cache = try Cache<Int, String>(at: .path(directory.file("power").path))
    let disk = try #require(cache.diskCache)
    func isSynced() throws -> Bool {
      let statistics = try disk.statistics
      return statistics.lastVersion > 0 && statistics.syncedVersion == statistics.lastVersion
    }
    try await blockingly { try cache.set("one", forKey: 1, durability: .power) }
    #expect(try isSynced())
    try await cache.set("two", forKey: 2, durability: .power)
    #expect(try isSynced())
    try await blockingly { try cache.remove(forKey: 1, durability: .power) }
    #expect(try isSynced())
    try await cache.remove(forKey: 2, durability: .power)
    #expect(try isSynced())
    #expect(try await cache.value(forKey: 1) == nil)
    try await cache.close()
  }

  @Test(arguments: [false, true])
  func writeThatMightNotSurviveIsNotShown(suspends: Bool) async throws {
    let near = FakeTier<Int, String>("near")
    let far = FakeTier<Int, String>("far")
    let cache = makeTieredCache(near, far)
    try await cache.set("old", forKey: 1)
    far.fail(.sync)
    await #expect(throws: CacheTestFailure()) {
      if suspends { return try await cache.set("new", forKey: 1, durability: .power) }
      try await blockingly { try cache.set("new", forKey: 1, durability: .power) }
    }
    #expect(near.count == 0)
    #expect(cache.memoryCache.isEmpty)
    #expect(cache.statistics.tiers[1].failures == 1)
  }

  // MARK: - Write-back

  @Test(arguments: [false, true])
  func writeThatHasToSurviveDoesNotWait(suspends: Bool) async throws {
    let tier = FakeTier<Int, String>()
    let cache = makeTieredCache(tier) { $0.writePolicy = .writeBack() }
    tier.writeDoor.close()
    try await cache.set("old", forKey: 1)
    await until { tier.writeDoor.waiting == 1 }
    let writing = Task {
      if suspends { return try await cache.set("new", forKey: 1, durability: .power) }
      try await blockingly { try cache.set("new", forKey: 1, durability: .power) }
    }
    tier.writeDoor.open()
    try await writing.value
    // The older one, which was under way, came first.
    #expect(tier.keysWritten == [1, 1])
    #expect(tier[1] == "new" && tier.state.withLock { $0.syncs } == 1)
    #expect(cache.memoryCache.peek(forKey: 1) == "new")
    try await cache.checkpoint()
    #expect(tier.keysWritten == [1, 1] && cache.statistics.pendingWrites == 0)
  }

  @Test(arguments: [false, true])
  func writeThatHasToSurviveAndCannotLeavesWhatWaited(suspends: Bool) async throws {
    let tier = FakeTier<Int, String>()
    let told = CacheCounter()
    let cache = makeTieredCache(tier) {
      $0.writePolicy = .writeBack()
      $0.onWriteFailure = { _ in told.add() }
    }
    tier.fail(.write, times: 2, with: LarderError(.diskFull, "No room."))
    try await cache.set("old", forKey: 1)
    await until { told.value == 1 }
    await #expect(throws: LarderError.self) {
      if suspends { return try await cache.set("new", forKey: 1, durability: .process) }
      try await blockingly { try cache.set("new", forKey: 1, durability: .process) }
    }
    #expect(cache.memoryCache.isEmpty)
    #expect(try await cache.value(forKey: 1) == "old")
    #expect(cache.statistics.pendingWrites == 1)
    try await cache.checkpoint()
    #expect(tier[1] == "old")
  }

  @Test(arguments: [false, true], [false, true])
  func removalThatHasToSurviveTakesWhatWaitsAlong(suspends: Bool, fails: Bool) async throws {
    let tier = FakeTier<Int, String>()
    let told = CacheCounter()
    let cache = makeTieredCache(tier) {
      $0.writePolicy = .writeBack()
      $0.onWriteFailure = { _ in told.add() }
    }
    tier.fail(.write, with: LarderError(.diskFull, "No room."))
    try await cache.set("old", forKey: 1)
    await until { told.value == 1 }
    if fails { tier.fail(.remove) }
    var failure: (any Error)?
    do {
      if suspends {
        try await cache.remove(forKey: 1, durability: .power)
      } else {
        try await blockingly { try cache.remove(forKey: 1, durability: .power) }
      }
    } catch {
      failure = error
    }
    #expect((failure is CacheTestFailure) == fails)
    #expect(cache.statistics.pendingWrites == 0)
    #expect(try await cache.value(forKey: 1) == nil)
    #expect(tier.state.withLock { $0.syncs } == (fails ? 0 : 1))
  }
}

/// Calls what blocks on a thread of its own: those that run tasks have to go on.
private func blockingly(_ body: @escaping @Sendable () throws -> Void) async throws {
  try await withCheckedThrowingContinuation { done in
    Thread.detachNewThread { done.resume(with: Result(catching: body)) }
  }
}
