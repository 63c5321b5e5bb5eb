// SPDX-License-Identifier: MIT

/// Defects that a library like this could have. They are planted between the library and its
/// trials, which behave as if it had them, to show that the trials find them.
enum Plant: String, CaseIterable {
  /// A commit stores one value after the other.
  case tornCommit = "torn-commit"
  /// A call returns, and only the next one does what it was to do.
  case earlyAcknowledgement = "early-acknowledgement"
  /// An edit that is given up costs the entry.
  case abortRemoves = "abort-removes"
  /// The size forgets what was replaced.
  case sizeDrifts = "size-drifts"
  /// In place of what is damaged there is somebody else's.
  case neighbour = "neighbour"
  /// What elements were found by stays when they change.
  case staleIndex = "stale-index"
  /// A limit of what is wanted is not kept.
  case limitIgnored = "limit-ignored"
  /// What is greater than the greatest value includes that.
  case boundIncluded = "bound-included"
  /// A migration that goes on does some elements otherwise.
  case migratesTwice = "migrates-twice"
  /// What is suspended keeps its lock.
  case keepsLock = "keeps-lock"
  /// Of several, the last is not deleted.
  case deleteForgets = "delete-forgets"
  /// A query leaves out what is damaged, and does not say so.
  case damagePassed = "damage-passed"
  /// What was buried is buried again after a kill.
  case buriesTwice = "buries-twice"
  /// What is destroyed is what lies at the path.
  case destroysByPath = "destroys-by-path"
  /// Hot keys go to what lies at the path.
  case keepsHotKeysByPath = "keeps-hot-keys-by-path"
  /// A long value's file is made in what lies at the path.
  case spoolsByPath = "spools-by-path"
}
