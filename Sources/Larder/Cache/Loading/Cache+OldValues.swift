// SPDX-License-Identifier: MIT

public import Foundation
public import LarderCore

// What there is under a key although it is time to load it again, or has expired.
extension Cache {
  /// Whether it is time to load again what a tier has.
  func isDue(_ entry: Entry) -> Bool {
    guard let age = entry.age else { return false }
    guard let life = entry.refreshAfter ?? memoryCache.refreshTime else { return false }
    return age >= life
  }

  /// What a load that asks for it gets.
  func old(forKey key: Key) -> OldValue<Value>? {
    memoryCache.old(forKey: key) ?? expiredEntry(forKey: key).map { OldValue($0, clock.date) }
  }

  /// As the blocking form.
  func old(forKey key: Key) async -> OldValue<Value>? {
    if let old = memoryCache.old(forKey: key) { return old }
    guard memoryCache.keepsExpired else { return nil }
    var entry: Entry?
    if let diskCache, queue?.write(forKey: key) == nil {
      // Whoever is cancelled wants nothing.
      entry = try? await diskCache.executor.run { self.expiredEntry(forKey: key) }
    } else {
      entry = expiredEntry(forKey: key)
    }
    return entry.map { OldValue($0, clock.date) }
  }

  /// A value that may be returned although it has expired, when a load failed: not one that
  /// another tier would have to confirm.
  ///
  /// What memory has not is read from the disk on the caller's thread: that is short, and a load
  /// does not fail often.
  func oldValue(forKey key: Key) -> Value? {
    memoryCache.oldValue(forKey: key) ?? expiredEntry(forKey: key)?.value
  }

  /// Whether there is something to remove although nothing is found: a tier has what expired, or
  /// will have it, since the write waits.
  func hasExpired(_ key: Key) -> Bool {
    guard memoryCache.keepsExpired else { return false }
    return queue?.write(forKey: key) != nil
      || slots.contains { $0.expiredEntry(forKey: key) != nil }
  }

  /// As the blocking form.
  func hasExpired(_ key: Key) async -> Bool {
    guard memoryCache.keepsExpired, let diskCache else { return false }
    return (try? await diskCache.executor.run { self.hasExpired(key) }) ?? true
  }

  /// What waits for a disk or is there, and memory keeps as expired from then on: all who waited
  /// for a load ask when it fails.
  private func expiredEntry(forKey key: Key) -> Entry? {
    guard memoryCache.keepsExpired else { return nil }
    let token = writers.token(key)
    var entry: Entry?
    if let write = queue?.write(forKey: key) {
      entry = write.entry(
        at: clock.date, diskCache?.expiration, keptFor: memoryCache.expiredLife)
    } else {
      for slot in slots where entry == nil { entry = slot.expiredEntry(forKey: key) }
    }
    if let entry { keep(entry, key, token) }
    return entry
  }
}

extension OldValue {
  init(_ entry: CacheTierEntry<Value>, _ now: Date) {
    self.init(
      value: entry.value, extendedData: entry.extendedData, expiration: entry.own(now),
      refreshAfter: entry.refreshAfter)
  }
}

extension CacheTierEntry {
  /// How long an entry that was read was given to live; nil: as its tier does by default.
  @usableFromInline
  func own(_ now: @autoclosure () -> Date) -> Expiration? {
    if let ownExpiration { return ownExpiration }
    // Of a tier that says what is left. What has no end is what it does, as far as anybody knows.
    guard let expiration, expiration != .never else { return nil }
    let passed = age ?? .zero
    let life =
      expiration.afterWrite ?? expiration.date.map { .seconds($0.timeIntervalSince(now())) }
    return Expiration(afterWrite: life.map { $0 + passed }, afterAccess: expiration.afterAccess)
  }
}

extension MemoryCompany {
  /// What goes with an entry of a tier, which was given so long to live.
  @inlinable
  init(_ entry: CacheTierEntry<some Sendable>, _ expiration: Expiration?) {
    self.init(
      refreshAfter: entry.refreshAfter, expiration: expiration, age: entry.age ?? .zero,
      extendedData: entry.extendedData, isUnchanged: entry.isUnchanged)
  }
}
