// SPDX-License-Identifier: MIT

extension MemoryCache {
  /// Exempts the entry under a key from eviction.
  ///
  /// It counts for the limits all the same, so that other entries leave earlier, and
  /// the cache exceeds its limits if pinned entries alone do. It can be replaced, which
  /// leaves it pinned; if it is removed or expires, that ends the pin.
  ///
  /// - Parameter key: The key.
  /// - Returns: False if there is no such entry; also if there is no memory, and
  ///   ``CacheStatistics/failures`` counts that.
  /// - Complexity: O(1) expected.
  @discardableResult
  public func pin(_ key: Key) -> Bool { setPinned(key, true) }

  /// Puts the entry under a key back into the order of eviction.
  ///
  /// - Parameter key: The key.
  /// - Returns: As ``pin(_:)``.
  /// - Complexity: O(1) expected.
  @discardableResult
  public func unpin(_ key: Key) -> Bool { setPinned(key, false) }

  /// Whether there is an entry under a key and it is pinned.
  ///
  /// - Parameter key: The key.
  /// - Complexity: O(1) expected.
  public func isPinned(_ key: Key) -> Bool {
    var probe = MemoryProbe()
    let candidate = index.beginReading(hashing.hash(key), &probe)
    defer { index.endReadingQuietly(&probe) }
    return match(key, candidate, &probe) != nil && index.isPinned(probe.slot)
  }

  private func setPinned(_ key: Key, _ isPinned: Bool) -> Bool {
    let hash = hashing.hash(key)
    var probe = MemoryProbe()
    var removedEntries = RemovedEntries()
    var succeeded = false
    let candidate = beginLocked(hash, &probe, &removedEntries)
    if matchLocked(key, candidate, &probe, &removedEntries) != nil {
      succeeded = index.pin(probe.slot, isPinned)
      if !succeeded { countFailure() }
    }
    end(&probe, &removedEntries)
    settle(&removedEntries)
    return succeeded
  }
}
