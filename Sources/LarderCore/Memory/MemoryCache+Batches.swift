// SPDX-License-Identifier: MIT

extension MemoryCache {
  /// Reads the values under many keys, each of which counts as a use.
  ///
  /// Each key is read by itself: what others change meanwhile may show in some of them.
  ///
  /// - Parameter keys: The keys.
  /// - Returns: What there is; a key without a value is missing.
  /// - Complexity: O(number of keys) expected.
  @inlinable
  public func values(forKeys keys: some Sequence<Key>) -> [Key: Value] {
    var values: [Key: Value] = [:]
    for key in keys {
      if let value = value(forKey: key) { values[key] = value }
    }
    return values
  }

  /// Stores many values, as ``set(_:forKey:cost:expiration:)`` does one after the other.
  ///
  /// The cache is locked once for 128 of them, which is what makes it fast; others see
  /// all of these or none.
  ///
  /// - Parameters:
  ///   - entries: Keys and values, of a dictionary for example. Of two values under one
  ///     key the later stays.
  ///   - cost: What each entry weighs; nil: what ``MemoryCacheConfiguration/cost`` says.
  ///   - expiration: How long each lives; nil: as ``expiration`` says.
  /// - Complexity: O(number of entries) amortised and expected.
  @inlinable
  public func set(
    _ entries: some Sequence<(key: Key, value: Value)>, cost: Int? = nil,
    expiration: Expiration? = nil
  ) {
    var chunk: [(entry: Entry, cost: UInt64, expiration: Expiration?, hash: UInt64)] = []
    for (key, value) in entries {
      let entry = Entry(key: key, value: value)
      let expiration = lives.own(expiration, key, value)
      chunk.append((entry, weigh(key, value, cost), expiration, hashing.hash(key)))
      if chunk.count == 128 {
        setChunk(chunk)
        chunk.removeAll(keepingCapacity: true)
      }
    }
    setChunk(chunk)
  }

  @inlinable
  func setChunk(
    _ chunk: [(entry: Entry, cost: UInt64, expiration: Expiration?, hash: UInt64)]
  ) {
    if chunk.isEmpty { return }
    var probe = MemoryProbe()
    var removedEntries = RemovedEntries()
    var replaced: [Entry] = []
    var superseded: [(load: MemoryLoad<Value>, value: Value)] = []
    index.beginWriting()
    for (entry, cost, expiration, hash) in chunk {
      while let payload = index.leave(&probe) { take(payload, probe.cause, &removedEntries) }
      if loads.isBusy, let load = loads.supersede(entry.key) {
        superseded.append((load, entry.value))
      }
      let candidate = index.first(hash, &probe)
      let old = put(entry.value, entry.key, cost, expiration, candidate, &probe, &removedEntries)
      if let old { replaced.append(Entry(key: entry.key, value: old)) }
    }
    end(&probe, &removedEntries)
    for (load, value) in superseded { load.release(value) }
    for entry in replaced { settle(replaced: entry.value, entry.key) }
    settle(&removedEntries)
  }

  /// Removes many keys and their values.
  ///
  /// The cache is locked once for 128 of them; others see all of these or none removed.
  ///
  /// - Parameter keys: The keys.
  /// - Returns: How many of them had a value.
  /// - Complexity: O(number of keys) expected.
  @inlinable
  @discardableResult
  public func remove(forKeys keys: some Sequence<Key>) -> Int {
    var chunk: [(key: Key, hash: UInt64)] = []
    var removed = 0
    for key in keys {
      chunk.append((key, hashing.hash(key)))
      if chunk.count == 128 {
        removed += removeChunk(chunk)
        chunk.removeAll(keepingCapacity: true)
      }
    }
    return removed + removeChunk(chunk)
  }

  @inlinable
  func removeChunk(_ chunk: [(key: Key, hash: UInt64)]) -> Int {
    if chunk.isEmpty { return 0 }
    var probe = MemoryProbe()
    var removedEntries = RemovedEntries()
    var removed: [Entry] = []
    var superseded: [MemoryLoad<Value>] = []
    index.beginWriting()
    while let payload = index.leave(&probe) { take(payload, probe.cause, &removedEntries) }
    for (key, hash) in chunk {
      if loads.isBusy, let load = loads.supersede(key) { superseded.append(load) }
      let candidate = index.first(hash, &probe)
      if let entry = takeLocked(key, candidate, &probe, &removedEntries) { removed.append(entry) }
    }
    end(&probe, &removedEntries)
    for load in superseded { load.release(nil) }
    for entry in removed { settle(removed: entry) }
    settle(&removedEntries)
    return removed.count
  }
}
