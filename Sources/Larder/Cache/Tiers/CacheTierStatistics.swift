// SPDX-License-Identifier: MIT

/// What a ``Cache`` asked of one of its tiers so far.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct CacheTierStatistics: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The tier's name.
  public internal(set) var name = ""
  /// Reads that found an entry.
  public internal(set) var hits: UInt64 = 0
  /// Reads that found none.
  public internal(set) var misses: UInt64 = 0
  /// Entries written.
  public internal(set) var writes: UInt64 = 0
  /// Removals, of keys that had an entry or not; removals of everything count once.
  public internal(set) var removals: UInt64 = 0
  /// Entries written because a tier further down had them; part of ``writes``.
  public internal(set) var promotions: UInt64 = 0
  /// Calls that threw.
  public internal(set) var failures: UInt64 = 0

  /// Statistics of a tier that nothing was asked of.
  ///
  /// - Complexity: O(1).
  public init() {}

  /// Which share of the reads found an entry: from 0 to 1, and 0 if there were none.
  ///
  /// - Complexity: O(1).
  public var hitRatio: Double {
    let reads = hits &+ misses
    return reads == 0 ? 0 : Double(hits) / Double(reads)
  }

  /// All figures in one line.
  public var description: String {
    let permille = Int((hitRatio * 1000).rounded())
    return """
      \(name): \(permille / 10).\(permille % 10) % of \(hits &+ misses) reads hit; \
      \(writes) writes, \(promotions) of them promotions; \(removals) removals; \
      \(failures) failures
      """
  }
}
