// SPDX-License-Identifier: MIT

extension DiskCache {
  /// Writes that happen together or not at all, whatever happens meanwhile.
  ///
  /// ```swift
  /// try cache.batch { batch in
  ///   try batch.set(from - amount, forKey: payer)
  ///   try batch.set(to + amount, forKey: payee)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - durability: What the writes survive once the call returns; nil: as the
  ///     configuration said.
  ///   - body: Adds writes to the batch. If it throws, nothing is written.
  /// - Returns: What the closure returns.
  /// - Throws: What the closure throws; `.readOnly`, `.closed`, `.diskFull`, `.io`,
  ///   `.damaged`. Nothing was written then.
  /// - Complexity: O(bytes). One sync for all at a durability of `.power`.
  @discardableResult
  public func batch<R>(
    durability: Durability? = nil,
    _ body: (borrowing DiskCacheBatch<Key, Value>) throws -> R
  ) throws -> R {
    let batch = try DiskCacheBatch(self)
    let result = try body(batch)
    _ = try batch.commit(durability)
    return result
  }

  /// Reads the values under many keys, each of which counts as a use.
  ///
  /// Each key is read by itself: what others change meanwhile may show in some of them.
  ///
  /// - Parameter keys: The keys.
  /// - Returns: What there is; a key without a value is missing.
  /// - Throws: The first error of any of them.
  /// - Complexity: O(number of keys · log n), and what decoding takes.
  public func values(forKeys keys: some Sequence<Key>) throws -> [Key: Value] {
    var values: [Key: Value] = [:]
    for key in keys {
      if let value = try value(forKey: key) { values[key] = value }
    }
    return values
  }

  /// Stores many values, all of them or none.
  ///
  /// - Parameters:
  ///   - entries: Keys and values, of a dictionary for example. Of two values under one
  ///     key the later stays.
  ///   - expiration: How long each lives; nil: as ``expiration`` says.
  ///   - durability: What they survive once the call returns; nil: as the configuration
  ///     said.
  /// - Throws: `.tooLarge` if several do not fit together into half of
  ///   ``StoreConfiguration/journalCapacity``; `.encoding`, `.readOnly`, `.closed`,
  ///   `.diskFull`, `.io`, `.damaged`. Nothing was stored then.
  /// - Complexity: O(bytes). One sync for all at a durability of `.power`.
  public func set(
    _ entries: some Sequence<(key: Key, value: Value)>, expiration: Expiration? = nil,
    durability: Durability? = nil
  ) throws {
    try batch(durability: durability) { batch in
      for (key, value) in entries { try batch.set(value, forKey: key, expiration: expiration) }
    }
  }
}
