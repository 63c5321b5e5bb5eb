// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport

@testable import Larder

/// What a ``FakeTier`` was asked for.
enum TierDeed: Hashable, Sendable {
  case read, write, remove, removeAll, contains, sync
}

/// A tier in memory that fails, waits and remembers as a test wants it. Only suspends.
final class FakeTier<Key: Hashable & Sendable, Value: Sendable & Equatable>: CacheTier {
  struct Stored: Sendable {
    var entry: CacheTierEntry<Value>
    let written: Date
  }

  struct State: Sendable {
    var stored: [Key: Stored] = [:]
    var failures: [TierDeed: [any Error]] = [:]
    /// A write that fails loses what it was to replace.
    var losesOnFailure = false
    var deeds: [(deed: TierDeed, key: Key?)] = []
    var isClosed = false
    var syncs = 0
    /// nil for a resumption.
    var suspensions: [SuspendedCalls?] = []
  }

  let name: String
  let state = Locked(State())
  let clock: CacheClock
  /// Passed before a read looks, and behind it; before a write begins.
  let readDoor = CacheDoor(isOpen: true)
  let lateReadDoor = CacheDoor(isOpen: true)
  let writeDoor = CacheDoor(isOpen: true)

  init(_ name: String = "fake", clock: CacheClock = .system) {
    self.name = name
    self.clock = clock
  }

  // What tests look at.

  subscript(key: Key) -> Value? { live(key)?.value }
  var count: Int { state.withLock { $0.stored.count } }
  var keysWritten: [Key] {
    state.withLock { $0.deeds.filter { $0.deed == .write }.compactMap(\.key) }
  }
  var suspensions: [SuspendedCalls?] { state.withLock { $0.suspensions } }
  func count(_ deed: TierDeed) -> Int { state.withLock { $0.deeds.count { $0.deed == deed } } }
  func live(_ key: Key) -> CacheTierEntry<Value>? {
    state.withLock { read($0, key) }
  }

  /// Lets the next calls of a kind fail.
  func fail(_ deed: TierDeed, times: Int = 1, with error: any Error = CacheTestFailure()) {
    state.withLock { $0.failures[deed] = Array(repeating: error, count: times) }
  }

  private func read(_ state: State, _ key: Key) -> CacheTierEntry<Value>? {
    guard let stored = state.stored[key] else { return nil }
    var entry = stored.entry
    guard let expiration = entry.expiration, expiration != .never else {
      entry.expiration = .never
      return entry
    }
    let now = clock.date
    if expiration.isExpired(writtenAt: stored.written, now: now) { return nil }
    let age = Duration.seconds(now.timeIntervalSince(stored.written))
    entry.expiration = Expiration(
      afterWrite: expiration.afterWrite.map { $0 - age }, afterAccess: expiration.afterAccess,
      date: expiration.date)
    return entry
  }

  private static func begin(_ state: inout State, _ deed: TierDeed, _ key: Key?) throws {
    if state.isClosed { throw LarderError(.closed, "The fake tier is closed.") }
    state.deeds.append((deed, key))
    guard let failure = state.failures[deed]?.popLast() else { return }
    if state.losesOnFailure, let key { state.stored[key] = nil }
    throw failure
  }

  // What a blocking one has in common with it.

  func readNow(_ key: Key) throws -> CacheTierEntry<Value>? {
    try state.withLock {
      try Self.begin(&$0, .read, key)
      return read($0, key)
    }
  }

  func writeNow(_ entry: CacheTierEntry<Value>, _ key: Key) throws {
    try state.withLock {
      try Self.begin(&$0, .write, key)
      $0.stored[key] = Stored(entry: entry, written: clock.date)
    }
  }

  func removeNow(_ key: Key) throws {
    try state.withLock {
      try Self.begin(&$0, .remove, key)
      $0.stored[key] = nil
    }
  }

  func removeAllNow(_ progress: CacheProgress?) throws {
    let count = UInt64(count)
    let goesOn = progress?(count, count) ?? true
    try state.withLock {
      try Self.begin(&$0, .removeAll, nil)
      $0.stored = [:]
    }
    if !goesOn { throw CancellationError() }
  }

  func containsNow(_ key: Key) throws -> Bool {
    try state.withLock {
      try Self.begin(&$0, .contains, key)
      return read($0, key) != nil
    }
  }

  func syncNow() throws {
    try state.withLock {
      try Self.begin(&$0, .sync, nil)
      $0.syncs += 1
    }
  }

  func removeNow(prefix: Key) throws -> Int {
    guard let prefix = prefix as? String else {
      throw LarderError(.invalidArgument, "Not text.")
    }
    return try state.withLock { state in
      try Self.begin(&state, .removeAll, nil)
      let keys = state.stored.keys.filter { ($0 as? String)?.hasPrefix(prefix) ?? false }
      for key in keys { state.stored[key] = nil }
      return keys.count
    }
  }

  // CacheTier.

  func entry(forKey key: Key) async throws -> CacheTierEntry<Value>? {
    await readDoor.pass()
    let entry = try readNow(key)
    await lateReadDoor.pass()
    return entry
  }

  func set(_ entry: CacheTierEntry<Value>, forKey key: Key) async throws {
    await writeDoor.pass()
    try writeNow(entry, key)
  }

  func remove(forKey key: Key) async throws {
    await writeDoor.pass()
    try removeNow(key)
  }

  func removeAll(progress: CacheProgress?) async throws { try removeAllNow(progress) }
  func contains(_ key: Key) async throws -> Bool { try containsNow(key) }
  func remove(prefix: Key) async throws -> Int { try removeNow(prefix: prefix) }
  func sync() async throws { try syncNow() }
  func suspend(calls: SuspendedCalls) async throws {
    state.withLock { $0.suspensions.append(calls) }
  }
  func resume() async throws { state.withLock { $0.suspensions.append(nil) } }
  func close() async throws { state.withLock { $0.isClosed = true } }
}

/// The same for calls that block.
struct LocalTier<Key: Hashable & Sendable, Value: Sendable & Equatable>: BlockingCacheTier {
  let fake: FakeTier<Key, Value>
  var name: String { fake.name }

  func blockingEntry(forKey key: Key) throws -> CacheTierEntry<Value>? { try fake.readNow(key) }
  func blockingSet(
    _ entry: CacheTierEntry<Value>, forKey key: Key, durability: Durability?
  ) throws {
    try fake.writeNow(entry, key)
    if durability == .power { try fake.syncNow() }
  }
  func blockingRemove(forKey key: Key, durability: Durability?) throws {
    try fake.removeNow(key)
    if durability == .power { try fake.syncNow() }
  }
  func blockingRemoveAll(progress: CacheProgress?) throws { try fake.removeAllNow(progress) }
  func blockingContains(_ key: Key) throws -> Bool { try fake.containsNow(key) }
  func blockingRemove(prefix: Key) throws -> Int { try fake.removeNow(prefix: prefix) }

  func entry(forKey key: Key) async throws -> CacheTierEntry<Value>? {
    try await fake.entry(forKey: key)
  }
  func set(_ entry: CacheTierEntry<Value>, forKey key: Key) async throws {
    try await fake.set(entry, forKey: key)
  }
  func remove(forKey key: Key) async throws { try await fake.remove(forKey: key) }
  func removeAll(progress: CacheProgress?) async throws {
    try await fake.removeAll(progress: progress)
  }
  func contains(_ key: Key) async throws -> Bool { try await fake.contains(key) }
  func remove(prefix: Key) async throws -> Int { try await fake.remove(prefix: prefix) }
  func sync() async throws { try await fake.sync() }
  func close() async throws { try await fake.close() }
}
