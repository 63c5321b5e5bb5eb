// SPDX-License-Identifier: MIT

/// What a cache on disk holds under one key, at one moment.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct DiskCacheEntry<Key: Sendable, Value: Sendable>: Sendable {
  /// Key, size, version, times and extended data.
  public let info: DiskCacheInfo<Key>
  /// What is stored.
  public let value: Value

  /// What it is stored under.
  ///
  /// - Complexity: O(1).
  public var key: Key { info.key }
}

extension DiskCacheEntry: Equatable where Key: Equatable, Value: Equatable {}
extension DiskCacheEntry: Hashable where Key: Hashable, Value: Hashable {}
