// SPDX-License-Identifier: MIT

/// A write that a ``Cache`` could not make, and that nobody waited for.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct CacheWriteFailure<Key: Sendable>: Sendable {
  /// What was to be written or removed.
  public let key: Key
  /// What the tier threw.
  public let error: any Error
  /// Whether it is still to be written, and readable until then. False: it was
  /// dropped, because it will never be possible, or because it was only a copy.
  public let isPending: Bool

  /// Describes a failure.
  ///
  /// For tests of code that handles them.
  ///
  /// - Parameters:
  ///   - key: What was to be written.
  ///   - error: Why it was not.
  ///   - isPending: Whether it is still to be written.
  /// - Complexity: O(1).
  public init(key: Key, error: any Error, isPending: Bool) {
    self.key = key
    self.error = error
    self.isPending = isPending
  }
}
