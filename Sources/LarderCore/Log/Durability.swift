// SPDX-License-Identifier: MIT

/// What a write survives once it has returned.
///
/// | level | when the call returns | after `kill -9` | after a power cut |
/// |---|---|---|---|
/// | ``process`` | in the page cache | everything written | all but the last sync interval |
/// | ``power`` | synced | everything written | everything written |
///
/// At both levels what comes back is a prefix: never a later write without an
/// earlier one, never half a one.
public enum Durability: Sendable, Hashable {
  /// Survives the end of the process, at the speed of memory.
  case process

  /// Survives a power cut. Concurrent callers share one sync of the device.
  ///
  /// On Apple systems syncing means `F_FULLFSYNC`. When the sync fails the call throws, and what it
  /// wrote is there all the same: a power cut may take it. The next sync writes it anew.
  case power
}
