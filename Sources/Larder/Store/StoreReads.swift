// SPDX-License-Identifier: MIT

import CLarder
import CLarderStore
import Synchronization

/// Where a store gets reads from that it does not see, because a cache in memory above it
/// answered them: each checkpoint asks for them before it decides about eviction.
final class StoreReads: Sendable {
  /// Hands its reads over; false when it never will again.
  typealias Source = @Sendable (_ store: OpaquePointer) -> Bool

  private let sources = Mutex<[Source]>([])

  func add(_ source: @escaping Source) { sources.withLock { $0.append(source) } }

  /// Called by one thread at a time.
  ///
  /// - Returns: Whether there are sources.
  func handOver(to store: OpaquePointer) -> Bool {
    let asked = sources.withLock { $0 }
    // Not while locked: a source runs the coder of keys.
    let isLasting = asked.map { $0(store) }
    return sources.withLock { all in
      let added = all.dropFirst(asked.count)
      all = zip(asked, isLasting).filter(\.1).map(\.0) + added
      return !all.isEmpty
    }
  }

  /// Tells the store of reads: each with its key's bytes, and when it was, in nanoseconds
  /// since 1970.
  ///
  /// What fails is dropped: the order of use is then what it would be without.
  static func tell(
    _ store: OpaquePointer, of reads: [(key: Range<Int>, time: Int64)], in bytes: [UInt8]
  ) {
    bytes.withUnsafeBytes { bytes in
      let noted = reads.map {
        larder_store_noted_read(
          key: larder_bytes(UnsafeRawBufferPointer(rebasing: bytes[$0.key])), read_ns: $0.time)
      }
      _ = larder_store_touch_many(store, noted, noted.count)
    }
  }
}
