// SPDX-License-Identifier: MIT

import CLarderStore

/// Of which entry something in memory is: enough to know without a search that the store
/// still has it.
@usableFromInline
struct StoreTrace: Sendable {
  /// The entry's version.
  @usableFromInline var version: UInt64
  /// When it expires, and after how long without a read, in nanoseconds; `Int64.max` for never.
  @usableFromInline var expires = Int64.max
  @usableFromInline var idle = Int64.max
  /// The store's, from when on it has this version: changes whenever entries do; 0 if it is to
  /// be asked.
  @usableFromInline var state: UInt64 = 0
  /// After how many resumptions of the store that was.
  @usableFromInline var resumptions: UInt64 = 0

  @usableFromInline
  init(version: UInt64 = 0) {
    self.version = version
  }

  /// Takes the entry's version and times; the state stays.
  @usableFromInline
  mutating func follow(_ entry: borrowing StoreEntry) {
    version = entry.raw.sequence
    expires = entry.raw.expires_ns
    idle = entry.raw.idle_ns
  }
}
