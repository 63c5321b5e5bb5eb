// SPDX-License-Identifier: MIT

import Foundation
import Larder
import LarderTestSupport
import Testing

/// Writes that return before the tiers have them, and lose nothing for it.
struct CacheWriteBackTests {
  private func make(
    _ tiers: FakeTier<Int, String>..., limit: Int = 100, clock: CacheTestClock? = nil,
    _ change: (inout CacheConfiguration<Int, String>) -> Void = { _ in }
  ) -> Cache<Int, String> {
    precondition(tiers.count <= 2)
    let configure: (inout CacheConfiguration<Int, String>) -> Void = {
      $0.writePolicy = .writeBack(queueLimit: limit)
      change(&$0)
    }
    return tiers.count == 1
      ? makeTieredCache(tiers[0], clock: clock, configure)
      : makeTieredCache(tiers[0], tiers[1], clock: clock, configure)
  }

  @Test func writeReturnsBeforeTheTierHasItAndIsRead() async throws {
    let tier = FakeTier<Int, String>()
    let cache = make(tier)
    tier.writeDoor.close()
    try await cache.set("one", forKey: 1, cost: 3, extendedData: Data([1]))
    #expect(tier.count == 0)
    #expect(cache.statistics.pendingWrites == 1)
    cache.memoryCache.removeAll()
    #expect(try await cache.contains(1))
    #expect(try await cache.value(forKey: 1) == "one")
    #expect(cache.memoryCache.totalCost == 3)
    #expect(try await cache.extendedData(forKey: 1) == Data([1]))
    #expect(tier.count(.read) == 0)
    tier.writeDoor.open()
    try await cache.checkpoint()
    #expect(tier.live(1)?.cost == 3)
    #expect(cache.statistics.pendingWrites == 0)
    #expect(cache.statistics.pendingHits == 1)
  }

  @Test func writesArriveInTheOrderOfTheirKeysAndTheNewestOfEach() async throws {
    let tier = FakeTier<Int, String>()
    let cache = make(tier)
    tier.writeDoor.close()
    for key in [1, 2, 3] { try await cache.set("old \(key)", forKey: key) }
    // The first one is under way already.
    await until { tier.writeDoor.waiting == 1 }
    for key in [3, 1, 2, 4] { try await cache.set("new \(key)", forKey: key) }
    try await cache.remove(forKey: 4)
    tier.writeDoor.open()
    try await cache.checkpoint()
    #expect(tier.keysWritten == [1, 2, 3, 1])
    for key in 1...3 { #expect(tier[key] == "new \(key)") }
    #expect(tier[4] == nil)
    #expect(cache.statistics.coalescedWrites == 4)
  }

  @Test func removalWaitsAndIsSeen() async throws {
    let tier = FakeTier<Int, String>()
    let cache = make(tier)
    try await cache.set("one", forKey: 1)
    try await cache.checkpoint()
    tier.writeDoor.close()
    try await cache.remove(forKey: 1)
    #expect(tier[1] == "one")
    #expect(try await cache.value(forKey: 1) == nil)
    #expect(try await !cache.contains(1))
    tier.writeDoor.open()
    try await cache.checkpoint()
    #expect(tier[1] == nil)
  }

  @Test func fullQueueMakesWritersWait() async throws {
    let tier = FakeTier<Int, String>()
    let cache = make(tier, limit: 3)
    tier.writeDoor.close()
    for key in 1...3 { try await cache.set("\(key)", forKey: key) }
    // A key that waits already takes no more room.
    try await cache.set("again", forKey: 2)
    let fourth = Task { try await cache.set("4", forKey: 4) }
    await until { tier.writeDoor.waiting == 1 }
    #expect(cache.statistics.pendingWrites == 3)
    tier.writeDoor.open()
    try await fourth.value
    try await cache.checkpoint()
    #expect(tier.count == 4 && tier[2] == "again")
  }

  @Test func closingWritesEverything() async throws {
    let tier = FakeTier<Int, String>()
    let cache = make(tier, limit: 1000)
    for key in 0..<500 { try await cache.set("\(key)", forKey: key) }
    try await cache.close()
    #expect(tier.count == 500)
    #expect(tier.state.withLock { $0.isClosed })
    await #expect(throws: LarderError.self) { try await cache.set("x", forKey: 1) }
  }

  @Test func blockingFormsDoTheSame() throws {
    let tier = FakeTier<Int, String>()
    let cache = make(tier, limit: 10)
    for key in 0..<50 { try cache.set("\(key)", forKey: key) }
    try cache.checkpoint()
    #expect(tier.count == 50)
    try cache.update(forKey: 1) { $0?.append("!") }
    #expect(try cache.value(forKey: 1) == "1!")
    try cache.removeAll()
    #expect(tier.count == 0)
    try cache.set("last", forKey: 1)
    try cache.sync()
    #expect(tier.state.withLock { $0.syncs } == 1)
    #expect(tier[1] == "last")
    try cache.close()
  }

  @Test func cacheThatNobodyRefersToWritesWhatWaits() async throws {
    let tier = FakeTier<Int, String>()
    do {
      let cache = make(tier)
      for key in 0..<50 { try await cache.set("\(key)", forKey: key) }
    }
    await until { tier.count == 50 }
  }

  @Test func failureIsToldAndTheWriteIsKeptAndTriedAgain() async throws {
    let tier = FakeTier<Int, String>()
    let told = Locked<[CacheWriteFailure<Int>]>([])
    let cache = make(tier) {
      $0.onWriteFailure = { failure in told.withLock { $0.append(failure) } }
    }
    tier.fail(.write, times: 2, with: LarderError(.diskFull, "No room."))
    try await cache.set("one", forKey: 1)
    await until { told.withLock { $0.count } == 1 }
    #expect(told.withLock { $0[0].isPending })
    do {
      try await cache.checkpoint()
      Issue.record("No error.")
    } catch let error as LarderError {
      #expect(error.code == .diskFull)
    }
    cache.memoryCache.removeAll()
    #expect(try await cache.value(forKey: 1) == "one")
    #expect(cache.statistics.pendingWrites == 1 && cache.statistics.writeFailures == 2)
    try await cache.checkpoint()
    #expect(tier[1] == "one")
  }

  @Test func callbackMayUseTheCache() async throws {
    let tier = FakeTier<Int, String>()
    let holder = Locked<Cache<Int, String>?>(nil)
    let wasDone = CacheCounter()
    let cache = make(tier) {
      $0.onWriteFailure = { failure in
        guard failure.key == 1, let cache = holder.withLock({ $0 }) else { return }
        try? cache.set("from the callback", forKey: 2)
        try? cache.checkpoint()  // What is still failing is counted below.
        wasDone.add()
      }
    }
    holder.withLock { $0 = cache }
    tier.fail(.write, with: LarderError(.tooLarge, "Too large."))
    try await cache.set("one", forKey: 1)
    await until { wasDone.value == 1 }
    #expect(tier[2] == "from the callback")
    holder.withLock { $0 = nil }
  }

  @Test func closingThatCannotWriteLeavesTheCacheOpen() async throws {
    let tier = FakeTier<Int, String>()
    let cache = make(tier)
    tier.fail(.write, times: 100, with: LarderError(.diskFull, "No room."))
    try await cache.set("one", forKey: 1)
    await #expect(throws: LarderError.self) { try await cache.close() }
    #expect(!tier.state.withLock { $0.isClosed })
    #expect(try await cache.value(forKey: 1) == "one")
    tier.state.withLock { $0.failures = [:] }
    try await cache.set("two", forKey: 2)
    try await cache.close()
    #expect(tier[1] == "one" && tier[2] == "two")
  }

  @Test func fullQueueThatCannotBeEmptiedThrowsAndChangesNothing() async throws {
    let tier = FakeTier<Int, String>()
    let cache = make(tier, limit: 2)
    tier.fail(.write, times: 1000, with: LarderError(.diskFull, "No room."))
    for key in 1...2 { try await cache.set("\(key)", forKey: key) }
    await #expect(throws: LarderError.self) { try await cache.set("3", forKey: 3) }
    #expect(try await cache.value(forKey: 3) == nil)
    // Where there is room already, there still is.
    try await cache.set("1!", forKey: 1)
    #expect(try await cache.value(forKey: 1) == "1!")
    tier.state.withLock { $0.failures = [:] }
    try await cache.set("3", forKey: 3)
    try await cache.checkpoint()
    #expect(tier[1] == "1!" && tier[2] == "2" && tier[3] == "3")
  }

  @Test func writeThatIsHopelessIsDroppedAndWhatTheTierHasIsSeenAgain() async throws {
    let tier = FakeTier<Int, String>()
    let told = Locked<[CacheWriteFailure<Int>]>([])
    let cache = make(tier) {
      $0.onWriteFailure = { failure in told.withLock { $0.append(failure) } }
    }
    try await cache.set("old", forKey: 1)
    try await cache.checkpoint()
    tier.writeDoor.close()
    tier.fail(.write, with: LarderError(.tooLarge, "Too large."))
    try await cache.set("new", forKey: 1)
    try await cache.set("two", forKey: 2)
    tier.writeDoor.open()
    _ = try? await cache.checkpoint()  // Fails if it is the one that comes upon it.
    await until { told.withLock { $0.count } == 1 }
    #expect(told.withLock { $0[0].key == 1 && !$0[0].isPending })
    #expect(try await cache.value(forKey: 1) == "old")
    #expect(tier[2] == "two")
    #expect(cache.statistics.pendingWrites == 0)
  }

  /// Who holds a key may wait for room, and so for whoever makes it.
  @Test func writeThatIsHopelessIsDroppedWhileItsKeyIsHeld() async throws {
    let tier = FakeTier<Int, String>()
    let cache = make(tier, limit: 1)
    tier.writeDoor.close()
    tier.fail(.write, with: LarderError(.tooLarge, "Too large."))
    try await cache.set("one", forKey: 1)
    await until { tier.writeDoor.waiting == 1 }
    let isHeld = CacheCounter()
    async let failure: (any Error)? = withCheckedContinuation { done in
      Thread.detachNewThread {
        let outcome = Result {
          try cache.update(forKey: 1) { value in
            isHeld.add()
            try cache.set("two", forKey: 2)
            value = "new"
          }
        }
        done.resume(returning: outcome.failure)
      }
    }
    await until { isHeld.value == 1 }
    tier.writeDoor.open()
    #expect(await failure == nil)
    try await cache.checkpoint()
    #expect(tier[1] == "new" && tier[2] == "two")
    #expect(try await cache.value(forKey: 1) == "new")
  }

  @Test func lifeOfWhatWaitsGoesOn() async throws {
    let clock = CacheTestClock()
    let tier = FakeTier<Int, String>(clock: clock.clock)
    let cache = make(tier, clock: clock)
    tier.writeDoor.close()
    try await cache.set("door", forKey: 0)
    await until { tier.writeDoor.waiting == 1 }
    try await cache.set("one", forKey: 1, expiration: .seconds(100))
    try await cache.set("two", forKey: 2, expiration: .seconds(30))
    clock.advance(40)
    cache.memoryCache.removeAll()
    #expect(try await cache.value(forKey: 2) == nil)
    #expect(try await cache.value(forKey: 1) == "one")
    tier.writeDoor.open()
    try await cache.checkpoint()
    #expect(tier.state.withLock { $0.stored[2] } == nil)
    clock.advance(59)
    cache.memoryCache.removeAll()
    #expect(try await cache.value(forKey: 1) == "one")
    clock.advance(1)
    #expect(tier[1] == nil)
    #expect(try await cache.value(forKey: 1) == nil)
  }

  @Test func removalOfEverythingTakesWhatWaitsAlong() async throws {
    let tier = FakeTier<Int, String>()
    let cache = make(tier)
    for key in 0..<20 { try await cache.set("\(key)", forKey: key) }
    try await cache.removeAll()
    try await cache.checkpoint()
    #expect(tier.count == 0)
    #expect(cache.statistics.pendingWrites == 0)
    for key in 0..<20 { #expect(try await cache.value(forKey: key) == nil) }
    // One that fails loses nothing of it.
    try await cache.set("kept", forKey: 1)
    tier.fail(.removeAll)
    await #expect(throws: CacheTestFailure()) { try await cache.removeAll() }
    #expect(try await cache.value(forKey: 1) == "kept")
  }

  /// What the disk's own expiration is, from the write on, however long the write waits.
  @Test func lifeBeginsWithTheWrite() async throws {
    let folder = try TemporaryDirectory()
    let clock = CacheTestClock()
    var configuration = CacheConfiguration<Int, String>()
    configuration.writePolicy = .writeBack()
    configuration.expiration = .after(.seconds(60))
    configuration.clock = clock.clock
    configuration.disk.clock = clock.clock
    let cache = try Cache(at: .path(folder.file("cache").path), configuration: configuration)
    try await cache.suspend()
    try await cache.set("v", forKey: 1)
    clock.advance(59)
    cache.memoryCache.removeAll()
    #expect(try await cache.value(forKey: 1) == "v")
    clock.advance(1.001)
    #expect(try await cache.value(forKey: 1) == nil)
    #expect(try await !cache.contains(1))
    try await cache.resume()
    try await cache.checkpoint()
    let disk = try #require(cache.diskCache)
    #expect(try await disk.value(forKey: 1) == nil)
    // One that came late ends at the same moment, and a change holds for it, too.
    try await cache.suspend()
    try await cache.set("w", forKey: 2)
    clock.advance(40)
    try await cache.resume()
    try await cache.checkpoint()
    clock.advance(19)
    #expect(try await disk.value(forKey: 2) == "w")
    clock.advance(1.001)
    #expect(try await disk.value(forKey: 2) == nil)
    disk.expiration = .after(.seconds(100))
    #expect(try await disk.value(forKey: 2) == "w")
    clock.advance(40)
    #expect(try await disk.value(forKey: 2) == nil)
    try await cache.close()
  }
}

extension Result {
  fileprivate var failure: Failure? {
    guard case .failure(let failure) = self else { return nil }
    return failure
  }
}
