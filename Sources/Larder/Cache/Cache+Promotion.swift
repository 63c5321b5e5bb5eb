// SPDX-License-Identifier: MIT

import LarderCore
import Synchronization

// What was found further down is copied up: see CacheWriters for why that undoes nothing.
extension Cache {
  @usableFromInline typealias Writers = CacheWriters<Key>

  /// Copies to memory what a tier has, unless the key was written meanwhile.
  @usableFromInline
  func keep(_ entry: Entry, _ key: Key, _ token: Writers.Token) {
    let isKept = memoryCache.insert(
      entry.value, forKey: key, cost: entry.cost,
      expiration: memoryCache.expiration(of: entry.value, key).capped(trusted(entry).expiration),
      company: company(of: entry)
    ) { writers.isGood(token) }
    if isKept { counters.promotions.add(1, ordering: .relaxed) }
  }

  func keep(pending write: WriteBackQueue<Key, Value>.Write, _ token: Writers.Token)
    -> Entry?
  {
    guard let entry = write.entry(at: clock.date, diskCache?.expiration) else { return nil }
    counters.pendingHits.add(1, ordering: .relaxed)
    keep(entry, write.key, token)
    return entry
  }

  /// Tells of a failure that nobody waits for.
  func report(_ key: Key, _ error: any Error, isPending: Bool = false) {
    counters.writeFailures.add(1, ordering: .relaxed)
    onWriteFailure?(CacheWriteFailure(key: key, error: error, isPending: isPending))
  }

  /// As it is written to a tier above: what never expires does as that tier has it.
  private func promoted(_ entry: Entry, to slot: CacheTierSlot<Key, Value>) -> Entry {
    var entry = slot.confirmation == nil ? trusted(entry) : entry
    if entry.expiration == .never { entry.expiration = nil }
    // Its own time of writing is that of the copy.
    entry.refreshAfter = entry.refreshAfter ?? memoryCache.refreshTime
    return entry
  }

  /// Copies what a tier has to those above.
  @usableFromInline
  func promote(_ entry: Entry, _ key: Key, above depth: Int, _ token: Writers.Token) {
    var failures: [any Error] = []
    // Behind the locks: the callback may use the cache.
    defer { for error in failures { report(key, error) } }
    let turn = writers.begin(key, counts: false)
    defer { writers.end(key, turn, counts: false) }
    gate.lock()
    defer { gate.unlock() }
    for slot in slots[..<depth].reversed() where writers.isGood(token) {
      do {
        try slot.promote(promoted(entry, to: slot), forKey: key)
      } catch {
        failures.append(error)
      }
    }
  }

  func promote(
    _ entry: Entry, _ key: Key, above depth: Int, _ token: Writers.Token
  ) async {
    var failures: [any Error] = []
    defer { for error in failures { report(key, error) } }
    let turn = await writers.begin(key, counts: false)
    defer { writers.end(key, turn, counts: false) }
    await gate.lock()
    defer { gate.unlock() }
    for slot in slots[..<depth].reversed() where writers.isGood(token) {
      do {
        try await slot.promote(promoted(entry, to: slot), forKey: key)
      } catch {
        failures.append(error)
      }
    }
  }
}

extension Expiration {
  /// What a copy lives that would live like this, and no longer than the original.
  ///
  /// - Returns: nil if the original has no end.
  func capped(_ original: Expiration?) -> Expiration? {
    guard let original, original != .never else { return nil }
    return Expiration(
      afterWrite: Self.least(afterWrite, original.afterWrite),
      afterAccess: Self.least(afterAccess, original.afterAccess),
      date: Self.least(date, original.date), spread: spread)
  }

  private static func least<T: Comparable>(_ a: T?, _ b: T?) -> T? {
    guard let a, let b else { return a ?? b }
    return min(a, b)
  }
}
