// SPDX-License-Identifier: MIT

/// What a tier tells of that was changed by somebody else than the cache over it.
///
/// **Concurrency.** A value; safe to pass between threads.
public enum CacheInvalidation<Key: Hashable & Sendable>: Sendable, Hashable {
  /// What is stored under these keys may be another value now, or none.
  case keys([Key])
  /// That may be so of any key.
  case all
  /// That may be so of any key, and the tier can confirm copies; see
  /// ``CacheTier/confirm(_:forKey:)``.
  case unconfirmed
}
