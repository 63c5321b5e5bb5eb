// SPDX-License-Identifier: MIT

import LarderCore

extension DiskCache {
  /// Removes all entries that a closure finds, some hundred at a time.
  ///
  /// ```swift
  /// try cache.removeAll { $0.size > 1 << 20 || $0.written < yesterday }
  /// ```
  ///
  /// It goes over the entries that there are when the call begins, and skips expired
  /// ones. An entry that was written again meanwhile stays.
  ///
  /// - Parameters:
  ///   - selection: Which entries to look at; all by default.
  ///   - isUnwanted: Whether an entry has to go. If it throws, some are removed.
  /// - Returns: How many were removed.
  /// - Throws: What the closure throws; `.readOnly`, `.closed`, `.diskFull`, `.io`, and as
  ///   ``DiskCacheSelection`` is refused; `.damaged`, when everything intact has been looked at and
  ///   what has to go is removed.
  /// - Complexity: O(entries looked at). Values in files are not touched.
  @discardableResult
  public func removeAll(
    _ selection: DiskCacheSelection<Key> = .all,
    where isUnwanted: (DiskCacheInfo<Key>) throws -> Bool
  ) throws -> Int {
    let limits = currentLimits
    var unwanted: [(key: [UInt8], version: UInt64)] = []
    var bytes = 0
    var removed = 0
    let damage = try forEachStored(selection, .byKey, withValues: false) { entry in
      let info = DiskCacheInfo(entry, try keyCoder.decode(entry.key), limits)
      guard try isUnwanted(info) else { return true }
      unwanted.append(([UInt8](entry.key), info.version))
      bytes += entry.key.count
      if unwanted.count == 256 || bytes >= 8192 {
        removed += try remove(unwanted)
        unwanted.removeAll(keepingCapacity: true)
        bytes = 0
      }
      return true
    }
    removed += try remove(unwanted)
    if let damage { throw damage }
    return removed
  }

  /// Removes the entries that have their version still.
  ///
  /// - Returns: how many that were.
  private func remove(_ entries: [(key: [UInt8], version: UInt64)]) throws -> Int {
    if entries.isEmpty { return 0 }
    let batch = try StoreBatch(store)
    for (key, version) in entries {
      try key.withUnsafeBytes { key in
        try batch.require(StoreKey(key), version: version)
        try batch.remove(StoreKey(key))
      }
    }
    if try batch.commit(isSynced: durability == .power) != nil { return entries.count }
    // Not all of them are as they were: each by itself.
    if entries.count == 1 { return 0 }
    return try entries.reduce(0) { try $0 + remove([$1]) }
  }
}
