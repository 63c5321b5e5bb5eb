// SPDX-License-Identifier: MIT

import CLarderStore
import Foundation
import LarderCore
import Synchronization

/// Which copies on a disk are to be confirmed by the tier that they are of before they are used.
///
/// Nothing is noted for each. The disk numbers its writes, and those up to some number were made
/// when the tier could still tell of changes, and it could not since. That number is read as
/// copies are removed otherwise: while all writers of keys and everybody who copies between tiers
/// are waited for or find that they were too slow (see CacheWriters). So what is written behind
/// it was read or written since. Copies that are as old as they may become are to be confirmed,
/// too.
@usableFromInline
final class CacheConfirmation: Sendable {
  /// The tier that is asked.
  let depth: Int
  private let lifetime: Int64
  private let clock: CacheClock
  /// At first nothing is known of any copy.
  private let last = Atomic(UInt64.max)

  init(depth: Int, lifetime: Duration?, clock: CacheClock) {
    self.depth = depth
    self.lifetime = lifetime?.inNanoseconds ?? .max
    self.clock = clock
  }

  func isNeeded(for entry: StoreEntry) -> Bool {
    if entry.sequence <= last.load(ordering: .acquiring) { return true }
    let (end, isNever) = entry.raw.written_ns.addingReportingOverflow(lifetime)
    return !isNever && clock.nanoseconds >= end
  }

  /// Has all copies confirmed that are in a store.
  func distrust(_ store: StoreHandle) {
    // One that only reads has another writer: then there is never a copy to trust.
    last.store((try? store.lastSequence(waits: false)) ?? .max, ordering: .releasing)
  }
}

extension StoreEntry {
  /// The index entry under which a cache keeps the version. Nothing is looked for by it.
  private static var versionIndex: UInt16 { 1 }

  @usableFromInline
  static func indexValues(of version: CacheTierVersion) -> [StoreIndexValue] {
    [StoreIndexValue(index: versionIndex, bytes: version.bytes)]
  }

  /// The version that the entry has in the tiers below; nil if nobody said.
  var version: CacheTierVersion? {
    let value = indexValues.first { $0.index == Self.versionIndex }
    return value.flatMap { CacheTierVersion(bytes: $0.bytes) }
  }
}

extension Cache {
  /// Each tier in its place: disks above one that confirms copies have theirs confirmed.
  static func slots(
    _ tiers: [any CacheTier<Key, Value>], _ clock: CacheClock
  ) -> [CacheTierSlot<Key, Value>] {
    tiers.enumerated().map { depth, tier in
      let below = tiers.indices.first { $0 > depth && tiers[$0].confirmsCopies }
      return CacheTierSlot(
        tier,
        below.map {
          CacheConfirmation(depth: $0, lifetime: tiers[$0].copyLifetime, clock: clock)
        })
    }
  }

  /// Asks the tier that an unconfirmed copy is of whether that is still what it has.
  ///
  /// - Returns: The copy, with the life that it has left there; nil if it is not.
  func confirmed(_ copy: Entry, _ key: Key, in slot: CacheTierSlot<Key, Value>) async throws
    -> Entry?
  {
    // What a cache without such a tier left has none.
    guard let version = copy.version, let depth = slot.confirmation?.depth else {
      slot.misses.add(1, ordering: .relaxed)
      return nil
    }
    var entry = copy
    entry.isUnconfirmed = false
    entry.writtenAt = clock.date
    entry.expiration = try await slots[depth].confirm(version, forKey: key)
    if entry.expiration == nil {
      slot.misses.add(1, ordering: .relaxed)
      return nil
    }
    slot.hits.add(1, ordering: .relaxed)
    return entry
  }

  /// As it is copied to where nobody will confirm it: it lives no longer than it can be trusted.
  func trusted(_ entry: Entry) -> Entry {
    guard entry.version != nil, let copyLifetime else { return entry }
    var entry = entry
    let end = Expiration.date((entry.writtenAt ?? clock.date) + copyLifetime.inSeconds)
    entry.expiration = end.capped(entry.expiration) ?? end
    (entry.version, entry.writtenAt) = (nil, nil)
    return entry
  }
}
