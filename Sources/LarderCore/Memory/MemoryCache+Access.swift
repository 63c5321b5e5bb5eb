// SPDX-License-Identifier: MIT

// What is inlined into programs: there it is specialised for their keys and values.
extension MemoryCache {
  /// The value under a key; setting it stores a value or, with nil, removes it.
  ///
  /// Reading is ``value(forKey:)``, setting is ``set(_:forKey:cost:expiration:)``.
  ///
  /// - Parameter key: The key.
  /// - Complexity: As there.
  @inlinable
  public subscript(key: Key) -> Value? {
    get { value(forKey: key) }
    set { set(newValue, forKey: key) }
  }

  /// Reads the value under a key, which counts as a use.
  ///
  /// - Parameter key: The key.
  /// - Returns: The value; nil if there is none, or it has expired. In the second case
  ///   it is removed, with everything else that has expired.
  /// - Complexity: O(1) expected. No allocation.
  @inlinable
  public func value(forKey key: Key) -> Value? {
    var probe = MemoryProbe()
    let candidate = index.beginReading(hashing.hash(key), &probe)
    if let entry = match(key, candidate, &probe) {
      let value = entry.pointee.value
      index.endReadingHit(&probe)
      return value
    }
    if index.endReadingMiss(&probe) { expire() }
    return nil
  }

  /// Reads the value under a key and leaves no trace: neither the order of eviction
  /// nor the statistics change.
  ///
  /// - Parameter key: The key.
  /// - Returns: The value; nil if there is none, or it has expired.
  /// - Complexity: O(1) expected. No allocation.
  @inlinable
  public func peek(forKey key: Key) -> Value? {
    var probe = MemoryProbe()
    let candidate = index.beginReading(hashing.hash(key), &probe)
    let value = match(key, candidate, &probe)?.pointee.value
    index.endReadingQuietly(&probe)
    return value
  }

  /// Whether there is a value under a key; leaves no trace, as ``peek(forKey:)``.
  ///
  /// - Parameter key: The key.
  /// - Returns: False also if the value has expired.
  /// - Complexity: O(1) expected. No allocation.
  @inlinable
  public func contains(_ key: Key) -> Bool {
    var probe = MemoryProbe()
    let candidate = index.beginReading(hashing.hash(key), &probe)
    let isThere = match(key, candidate, &probe) != nil
    index.endReadingQuietly(&probe)
    return isThere
  }

  /// Stores a value under a key, which counts as a use, and evicts what is too much.
  ///
  /// If there is no memory for a new entry, the value is not stored, and
  /// ``CacheStatistics/failures`` counts it. A load of the key that is under way will
  /// not overwrite what is stored here, and those who wait for it get this value.
  ///
  /// - Parameters:
  ///   - value: The value; nil removes what there is.
  ///   - key: The key.
  ///   - cost: What the entry weighs for the limit of cost; less than 0 counts as 0.
  ///     nil: what ``MemoryCacheConfiguration/cost`` says.
  ///   - expiration: How long it lives; nil: as ``expiration`` says.
  /// - Complexity: O(1) amortised and expected; O(log n) where entries expire.
  @inlinable
  public func set(
    _ value: Value?, forKey key: Key, cost: Int? = nil, expiration: Expiration? = nil
  ) {
    guard let value else {
      remove(forKey: key)
      return
    }
    let cost = weigh(key, value, cost)
    let company = company(of: expiration)
    let expiration = lives.own(expiration, key, value)
    let hash = hashing.hash(key)
    var probe = MemoryProbe()
    var removedEntries = RemovedEntries()
    let candidate = beginLocked(hash, &probe, &removedEntries)
    let superseded = loads.isBusy ? loads.supersede(key) : nil
    let replaced = put(
      value, key, cost, expiration, candidate, &probe, &removedEntries, with: company)
    end(&probe, &removedEntries)
    if let superseded { superseded.release(value) }
    if let replaced { settle(replaced: replaced, key) }
    settle(&removedEntries)
  }

  /// Removes a key and its value.
  ///
  /// A load of the key that is under way will not store its value, and those who wait for
  /// it start over.
  ///
  /// - Parameter key: The key.
  /// - Returns: The value that was there; nil if there was none or its time was over.
  /// - Complexity: O(1) expected; O(log n) where entries expire.
  @inlinable
  @discardableResult
  public func remove(forKey key: Key) -> Value? {
    let hash = hashing.hash(key)
    var probe = MemoryProbe()
    var removedEntries = RemovedEntries()
    let candidate = beginLocked(hash, &probe, &removedEntries)
    let superseded = loads.isBusy ? loads.supersede(key) : nil
    let removed = takeLocked(key, candidate, &probe, &removedEntries)
    end(&probe, &removedEntries)
    if let superseded { superseded.release(nil) }
    settle(&removedEntries)
    guard let removed else { return nil }
    settle(removed: removed)
    return removed.value
  }
}
