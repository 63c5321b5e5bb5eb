// SPDX-License-Identifier: MIT

import Foundation
import LarderCore
import Synchronization

/// Writes that wait for the tiers, one a key, in the order in which their keys came.
///
/// A key that is written again keeps its place, or one that is written all the time would
/// never be written at all. What waits is removed only when every tier has it: until then
/// it is what reads find, so nobody sees a tier that is behind.
///
/// Filled by whoever holds a key's lock; emptied by whoever holds the cache's drain lock.
@usableFromInline
final class WriteBackQueue<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  typealias Entry = CacheTierEntry<Value>

  /// An entry to write, or a removal.
  struct Write: Sendable {
    let key: Key
    let entry: Entry?
    /// When it came.
    let date: Date
    /// Grows with every write that comes.
    let version: UInt64
    /// The version of the first write of the key that no tier has.
    let since: UInt64

    /// The entry as it is to be read: its life ends when it would have ended had it been
    /// written at once.
    ///
    /// - Parameters:
    ///   - standard: The expiration of one that has none of its own; nil: who knows.
    ///   - grace: How long an entry is wanted after its end.
    /// - Returns: nil for a removal, and for one that ended before that.
    func entry(
      at now: Date, _ standard: Expiration?, keptFor grace: Duration = .zero
    ) -> Entry? {
      guard var entry else { return nil }
      entry.age = .seconds(max(0, now.timeIntervalSince(date)))
      guard let expiration = entry.expiration ?? standard, expiration != .never else {
        return entry
      }
      let end = expiration.expirationDate(from: date)
      // A clock that was set back makes nothing younger than it is.
      let isOver = end.map { max(now, date) >= $0 } ?? false
      if let end, isOver, max(now, date) >= end + grace.inSeconds { return nil }
      let fixed = Expiration(afterWrite: expiration.afterWrite, date: expiration.date)
      entry.expiration =
        isOver
        ? Expiration(date: end)
        : Expiration(afterAccess: expiration.afterAccess, date: fixed.expirationDate(from: date))
      return entry
    }

    /// The entry as it is to be written: one without an expiration of its own keeps to the tiers',
    /// also when that changes.
    func tierEntry(
      at now: Date, _ standard: Expiration?, keptFor grace: Duration = .zero
    ) -> Entry? {
      guard let kept = self.entry(at: now, standard, keptFor: grace) else { return nil }
      // A spread is drawn for good, and from when it is drawn.
      guard var entry, entry.expiration == nil, standard?.spread ?? 0 == 0 else { return kept }
      entry.writtenAt = date
      return entry
    }
  }

  private struct State {
    var writes: [Key: Write] = [:]
    /// Keys by ``Write/since``; those before `start` are done with, and those without a
    /// write too.
    var order: [(key: Key, since: UInt64)] = []
    var start = 0
    var version: UInt64 = 0
    var isDraining = false
    var isClosed = false

    /// Where the first write is; drops what is done with.
    mutating func first() -> Write? {
      while start < order.count {
        let (key, since) = order[start]
        if let write = writes[key], write.since == since { return write }
        start += 1
      }
      order.removeAll(keepingCapacity: true)
      start = 0
      return nil
    }
  }

  private let state = Mutex(State())
  let limit: Int
  let coalesced = Atomic<UInt64>(0)
  /// Looked at before the lock: most reads find that nothing waits.
  private let waiting = Atomic<Int>(0)

  init(limit: Int) { self.limit = limit }

  var count: Int { waiting.load(ordering: .acquiring) }
  var lastVersion: UInt64 { state.withLock { $0.version } }

  /// Adds a write.
  ///
  /// - Returns: Whether somebody has to begin to drain; nil if it was too late to add it.
  func add(_ entry: Entry?, _ key: Key, at date: Date) -> Bool? {
    let (isCoalesced, begins) = state.withLock { state -> (Bool, Bool?) in
      if state.isClosed { return (false, nil) }
      state.version += 1
      let old = state.writes[key]
      let since = old?.since ?? state.version
      state.writes[key] = Write(
        key: key, entry: entry, date: date, version: state.version, since: since)
      if old == nil { state.order.append((key, since)) }
      waiting.store(state.writes.count, ordering: .releasing)
      defer { state.isDraining = true }
      return (old != nil, !state.isDraining)
    }
    if isCoalesced { coalesced.add(1, ordering: .relaxed) }
    return begins
  }

  /// What waits for a key.
  func write(forKey key: Key) -> Write? {
    count == 0 ? nil : state.withLock { $0.writes[key] }
  }

  /// Whether one more key would be one too many.
  func isFull(for key: Key) -> Bool {
    count < limit ? false : state.withLock { $0.writes.count >= limit && $0.writes[key] == nil }
  }

  /// Drops what waits for a key, which the tiers got in another way.
  func remove(_ key: Key) {
    if count == 0 { return }
    state.withLock { state in
      state.writes[key] = nil
      waiting.store(state.writes.count, ordering: .releasing)
    }
  }

  // MARK: - Draining

  func first() -> Write? { state.withLock { $0.first() } }

  /// Every tier has a write, or none ever will.
  ///
  /// - Returns: Whether nothing came for its key meanwhile.
  @discardableResult
  func end(_ write: Write) -> Bool {
    state.withLock { state in
      guard let current = state.writes[write.key] else { return true }
      guard current.version != write.version else {
        state.writes[write.key] = nil
        waiting.store(state.writes.count, ordering: .releasing)
        return true
      }
      // What came meanwhile is all that is missing now: it goes to the back.
      state.writes[write.key] = Write(
        key: current.key, entry: current.entry, date: current.date, version: current.version,
        since: current.version)
      state.order.append((write.key, current.version))
      return false
    }
  }

  /// Takes nothing any more, if nothing waits.
  ///
  /// - Returns: Whether nothing does.
  func closeIfEmpty() -> Bool {
    state.withLock { state in
      if state.writes.isEmpty { state.isClosed = true }
      return state.isClosed
    }
  }

  /// Drops what waits and came up to a version.
  func removeAll(through version: UInt64, where isUnwanted: (Key) -> Bool = { _ in true }) {
    state.withLock { state in
      for (key, write) in state.writes where write.version <= version && isUnwanted(key) {
        state.writes[key] = nil
      }
      waiting.store(state.writes.count, ordering: .releasing)
    }
  }

  /// Who drains in the background stops.
  ///
  /// - Parameter isSure: Whether also if there is more to write.
  /// - Returns: Whether it may.
  func stopDraining(_ isSure: Bool) -> Bool {
    state.withLock { state in
      if !isSure, !state.writes.isEmpty { return false }
      state.isDraining = false
      return true
    }
  }
}
