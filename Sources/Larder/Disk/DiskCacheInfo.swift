// SPDX-License-Identifier: MIT

import CLarderStore
public import Foundation
import LarderCore

/// What a cache on disk knows of an entry besides its value.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct DiskCacheInfo<Key: Sendable>: Sendable {
  /// What the entry is stored under.
  public let key: Key
  /// The bytes of the encoded value.
  public let size: Int
  /// A number that grows with every write to the cache, and so tells whether an entry is
  /// still the same, as `compareAndSet` wants to know.
  public let version: UInt64
  /// When it was written.
  public let written: Date
  /// When it expires, if it is not used again; nil for never. A cache that was opened for reading
  /// only does not know of uses since the last checkpoint.
  public let expires: Date?
  /// What was stored with the value; nil if there is nothing.
  public let extendedData: Data?
  /// What a ``Cache`` that has this one under it was told that the entry weighs in memory;
  /// nil if nobody said.
  public let cost: Int?
  /// When it was last used or written; nil unless its end is counted from there.
  package let lastUse: Date?

  init(_ entry: borrowing StoreEntry, _ key: Key, _ limits: StoreLimits) {
    self.key = key
    size = Int(clamping: entry.valueCount)
    version = entry.sequence
    written = entry.written
    let deadline = entry.deadline(limits)
    expires = deadline == .max ? nil : Date(nanoseconds: deadline)
    extendedData = entry.extended.isEmpty ? nil : Data(copied: entry.extended)
    cost = entry.cost
    let end = entry.raw.expires_ns
    let use = entry.idle.map { end.subtractingReportingOverflow($0) }
    lastUse = use.flatMap { $0.overflow || end == .max ? nil : Date(nanoseconds: $0.partialValue) }
  }
}

extension DiskCacheInfo: Equatable where Key: Equatable {}
extension DiskCacheInfo: Hashable where Key: Hashable {}
