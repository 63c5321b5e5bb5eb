// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport

@testable import Larder

/// A clock that stands still until it is moved.
final class CacheTestClock: Sendable {
  let sleepers = Sleepers()
  private let milliseconds = Locked(Int64(0))
  private static let start = Date(timeIntervalSince1970: 1_800_000_000)

  var date: Date { Self.start + Double(milliseconds.withLock { $0 }) / 1000 }

  func advance(_ seconds: Double) {
    let step = Int64((seconds * 1000).rounded())
    milliseconds.withLock { $0 += step }
    sleepers.move(by: .milliseconds(step))
  }

  var clock: CacheClock {
    CacheClock(
      now: { .milliseconds(self.milliseconds.withLock { $0 }) }, date: { self.date },
      sleep: { [sleepers] in try await sleepers.sleep($0) })
  }
}

/// What a test's tier or load throws.
struct CacheTestFailure: Error, Equatable {
  var number = 0
}

/// Lets others through when it is told to.
final class CacheDoor: Sendable {
  private let state = Locked<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>])>(
    (false, []))

  init(isOpen: Bool = false) { state.withLock { $0.isOpen = isOpen } }

  var waiting: Int { state.withLock { $0.waiting.count } }

  func close() { state.withLock { $0.isOpen = false } }

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  func pass() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }
}

/// Makes a cache over fake tiers with some settings changed.
func makeTieredCache<Key: Hashable & Sendable, Value: Sendable & Equatable>(
  _ tiers: FakeTier<Key, Value>..., local: Bool = false, clock: CacheTestClock? = nil,
  _ change: (inout CacheConfiguration<Key, Value>) -> Void = { _ in }
) -> Cache<Key, Value> {
  var configuration = CacheConfiguration<Key, Value>()
  configuration.memory.policy = .lru
  // Tests trim by hand, unless that is what they are about.
  configuration.memory.autoTrimInterval = .zero
  configuration.memory.releasesAsynchronously = false
  if let clock { configuration.clock = clock.clock }
  change(&configuration)
  let made = tiers.map { tier -> any CacheTier<Key, Value> in
    if local { return LocalTier(fake: tier) }
    return tier
  }
  return Cache(name: "test", tiers: made, configuration: configuration)
}

/// A cache in memory and on disk whose time is a test's.
func makeCacheOnDisk(
  in folder: TemporaryDirectory, clock: CacheTestClock,
  _ change: (inout CacheConfiguration<Int, String>) -> Void
) throws -> Cache<Int, String> {
  var configuration = CacheConfiguration<Int, String>()
  configuration.clock = clock.clock
  configuration.memory.autoTrimInterval = .zero
  configuration.disk.autoTrimInterval = .zero
  change(&configuration)
  return try Cache(at: .path(folder.file("cache").path), configuration: configuration)
}

/// A number that threads share.
final class CacheCounter: Sendable {
  private let number = Locked(0)

  var value: Int { number.withLock { $0 } }

  @discardableResult
  func add(_ amount: Int = 1) -> Int {
    number.withLock {
      $0 += amount
      return $0
    }
  }
}
