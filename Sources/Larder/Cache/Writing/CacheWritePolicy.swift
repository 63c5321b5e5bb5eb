// SPDX-License-Identifier: MIT

/// When a ``Cache`` writes to the tiers below its memory.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct CacheWritePolicy: Sendable, Hashable {
  /// How many writes may wait; nil for write-through.
  let queueLimit: Int?

  /// A write returns when every tier has it, and throws if one refuses.
  public static let writeThrough = CacheWritePolicy(queueLimit: nil)

  /// A write returns when it is in memory, and reaches the tiers soon after, in the
  /// background.
  ///
  /// A key that is written again before that is written once, with what it was set to
  /// last. What waits is found by all reads, and lost if the process ends without
  /// `drain()` or `close()`. A write that says what it has to survive does not wait. For
  /// tiers that take longer than you want to wait: a ``DiskCache`` alone hardly does.
  ///
  /// - Parameter queueLimit: How many writes may wait. One more waits until others are
  ///   done, and throws what keeps them from it. Less than 1 counts as 1.
  /// - Complexity: O(1).
  public static func writeBack(queueLimit: Int = 1024) -> CacheWritePolicy {
    CacheWritePolicy(queueLimit: max(1, queueLimit))
  }
}
