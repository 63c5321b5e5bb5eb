// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import LarderTestSupport

/// A clock that stands still until it is moved.
final class ManualClock: Sendable {
  let sleepers = Sleepers()
  private let milliseconds = Locked(Int64(0))
  private static let start = Date(timeIntervalSince1970: 1_800_000_000)

  var now: Duration { .milliseconds(milliseconds.withLock { $0 }) }
  var date: Date { Self.start + Double(milliseconds.withLock { $0 }) / 1000 }

  func advance(_ seconds: Double) {
    let step = Int64((seconds * 1000).rounded())
    milliseconds.withLock { $0 += step }
    sleepers.move(by: .milliseconds(step))
  }

  var clock: CacheClock {
    CacheClock(
      now: { self.now }, date: { self.date }, sleep: { [sleepers] in try await sleepers.sleep($0) })
  }
}

/// A number that threads share.
final class Counter: Sendable {
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

/// Counts how many of it there are, and runs a closure at its end.
final class Tracked: Sendable {
  let id: Int
  private let alive: Counter
  private let atEnd: (@Sendable () -> Void)?

  init(_ id: Int, _ alive: Counter, atEnd: (@Sendable () -> Void)? = nil) {
    self.id = id
    self.alive = alive
    self.atEnd = atEnd
    alive.add()
  }

  deinit {
    atEnd?()
    alive.add(-1)
  }
}

/// Keeps what it hears.
final class Ear<Key: Sendable, Value: Sendable>: Sendable {
  private let heard = Locked<[Removal<Key, Value>]>([])

  var all: [Removal<Key, Value>] { heard.withLock { $0 } }
  var keys: [Key] { all.map(\.key) }
  var causes: [RemovalCause] { all.map(\.cause) }

  func hear(_ removal: Removal<Key, Value>) { heard.withLock { $0.append(removal) } }
}

/// Keys and causes of removals, for comparing.
struct Gone<Key: Hashable>: Hashable {
  let key: Key
  let cause: RemovalCause

  init(_ key: Key, _ cause: RemovalCause) {
    self.key = key
    self.cause = cause
  }
}

extension Ear where Key: Hashable {
  var gone: [Gone<Key>] { all.map { Gone($0.key, $0.cause) } }
}

/// Makes a cache from numbers to text with some settings changed.
func makeCache(
  policy: EvictionPolicy = .lru,
  _ change: (inout MemoryCacheConfiguration<Int, String>) -> Void = { _ in }
) -> MemoryCache<Int, String> {
  makeCache(Int.self, String.self, policy: policy, change)
}

/// Makes a cache with some settings changed.
func makeCache<Key: Hashable & Sendable, Value: Sendable>(
  _ key: Key.Type, _ value: Value.Type, policy: EvictionPolicy = .lru,
  _ change: (inout MemoryCacheConfiguration<Key, Value>) -> Void = { _ in }
) -> MemoryCache<Key, Value> {
  var configuration = MemoryCacheConfiguration<Key, Value>()
  configuration.policy = policy
  // Tests trim by hand, unless that is what they are about.
  configuration.autoTrimInterval = .zero
  change(&configuration)
  return MemoryCache(configuration)
}

extension MemoryCache where Value == String, Key == Int {
  /// Stores values that are called like their keys.
  func fill(_ keys: some Sequence<Int>, cost: Int? = nil, expiration: Expiration? = nil) {
    for key in keys { set("\(key)", forKey: key, cost: cost, expiration: expiration) }
  }
}

/// Runs a closure on threads of its own, all at once, and waits for them.
func onThreads(
  _ count: Int, stackBytes: Int = 1 << 20, _ body: @escaping @Sendable (Int) -> Void
) {
  let done = DispatchSemaphore(value: 0)
  for number in 0..<count {
    let thread = Thread {
      body(number)
      done.signal()
    }
    thread.stackSize = stackBytes
    thread.start()
  }
  for _ in 0..<count { done.wait() }
}

struct Failure: Error, Equatable {
  var number = 0
}

/// Lets loads through when it is told to.
final class Door: Sendable {
  private let state = Locked<(isOpen: Bool, waiting: [CheckedContinuation<Void, Never>])>(
    (false, []))

  var waiting: Int { state.withLock { $0.waiting.count } }

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
