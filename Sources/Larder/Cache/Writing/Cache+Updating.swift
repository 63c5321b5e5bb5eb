// SPDX-License-Identifier: MIT

public import LarderCore

extension Cache {
  /// Changes the value under a key in one step: no other call of this cache changes it
  /// meanwhile.
  ///
  /// ```swift
  /// try counts.update(forKey: word) { $0 = ($0 ?? 0) + 1 }
  /// ```
  ///
  /// Starts from what the tiers have, not from memory. Extended data stays. The closure
  /// runs while the key is locked and **must not use it**; other keys it may. Reads go on
  /// meanwhile.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - cost: What the entry weighs afterwards; nil: what it weighed before.
  ///   - expiration: How long it lives from now on; nil: as each tier has it.
  ///   - durability: What the change survives once the call returns; nil: as each tier has
  ///     it. As `set` with write-back.
  ///   - body: Gets the value, nil if there is none, or it has expired, and leaves what is
  ///     to be stored, nil for nothing; extended data stay as they are. If it throws, nothing
  ///     changes.
  /// - Returns: What the closure returns.
  /// - Throws: What the closure throws; as `set` and `value(forKey:)`.
  /// - Complexity: A read and a write of the tiers.
  public func update<R>(
    forKey key: Key, cost: Int? = nil, expiration: Expiration? = nil,
    durability: Durability? = nil, _ body: (inout Value?) throws -> R
  ) throws -> R {
    try checkCanWrite(key)
    try makeRoom(for: key)
    let token = writers.begin(key)
    defer { writers.end(key, token) }
    let old = try current(key)
    var value = old?.value
    let result = try body(&value)
    if let entry = changed(old, value, cost, expiration) {
      try store(entry, key, token, durability)
    } else if old != nil || hasExpired(key) {
      try storeNothing(key, durability)
    } else {
      memoryCache.remove(forKey: key)
    }
    return result
  }

  /// Changes the value under a key in one step: no other call of this cache changes it
  /// meanwhile.
  ///
  /// As the blocking form, but for the caller's thread, which is left before the closure
  /// is called.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - cost: What the entry weighs afterwards; nil: what it weighed before.
  ///   - expiration: How long it lives from now on; nil: as each tier has it.
  ///   - durability: What the change survives once the call returns; nil: as each tier has
  ///     it. As `set` with write-back.
  ///   - body: Gets the value, nil if there is none, or it has expired, and leaves what is
  ///     to be stored, nil for nothing; extended data stay as they are. If it throws, nothing
  ///     changes.
  /// - Returns: What the closure returns.
  /// - Throws: What the closure throws; as `set` and `value(forKey:)`.
  /// - Complexity: A read and a write of the tiers.
  public func update<R: Sendable>(
    forKey key: Key, cost: Int? = nil, expiration: Expiration? = nil,
    durability: Durability? = nil, _ body: @Sendable (inout Value?) throws -> R
  ) async throws -> R {
    try checkCanWrite(key)
    try await makeRoom(for: key)
    let token = await writers.begin(key)
    defer { writers.end(key, token) }
    let old = try await current(key)
    var value = old?.value
    let result = try body(&value)
    var isChanged = value != nil || old != nil
    if !isChanged { isChanged = await hasExpired(key) }
    if isChanged {
      try await store(changed(old, value, cost, expiration), key, token, durability)
    } else {
      memoryCache.remove(forKey: key)
    }
    return result
  }

  /// What there is under a key, by whoever holds its lock.
  private func current(_ key: Key) throws -> Entry? {
    if let write = queue?.write(forKey: key) {
      return write.entry(at: clock.date, diskCache?.expiration)
    }
    if slots.isEmpty { return memoryCache.peek(forKey: key).map { Entry(value: $0) } }
    for slot in slots {
      if let entry = try slot.entry(forKey: key), !entry.isUnconfirmed { return entry }
    }
    return nil
  }

  private func current(_ key: Key) async throws -> Entry? {
    if let write = queue?.write(forKey: key) {
      return write.entry(at: clock.date, diskCache?.expiration)
    }
    if slots.isEmpty { return memoryCache.peek(forKey: key).map { Entry(value: $0) } }
    for slot in slots {
      if let entry = try await slot.entry(forKey: key), !entry.isUnconfirmed { return entry }
    }
    return nil
  }

  private func changed(
    _ old: Entry?, _ value: Value?, _ cost: Int?, _ expiration: Expiration?
  ) -> Entry? {
    value.map {
      Entry(
        value: $0, cost: cost ?? old?.cost, extendedData: old?.extendedData,
        expiration: expiration)
    }
  }
}
