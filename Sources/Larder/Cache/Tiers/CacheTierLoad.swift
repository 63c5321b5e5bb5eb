// SPDX-License-Identifier: MIT

/// Why a cache is about to load a value.
///
/// **Concurrency.** A value; safe to pass between threads.
public enum CacheTierLoadReason: Sendable, Hashable {
  /// No tier has it. The tier may have the cache wait for others that load it.
  case missing
  /// No tier has it, nor other keys that are loaded together with it: nobody may wait.
  case missingAmongMany
  /// There is an old value, which the new one will replace: nobody may wait.
  case refresh
}

/// What a tier says to a cache that is about to load a value.
///
/// **Concurrency.** A value; safe to pass between threads.
public enum CacheTierLoad<Value: Sendable>: Sendable {
  /// Load it, and store it whatever is written meanwhile: others may do so, too.
  case allowed
  /// Load it, and store it by these means alone.
  case granted(CacheTierLease<Value>)
  /// Somebody else loaded it, or gave up: look again. For what is missing alone.
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
