// SPDX-License-Identifier: MIT

/// What an append survives once it has returned.
///
/// | level | when the call returns | after `kill -9` | after a power cut |
/// |---|---|---|---|
/// | ``process`` | in the page cache | everything appended | a prefix of it: at most the last sync interval is lost |
/// | ``power`` | synced | everything appended | everything appended |
///
/// At both levels what comes back is a prefix: never a later message without an
/// earlier one, never half a message.
public enum Durability: Sendable, Hashable {
  /// Survives the end of the process, at the speed of memory.
  case process

  /// Survives a power cut. Concurrent callers share one sync of the device.
  ///
  /// On Apple systems syncing means `F_FULLFSYNC`.
  case power
}
