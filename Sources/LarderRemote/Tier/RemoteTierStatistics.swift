// SPDX-License-Identifier: MIT

#if Remote
  import Synchronization

  /// What a ``RemoteTier`` did so far.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  public struct RemoteTierStatistics: Sendable, Hashable, Codable, CustomStringConvertible {
    /// Reads that the server answered with an entry.
    public internal(set) var hits: UInt64 = 0
    /// Reads that the server answered with nothing.
    public internal(set) var misses: UInt64 = 0
    /// Reads that did not ask the server, which was known to have nothing.
    public internal(set) var rememberedMisses: UInt64 = 0
    /// Entries that the server stored.
    public internal(set) var writes: UInt64 = 0
    /// Entries that stayed local because they were too large.
    public internal(set) var localWrites: UInt64 = 0
    /// Bytes of entries that it stored, as the coder made them, with 18 bytes and more for each.
    public internal(set) var bytesWritten: UInt64 = 0
    /// Bytes of entries that it answered with.
    public internal(set) var bytesRead: UInt64 = 0
    /// Copies on disk that the server still had; see ``RemoteDisconnection/revalidate``.
    public internal(set) var confirmations: UInt64 = 0
    /// Copies on disk of which it had another version, or nothing.
    public internal(set) var refutedCopies: UInt64 = 0
    /// Loads that waited for another machine's.
    public internal(set) var sharedLoads: UInt64 = 0
    /// Keys that were removed; removals of everything count as many as there were.
    public internal(set) var removals: UInt64 = 0
    /// Keys that the server said others changed.
    public internal(set) var invalidations: UInt64 = 0
    /// How often it said that all did.
    public internal(set) var flushes: UInt64 = 0
    /// Copies that were compared with the server; see
    /// ``RemoteTierConfiguration/stalenessSampling``.
    public internal(set) var stalenessChecks: UInt64 = 0
    /// How many of them were stale for how long, from the comparison until the server announced the
    /// change: first those below a millisecond, then below 2, 4, 8 and so on, and last all others.
    public internal(set) var staleMilliseconds = [UInt64](repeating: 0, count: Self.buckets)
    /// How many of them were stale, and the server announced no change as long as the copy lived:
    /// should be 0.
    public internal(set) var unannouncedChanges: UInt64 = 0
    /// Connections that were made.
    public internal(set) var connections: UInt64 = 0
    /// Connections that were lost.
    public internal(set) var lostConnections: UInt64 = 0
    /// Calls that took too long; part of ``failures``.
    public internal(set) var timeouts: UInt64 = 0
    /// Calls that threw.
    public internal(set) var failures: UInt64 = 0

    static let buckets = 17

    /// Statistics of a tier that nothing was asked of.
    ///
    /// - Complexity: O(1).
    public init() {}

    /// All figures in one line.
    public var description: String {
      """
      \(hits) hits, \(misses) misses, \(rememberedMisses) more remembered; \(writes) writes, \
      \(localWrites) local; \(confirmations) copies confirmed, \(refutedCopies) refuted; \
      \(bytesRead) bytes read, \(bytesWritten) written; \
      \(sharedLoads) loads of others awaited; \(removals) removals; \
      \(invalidations) invalidations, \(flushes) flushes; \(stalenessChecks) copies checked, \
      \(unannouncedChanges) changed unannounced; \(connections) connections, \
      \(lostConnections) lost; \(failures) failures, \(timeouts) of them timed out
      """
    }
  }
#endif
