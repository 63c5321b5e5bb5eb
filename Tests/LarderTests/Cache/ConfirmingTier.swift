// SPDX-License-Identifier: MIT

import Foundation
import LarderTestSupport

@testable import Larder

/// A tier that others write to, that tells of it as long as it is asked to, and that can confirm
/// copies.
final class ConfirmingTier: CacheTier {
  struct State: Sendable {
    var confirmations = 0
    var refutations = 0
    /// Calls fail, as without a connection.
    var isGone = false
  }

  let fake: FakeTier<String, Int>
  let copyLifetime: Duration?
  let confirmsCopies: Bool
  let state = Locked(State())
  /// Passed when a write or a confirmation has been made.
  let lateWriteDoor = CacheDoor(isOpen: true)
  let lateConfirmDoor = CacheDoor(isOpen: true)
  /// Passed before everything is removed.
  let removalDoor = CacheDoor(isOpen: true)
  private let stream: AsyncStream<CacheInvalidation<String>>
  private let continuation: AsyncStream<CacheInvalidation<String>>.Continuation

  /// - Parameter fake: What the server has.
  init(
    _ fake: FakeTier<String, Int>, copyLifetime: Duration? = nil, confirmsCopies: Bool = true
  ) {
    self.fake = fake
    self.copyLifetime = copyLifetime
    self.confirmsCopies = confirmsCopies
    (stream, continuation) = AsyncStream.makeStream()
  }

  var name: String { fake.name }
  var confirmations: Int { state.withLock { $0.confirmations } }
  var refutations: Int { state.withLock { $0.refutations } }

  func invalidations() -> AsyncStream<CacheInvalidation<String>>? { stream }
  func tell(_ invalidation: CacheInvalidation<String>) { continuation.yield(invalidation) }
  func setGone(_ isGone: Bool) { state.withLock { $0.isGone = isGone } }

  /// Another machine writes, and nobody tells.
  func change(_ key: String, _ value: Int?) throws {
    guard let value else { return try fake.removeNow(key) }
    var entry = CacheTierEntry(value: value)
    entry.version = CacheTierVersion()
    try fake.writeNow(entry, key)
  }

  private func checkThere() throws {
    if state.withLock({ $0.isGone }) { throw CacheTestFailure() }
  }

  func entry(forKey key: String) async throws -> CacheTierEntry<Int>? {
    try checkThere()
    let asked = fake.clock.date
    var entry = try await fake.entry(forKey: key)
    entry?.writtenAt = asked
    return entry
  }

  func set(_ entry: CacheTierEntry<Int>, forKey key: String) async throws {
    try checkThere()
    var entry = entry
    entry.version = entry.version ?? CacheTierVersion()
    try await fake.set(entry, forKey: key)
    await lateWriteDoor.pass()
  }

  func remove(forKey key: String) async throws {
    try checkThere()
    try await fake.remove(forKey: key)
  }

  func removeAll(progress: CacheProgress?) async throws {
    await removalDoor.pass()
    try checkThere()
    try fake.removeAllNow(progress)
  }

  func contains(_ key: String) async throws -> Bool {
    try checkThere()
    return try fake.containsNow(key)
  }

  func confirm(_ version: CacheTierVersion, forKey key: String) async throws -> Expiration? {
    try checkThere()
    let entry = fake.live(key)
    let isSame = entry?.version == version
    state.withLock { state in
      if isSame { state.confirmations += 1 } else { state.refutations += 1 }
    }
    await lateConfirmDoor.pass()
    return isSame ? entry?.expiration : nil
  }
}
