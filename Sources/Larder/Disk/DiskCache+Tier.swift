// SPDX-License-Identifier: MIT

import CLarderStore
public import Foundation
public import LarderCore
import Synchronization

// What a cache of several tiers wants of the one on disk.
extension DiskCache {
  /// Has each checkpoint ask a cache in memory for what was read there: those entries are
  /// the ones used last here too, and their time to live after access goes on from there.
  func countReads(of memory: MemoryCache<Key, Value>) {
    let counted = Atomic<UInt64>(0)
    guard let readsAbove else { return }
    memory.keepUses()
    readsAbove.add { [weak memory, keyCoder, clock] store in
      guard let memory else { return false }
      let hits = memory.statistics.hits
      if counted.exchange(hits, ordering: .relaxed) == hits { return true }
      memory.forEachUsed { used in
        let now = clock.nanoseconds
        var bytes: [UInt8] = []
        var reads: [(key: Range<Int>, time: Int64)] = []
        for (key, age) in used {
          let start = bytes.count
          // What has no bytes is not on the disk.
          guard (try? keyCoder.borrow(key) { bytes.append(contentsOf: $0.bytes) }) != nil else {
            continue
          }
          reads.append((start..<bytes.count, now.subtractingReportingOverflow(age).partialValue))
        }
        StoreReads.tell(store, of: reads, in: bytes)
      }
      return true
    }
  }

  /// A value with all that goes with it to a tier above.
  ///
  /// - Parameter confirmation: Says whether it is to be confirmed; nil: it is not.
  @inlinable
  func tierEntry(
    forKey key: Key, _ how: StoreReading = .use, confirmation: CacheConfirmation? = nil
  ) throws -> CacheTierEntry<Value>? {
    var found: CacheTierEntry<Value>?
    try keyCoder.borrow(key) { bytes in
      _ = try store.read(bytes, how) { entry in
        let company = company(of: entry)
        found = CacheTierEntry(
          value: try decode(&entry), cost: company.cost, extendedData: company.extendedData,
          expiration: company.life)
        found?.age = company.age
        found?.ownExpiration = .some(company.ownExpiration)
        found?.refreshAfter = company.refreshAfter
        if let confirmation { found?.note(confirmation, entry) }
      }
    }
    return found
  }

  /// Whether there is an entry that need not be confirmed.
  func contains(
    _ key: Key, _ confirmation: CacheConfirmation, _ how: StoreReading
  ) throws -> Bool {
    var isThere = false
    try keyCoder.borrow(key) { bytes in
      _ = try store.read(bytes, how.union([.peek, .withoutValue])) { entry in
        isThere = !confirmation.isNeeded(for: entry)
      }
    }
    return isThere
  }

  /// What goes with the value.
  @usableFromInline
  func company(of entry: StoreEntry) -> StoreEntryCompany {
    let (written, refresh) = (entry.raw.written_ns, entry.raw.refresh_ns)
    return StoreEntryCompany(
      cost: entry.cost,
      extendedData: entry.extended.isEmpty ? nil : Data(copied: entry.extended),
      life: entry.remainingLife(currentLimits), ownExpiration: entry.ownLife,
      age: .nanoseconds(
        max(0, clock.nanoseconds.subtractingReportingOverflow(written).partialValue)),
      refreshAfter: refresh == .max
        ? nil : .nanoseconds(refresh.subtractingReportingOverflow(written).partialValue))
  }

  /// An entry although it has expired, if that is no longer ago than such are kept.
  func expiredEntry(
    forKey key: Key, _ confirmation: CacheConfirmation?
  ) throws -> CacheTierEntry<Value>? {
    guard
      let entry = try tierEntry(forKey: key, [.peek, .expiredToo], confirmation: confirmation),
      !entry.isUnconfirmed
    else { return nil }
    let end = entry.expiration?.date.map { $0 + expiredLife.inSeconds }
    return end.map { clock.date < $0 } ?? true ? entry : nil
  }

  /// Stores what a tier above hands over.
  @inlinable
  func setTier(
    _ entry: CacheTierEntry<Value>, _ key: Key, _ durability: Durability?,
    _ how: StoreReading = .use
  ) throws {
    guard let terms = try tierTerms(entry, key, durability, how) else { return }
    _ = try put(entry.value, key, entry.extendedData, terms, entry.indexes)
  }

  /// How an entry is stored that a tier above hands over; nil if it is there, and its life began
  /// again.
  @inlinable
  func tierTerms(
    _ entry: CacheTierEntry<Value>, _ key: Key, _ durability: Durability?,
    _ how: StoreReading = .use
  ) throws -> StoreTerms? {
    let data = entry.extendedData
    var terms = terms(key, entry.value, entry.expiration, durability)
    if let date = entry.writtenAt { terms.setWritten(date) }
    terms.cost = entry.cost
    if let life = entry.refreshAfter { setRefresh(&terms, after: life, entry.age) }
    // What a server keeps with a value says later on that it is the same.
    if data != nil { terms.makeRenewable() }
    if entry.isUnchanged, entry.version == nil, let data, try renew(key, data, terms) { return nil }
    terms.flags |= how.rawValue
    return terms
  }
}

extension DiskCache {
  /// Has the life of what is there begin again, without writing the value.
  ///
  /// - Returns: Whether that is all that a write of these terms comes to; else it is to be done.
  @usableFromInline
  func renew(_ key: Key, _ extendedData: Data, _ terms: StoreTerms) throws -> Bool {
    // Write-back hands over later than it was written.
    guard terms.written == 0 else { return false }
    var terms = terms
    terms.written = clock.nanoseconds
    var isRenewed = false
    try keyCoder.borrow(key) { bytes in
      var sequence: UInt64?
      guard bytes.others.isNone else { return }
      _ = try store.read(bytes, [.peek, .withoutValue, .expiredToo]) { old in
        if old.extended.elementsEqual(extendedData), old.isRenewed(by: terms) {
          sequence = old.sequence
        }
      }
      if let sequence { isRenewed = try store.renew(bytes, sequence) }
    }
    return isRenewed
  }

  /// When an entry is to be loaded again that was written so long ago.
  @usableFromInline
  func setRefresh(_ terms: inout StoreTerms, after life: Duration, _ age: Duration?) {
    let written = terms.written == 0 ? clock.nanoseconds : terms.written
    let rest = (life - (age ?? .zero)).inNanoseconds
    let (refresh, overflows) = written.addingReportingOverflow(rest)
    // Never is the last there is.
    terms.refresh = overflows ? (rest < 0 ? .min : .max) : refresh
  }

  /// Throws what a write of any value with such a key and extended data would.
  func checkFits(_ key: Key, _ extendedData: Data?) throws {
    try keyCoder.borrow(key) {
      try store.checkFits(key: $0.bytes.count, extended: extendedData?.count ?? 0)
    }
  }
}

extension CacheTierEntry {
  /// What it is found by on a disk besides its key.
  @inlinable
  var indexes: [StoreIndexValue] { version.map(StoreEntry.indexValues) ?? [] }

  /// Notes what is known of the entry as a copy of what a tier below has.
  @usableFromInline
  mutating func note(_ confirmation: CacheConfirmation, _ entry: StoreEntry) {
    isUnconfirmed = confirmation.isNeeded(for: entry)
    version = entry.version
    writtenAt = entry.written
  }
}

/// What goes with a value on a disk.
@usableFromInline
struct StoreEntryCompany {
  @usableFromInline var cost: Int?
  @usableFromInline var extendedData: Data?
  @usableFromInline var life: Expiration
  @usableFromInline var ownExpiration: Expiration?
  @usableFromInline var age: Duration
  @usableFromInline var refreshAfter: Duration?
}

extension StoreTerms {
  @usableFromInline
  mutating func setWritten(_ date: Date) { written = date.inNanoseconds }

  /// Unless reads are what it lives by.
  @usableFromInline
  mutating func makeRenewable() { if idle == .max { idle = Self.renewable } }

  static var renewable: Int64 { Int64(LARDER_STORE_RENEWABLE) }
}

extension StoreEntry {
  /// Whether an entry of these terms, written now, is this one, but for when that was. A life is
  /// counted from a moment before it is written.
  fileprivate func isRenewed(by terms: StoreTerms) -> Bool {
    func isSame(_ old: Int64, _ new: Int64) -> Bool {
      if old == .max || new == .max { return old == new }
      let span = old.subtractingReportingOverflow(raw.written_ns).partialValue
      let other = new.subtractingReportingOverflow(terms.written).partialValue
      return span.subtractingReportingOverflow(other).partialValue.magnitude <= 1_000_000
    }
    let isSynced = terms.flags & UInt32(LARDER_STORE_SYNCED) != 0
    return raw.idle_ns == StoreTerms.renewable && terms.idle == StoreTerms.renewable
      && !isSynced && hasOwnTimes == (terms.flags & UInt32(LARDER_STORE_OWN_TIMES) != 0)
      && raw.cost == terms.rawCost && isSame(raw.expires_ns, terms.expires)
      && isSame(raw.refresh_ns, terms.refresh)
  }
}

extension StoreEntry {
  /// How long the entry was given to live; nil: as its store has it.
  var ownLife: Expiration? {
    if !hasOwnTimes { return nil }
    let life = raw.ends_ns.subtractingReportingOverflow(raw.written_ns).partialValue
    return Expiration(
      afterWrite: raw.ends_ns == .max ? nil : .nanoseconds(life),
      afterAccess: idle.map { .nanoseconds($0) })
  }

  /// How long the entry lives from now on, if it is not removed: until a date, so that it does
  /// not live longer where it is copied to, whenever that is done.
  func remainingLife(_ limits: StoreLimits) -> Expiration {
    let end = deadline(limits)
    return Expiration(
      afterAccess: idle.map { .nanoseconds($0) },
      date: end == .max ? nil : Date(nanoseconds: end))
  }
}
