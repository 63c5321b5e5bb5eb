// SPDX-License-Identifier: MIT

public import LarderCore

/// How a feed tells changes.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct ChangeFeedOptions: Sendable, Hashable {
  /// When a write is told.
  public enum Certainty: Sendable, Hashable {
    /// At once. A power cut may take it back, of which the feed tells.
    case written
    /// Once it survives a power cut: after the next sync, which the cache makes by itself within
    /// its sync interval.
    case synced
  }

  /// When a write is told; nil, the default, for ``Certainty/synced`` with a named cursor, and
  /// ``Certainty/written`` without.
  public var certainty: Certainty?

  /// Whether a feed without a token begins with the oldest write that the log still has, rather
  /// than with the next one. False by default.
  public var startsWithOldest = false

  /// How much of the log a named cursor may keep from being deleted, in bytes beyond what the
  /// store's limits allow: the newest part. One that lags further is told of a gap; so is one
  /// whose log takes the room that a write needs on a full disk. 256 MiB by default; counts when
  /// the cursor is made.
  public var maximumLag = DataSize(bytes: 256 << 20)

  /// The defaults.
  ///
  /// - Complexity: O(1).
  public init() {}
}
