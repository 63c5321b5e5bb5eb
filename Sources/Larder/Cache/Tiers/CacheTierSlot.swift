// SPDX-License-Identifier: MIT

import Foundation
public import Synchronization

/// A tier that can be called without suspending: a local one.
protocol BlockingCacheTier<Key, Value>: CacheTier {
  func blockingEntry(forKey key: Key) throws -> CacheTierEntry<Value>?
  func blockingSet(
    _ entry: CacheTierEntry<Value>, forKey key: Key, durability: Durability?) throws
  func blockingRemove(forKey key: Key, durability: Durability?) throws
  func blockingRemoveAll(progress: CacheProgress?) throws
  func blockingContains(_ key: Key) throws -> Bool
  func blockingRemove(prefix: Key) throws -> Int
}

/// A tier in its place: counts what is asked of it, and blocks where it cannot.
@usableFromInline
final class CacheTierSlot<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  @usableFromInline typealias Entry = CacheTierEntry<Value>

  let tier: any CacheTier<Key, Value>
  /// The same, if it need not suspend.
  private let local: (any BlockingCacheTier<Key, Value>)?

  /// Whether it may have a call wait for others.
  var mayWait: Bool { local == nil }

  /// The same, if it is a disk: calls to it are specialised for its keys and values.
  @usableFromInline let disk: DiskCache<Key, Value>?
  /// Which copies on the disk are to be confirmed; nil: none.
  @usableFromInline let confirmation: CacheConfirmation?

  /// What it has is of an earlier process and not to be found; until everything was removed.
  @usableFromInline let isOutdated = Atomic(false)

  @usableFromInline let hits = Atomic<UInt64>(0)
  @usableFromInline let misses = Atomic<UInt64>(0)
  @usableFromInline let writes = Atomic<UInt64>(0)
  @usableFromInline let removals = Atomic<UInt64>(0)
  private let promotions = Atomic<UInt64>(0)
  @usableFromInline let failures = Atomic<UInt64>(0)

  init(_ tier: any CacheTier<Key, Value>, _ confirmation: CacheConfirmation?) {
    self.tier = tier
    local = tier as? any BlockingCacheTier<Key, Value>
    disk = tier as? DiskCache<Key, Value>
    self.confirmation = disk == nil ? nil : confirmation
  }

  var statistics: CacheTierStatistics {
    var statistics = CacheTierStatistics()
    statistics.name = tier.name
    statistics.hits = hits.load(ordering: .relaxed)
    statistics.misses = misses.load(ordering: .relaxed)
    statistics.writes = writes.load(ordering: .relaxed)
    statistics.removals = removals.load(ordering: .relaxed)
    statistics.promotions = promotions.load(ordering: .relaxed)
    statistics.failures = failures.load(ordering: .relaxed)
    return statistics
  }

  func resetStatistics() {
    hits.store(0, ordering: .relaxed)
    misses.store(0, ordering: .relaxed)
    writes.store(0, ordering: .relaxed)
    removals.store(0, ordering: .relaxed)
    promotions.store(0, ordering: .relaxed)
    failures.store(0, ordering: .relaxed)
  }

  // MARK: - Blocking

  @inlinable
  func entry(forKey key: Key) throws -> Entry? {
    guard let disk else { return try entryOfOther(key) }
    do {
      let entry =
        isOutdated.load(ordering: .acquiring)
        ? nil : try disk.tierEntry(forKey: key, confirmation: confirmation)
      // What is to be confirmed is counted then.
      if entry?.isUnconfirmed == true { return entry }
      if entry == nil { misses.add(1, ordering: .relaxed) } else { hits.add(1, ordering: .relaxed) }
      return entry
    } catch {
      failures.add(1, ordering: .relaxed)
      throw error
    }
  }

  @usableFromInline
  func entryOfOther(_ key: Key) throws -> Entry? {
    try counting(
      found: Result {
        if isOutdated.load(ordering: .acquiring) { return nil }
        if let local { return try local.blockingEntry(forKey: key) }
        return try blocking { [tier] in try await tier.entry(forKey: key) }
      })
  }

  /// What there is on a disk although it has expired, within the time that it is kept.
  func expiredEntry(forKey key: Key) -> Entry? {
    guard let disk, !isOutdated.load(ordering: .acquiring) else { return nil }
    // One that cannot be read is none.
    return try? disk.expiredEntry(forKey: key, confirmation)
  }

  @inlinable
  func set(_ entry: Entry, forKey key: Key, durability: Durability?) throws {
    do {
      if let disk {
        if let terms = try disk.tierTerms(entry, key, durability) {
          _ = try disk.put(entry.value, key, entry.extendedData, terms, entry.indexes)
        }
      } else {
        try setOther(entry, key, durability)
      }
    } catch {
      failures.add(1, ordering: .relaxed)
      throw error
    }
    writes.add(1, ordering: .relaxed)
  }

  @usableFromInline
  func setOther(_ entry: Entry, _ key: Key, _ durability: Durability?) throws {
    if let local {
      return try local.blockingSet(entry, forKey: key, durability: durability)
    }
    try blocking { [tier] in
      try await tier.set(entry, forKey: key, durability: durability)
    }
  }

  /// Throws what a disk refuses in any case.
  func checkFits(_ entry: Entry, _ key: Key) throws {
    do { try disk?.checkFits(key, entry.extendedData) } catch {
      failures.add(1, ordering: .relaxed)
      throw error
    }
  }

  func promote(_ entry: Entry, forKey key: Key) throws {
    try set(entry, forKey: key, durability: nil)
    promotions.add(1, ordering: .relaxed)
  }

  @inlinable
  func remove(forKey key: Key, durability: Durability?) throws {
    do {
      if let disk {
        try disk.blockingRemove(forKey: key, durability: durability)
      } else {
        try removeOther(key, durability)
      }
    } catch {
      failures.add(1, ordering: .relaxed)
      throw error
    }
    removals.add(1, ordering: .relaxed)
  }

  @usableFromInline
  func removeOther(_ key: Key, _ durability: Durability?) throws {
    if let local { return try local.blockingRemove(forKey: key, durability: durability) }
    try blocking { [tier] in try await tier.remove(forKey: key, durability: durability) }
  }

  func removeAll(progress: CacheProgress?) throws {
    try counting(
      .removal,
      Result {
        if let local { return try local.blockingRemoveAll(progress: progress) }
        try blocking { [tier] in try await tier.removeAll(progress: progress) }
      })
    isOutdated.store(false, ordering: .releasing)
  }

  func remove(prefix: Key) throws -> Int {
    try counting(
      .removal,
      Result {
        if let local { return try local.blockingRemove(prefix: prefix) }
        return try blocking { [tier] in try await tier.remove(prefix: prefix) }
      })
  }

  func contains(_ key: Key) throws -> Bool {
    try counting(
      .nothing,
      Result {
        if isOutdated.load(ordering: .acquiring) { return false }
        if let disk, let confirmation { return try disk.contains(key, confirmation, []) }
        if let local { return try local.blockingContains(key) }
        return try blocking { [tier] in try await tier.contains(key) }
      })
  }

  // MARK: - Suspending

  func entry(forKey key: Key) async throws -> Entry? {
    try counting(
      found: await result {
        if isOutdated.load(ordering: .acquiring) { return nil }
        guard let disk else { return try await tier.entry(forKey: key) }
        return try await disk.executor.inPlace { [confirmation] in
          try disk.tierEntry(forKey: key, $0, confirmation: confirmation)
        }
      })
  }

  func set(_ entry: Entry, forKey key: Key, durability: Durability?) async throws {
    try counting(
      .write,
      await result { try await tier.set(entry, forKey: key, durability: durability) })
  }

  func promote(_ entry: Entry, forKey key: Key) async throws {
    try await set(entry, forKey: key, durability: nil)
    promotions.add(1, ordering: .relaxed)
  }

  func remove(forKey key: Key, durability: Durability?) async throws {
    try counting(
      .removal, await result { try await tier.remove(forKey: key, durability: durability) })
  }

  /// Removes what there is under each of some keys.
  func remove(forKeys keys: [Key], _ report: (Key, any Error) -> Void) async {
    var results: [Result<Void, any Error>] = []
    if let disk, keys.count > 1 {
      // One change of threads for all.
      let all = await result {
        try await disk.executor.run { keys.map { key in Result { try disk.remove(key, nil) } } }
      }
      switch all {
      case .success(let each): results = each
      case .failure(let error): results = keys.map { _ in .failure(error) }
      }
    } else {
      for key in keys { results.append(await result { try await tier.remove(forKey: key) }) }
    }
    for (key, result) in zip(keys, results) {
      do { try counting(.removal, result) } catch { report(key, error) }
    }
  }

  func removeAll(progress: CacheProgress?) async throws {
    try counting(.removal, await result { try await tier.removeAll(progress: progress) })
    isOutdated.store(false, ordering: .releasing)
  }

  func remove(prefix: Key) async throws -> Int {
    try counting(.removal, await result { try await tier.remove(prefix: prefix) })
  }

  func contains(_ key: Key) async throws -> Bool {
    try counting(
      .nothing,
      await result {
        if isOutdated.load(ordering: .acquiring) { return false }
        guard let disk, let confirmation else { return try await tier.contains(key) }
        return try await disk.executor.inPlace { try disk.contains(key, confirmation, $0) }
      })
  }

  /// Asks whether an entry still has that version.
  ///
  /// - Returns: What is left of its life; nil if there is another one, or none.
  func confirm(_ version: CacheTierVersion, forKey key: Key) async throws -> Expiration? {
    try counting(
      .nothing, await result { try await tier.confirm(version, forKey: key) })
  }

  /// Copies that are there count as unconfirmed, if that can be.
  func distrustCopies() -> Bool {
    guard let disk, let confirmation else { return false }
    confirmation.distrust(disk.store)
    return true
  }

  func sync() async throws {
    try counting(.nothing, await result { try await tier.sync() })
  }

  func close() async throws {
    try counting(.nothing, await result { try await tier.close() })
  }

  // MARK: - Counting

  private enum Deed {
    case write, removal, nothing
  }

  private func result<R>(_ body: () async throws -> R) async -> Result<R, any Error> {
    do { return .success(try await body()) } catch { return .failure(error) }
  }

  private func counting(found: Result<Entry?, any Error>) throws -> Entry? {
    switch found {
    case .success(nil): misses.add(1, ordering: .relaxed)
    case .success(let entry?) where entry.isUnconfirmed: break
    case .success: hits.add(1, ordering: .relaxed)
    case .failure(let error): countFailure(error)
    }
    return try found.get()
  }

  /// Whoever cancels a call knows.
  func countFailure(_ error: any Error) {
    if error is CancellationError { return }
    failures.add(1, ordering: .relaxed)
  }

  private func counting<R>(_ deed: Deed, _ result: Result<R, any Error>) throws -> R {
    if case .failure(let error) = result {
      countFailure(error)
      throw error
    }
    switch deed {
    case .write: writes.add(1, ordering: .relaxed)
    case .removal: removals.add(1, ordering: .relaxed)
    case .nothing: break
    }
    return try result.get()
  }
}
