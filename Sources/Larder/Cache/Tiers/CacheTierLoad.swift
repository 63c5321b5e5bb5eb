// SPDX-License-Identifier: MIT

/// What a tier says to a cache that is about to load what the tier has not.
///
/// **Concurrency.** A value; safe to pass between threads.
public enum CacheTierLoad<Value: Sendable>: Sendable {
  /// Load it, and store it whatever is written meanwhile: others may do so, too.
  case allowed
  /// Load it, and store it by these means alone.
  case granted(CacheTierLease<Value>)
  /// Somebody else loaded it, or gave up: look again.
  case changed
}

/// The right to load what is stored under a key, for a while.
///
/// Ends with one call of either closure.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct CacheTierLease<Value: Sendable>: Sendable {
  /// Stores what was loaded, unless the key was written or removed since the right was
  /// granted, or that was too long ago. Returns whether it did.
  let publish: @Sendable (CacheTierEntry<Value>) async throws -> Bool
  /// Gives the right back, for others to load.
  let release: @Sendable () async -> Void

  /// Makes one of two closures.
  ///
  /// - Parameters:
  ///   - publish: Stores what was loaded, unless the key was written or removed since. Returns
  ///     whether it did.
  ///   - release: Gives the right back.
  /// - Complexity: O(1).
  public init(
    publish: @escaping @Sendable (CacheTierEntry<Value>) async throws -> Bool,
    release: @escaping @Sendable () async -> Void
  ) {
    self.publish = publish
    self.release = release
  }
}
