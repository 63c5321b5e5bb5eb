// SPDX-License-Identifier: MIT

public import Foundation

/// What a cache holds under one key, at one moment.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct CacheEntry<Key: Sendable, Value: Sendable>: Sendable {
  /// What it is stored under.
  public let key: Key
  /// What is stored.
  public let value: Value
  /// What it weighs for the limit of cost.
  public let cost: Int
  /// When it expires; nil if that never comes.
  public let expires: Date?
  /// Whether it is exempt from eviction.
  public let isPinned: Bool

  /// Describes an entry.
  ///
  /// For tests of code that lists entries.
  ///
  /// - Parameters:
  ///   - key: What it is stored under.
  ///   - value: What is stored.
  ///   - cost: What it weighs.
  ///   - expires: When it expires; nil for never.
  ///   - isPinned: Whether it is exempt from eviction.
  /// - Complexity: O(1).
  public init(
    key: Key, value: Value, cost: Int = 0, expires: Date? = nil, isPinned: Bool = false
  ) {
    self.key = key
    self.value = value
    self.cost = cost
    self.expires = expires
    self.isPinned = isPinned
  }
}

extension CacheEntry: Equatable where Key: Equatable, Value: Equatable {}
extension CacheEntry: Hashable where Key: Hashable, Value: Hashable {}
