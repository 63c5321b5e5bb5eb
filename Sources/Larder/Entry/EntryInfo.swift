// SPDX-License-Identifier: MIT

import CLarderStore
public import Foundation
import LarderCore

/// What a cache of entries knows of one besides its values.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct EntryInfo<Key: Sendable>: Sendable {
  /// What the entry is stored under.
  public let key: Key
  /// The bytes of each value.
  public let lengths: [Int]
  /// A number that grows with every write to the cache.
  public let version: UInt64
  /// When the entry was written.
  public let written: Date
  /// When it expires, if it is not used again; nil for never. A cache that was opened for reading
  /// only does not know of uses since the last checkpoint.
  public let expires: Date?

  /// The bytes of all values.
  ///
  /// - Complexity: O(values).
  public var size: Int { lengths.reduce(0, +) }

  /// nil if the entry is not one of so many values.
  init?(
    _ entry: borrowing StoreEntry, _ key: @autoclosure () throws -> Key, valueCount: Int,
    _ limits: StoreLimits
  ) rethrows {
    guard
      let head = EntryHead(entry.extended, valueCount: valueCount, size: entry.valueCount)
    else { return nil }
    self.key = try key()
    lengths = (0..<valueCount).map { Int(clamping: head.length(at: $0)) }
    version = entry.sequence
    written = entry.written
    let deadline = entry.deadline(limits)
    expires = deadline == .max ? nil : Date(nanoseconds: deadline)
  }
}

extension EntryInfo: Equatable where Key: Equatable {}
extension EntryInfo: Hashable where Key: Hashable {}
