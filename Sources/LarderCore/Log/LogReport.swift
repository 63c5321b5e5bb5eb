// SPDX-License-Identifier: MIT

/// What a walk over a log's file found: at opening, verifying or salvaging.
///
/// Damage costs the messages it hit and no others; what was lost is counted and
/// never hidden.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct LogReport: Sendable, Hashable {
  /// Whether nothing is missing and nothing contradicts itself.
  public internal(set) var isIntact: Bool
  /// Intact messages.
  public internal(set) var intact: UInt64
  /// Messages known to be missing.
  public internal(set) var lost: UInt64
  /// Places where the walk had to look for the next intact message.
  public internal(set) var damagedPlaces: UInt64
  /// The bytes skipped there.
  public internal(set) var damagedBytes: UInt64
  /// Intact messages behind a hole that a power cut tore, given up so that what
  /// is left is a prefix. Counted in ``lost`` too.
  public internal(set) var cut: UInt64
  /// Where in the file the first damage is, in bytes; nil if there is none.
  public internal(set) var firstDamageOffset: UInt64?
  /// The number of the oldest message found; nil if there is none.
  public internal(set) var oldestSequence: UInt64?
  /// The number of the newest message found; nil if there is none.
  public internal(set) var newestSequence: UInt64?
  /// Whether the file had been closed properly before.
  public internal(set) var wasClosed: Bool
  /// Whether the header was damaged, and its backup was used.
  public internal(set) var isHeaderDamaged: Bool
  /// Whether the state in the header was damaged, and found again by looking at
  /// every message.
  public internal(set) var isStateDamaged: Bool
}
