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
  /// On Apple systems syncing means `F_FULLFSYNC`. If the sync fails, the call throws, but what it
  /// wrote is still there: a power cut may lose it. The next sync writes it again.
  case power
}
