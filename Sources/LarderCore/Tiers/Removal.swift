// SPDX-License-Identifier: MIT

/// A value that has left a cache, and why.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct Removal<Key: Sendable, Value: Sendable>: Sendable {
  /// What it was stored under.
  public let key: Key
  /// What was stored.
  public let value: Value
  /// Why it left.
  public let cause: RemovalCause
  /// How many removals right before this one the listener was too slow for.
  ///
  /// Always 0 in a callback, which misses nothing.
  public internal(set) var lost = 0

  /// Describes a removal.
  ///
  /// For tests of code that listens.
  ///
  /// - Parameters:
  ///   - key: What the value was stored under.
  ///   - value: What was stored.
  ///   - cause: Why it left.
  /// - Complexity: O(1).
  public init(key: Key, value: Value, cause: RemovalCause) {
    self.key = key
    self.value = value
    self.cause = cause
  }
}

extension Removal: Equatable where Key: Equatable, Value: Equatable {}
extension Removal: Hashable where Key: Hashable, Value: Hashable {}
