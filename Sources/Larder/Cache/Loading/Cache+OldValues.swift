// SPDX-License-Identifier: MIT

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
    memoryCache.old(forKey: key) ?? expiredEntry(forKey: key).map { OldValue($0) }
  }

  /// As the blocking form.
  func old(forKey key: Key) async -> OldValue<Value>? {
    if let old = memoryCache.old(forKey: key) { return old }
    guard memoryCache.keepsExpired, let diskCache else { return nil }
    // Whoever is cancelled wants nothing.
    let entry = try? await diskCache.executor.run { self.expiredEntry(forKey: key) }
    return entry.flatMap(\.self).map { OldValue($0) }
  }

  /// A value that may be returned although it has expired, when a load failed: not one that
  /// another tier would have to confirm.
  ///
  /// What memory has not is read from the disk on the caller's thread: that is short, and a load
  /// does not fail often.
  func oldValue(forKey key: Key) -> Value? {
    memoryCache.oldValue(forKey: key) ?? expiredEntry(forKey: key)?.value
  }

  /// What a disk has, which memory keeps as expired from then on: all who waited for a load ask
  /// when it fails.
  private func expiredEntry(forKey key: Key) -> Entry? {
    guard memoryCache.keepsExpired, queue?.write(forKey: key) == nil else { return nil }
    let token = writers.token(key)
    for slot in slots {
      guard let entry = slot.expiredEntry(forKey: key) else { continue }
      keep(entry, key, token)
      return entry
    }
    return nil
  }
}

extension OldValue {
  init(_ entry: CacheTierEntry<Value>) {
    self.init(value: entry.value, extendedData: entry.extendedData)
  }
}

extension MemoryCompany {
  /// What goes with an entry of a tier.
  @inlinable
  init(_ entry: CacheTierEntry<some Sendable>) {
    self.init(
      refreshAfter: entry.refreshAfter, age: entry.age ?? .zero, extendedData: entry.extendedData,
      isUnchanged: entry.isUnchanged)
  }
}
