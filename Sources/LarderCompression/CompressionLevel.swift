// SPDX-License-Identifier: MIT

/// How much time to spend on fewer bytes.
///
/// It matters only for writing: every level is read by every coder.
///
/// **Concurrency.** A value; safe to pass between threads.
public enum CompressionLevel: Int32, Sendable, CaseIterable {
  /// The least time: zlib's level 1.
  case fastest = 1
  /// A good compromise: zlib's level 6.
  case `default` = 6
  /// The fewest bytes: zlib's level 9.
  case smallest = 9
}
