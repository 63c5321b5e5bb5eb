// SPDX-License-Identifier: MIT

import LarderCore

/// Which keys a cache of entries takes.
///
/// The limits of older caches, which made file names of keys, for programs that want to
/// keep them. The rule is about the bytes that the ``KeyCoder`` makes.
///
/// **Concurrency.** A value; safe to pass between threads.
public enum EntryKeyRule: Sendable, Hashable, CaseIterable {
  /// Any key of up to 64 KiB; an empty one, slashes and zeros too.
  case any
  /// 1 to 120 of the letters `a` to `z`, digits, `_` and `-`, as DiskLruCache has it.
  case diskLruCache
  /// The same, and the letters `A` to `Z`, as SwiftyCache has it.
  case swiftyCache

  func check(_ key: StoreKey) throws(LarderError) {
    if self == .any || isFit(key.bytes) { return }
    throw LarderError(
      .invalidArgument,
      """
      A key of \(key.bytes.count) bytes is not of 1 to 120 of the characters \
      \(self == .diskLruCache ? "" : "A to Z, ")a to z, 0 to 9, _ and -, as the cache's rule \
      wants it.
      """)
  }

  private func isFit(_ key: UnsafeRawBufferPointer) -> Bool {
    (1...120).contains(key.count)
      && key.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
          UInt8(ascii: "_"), UInt8(ascii: "-"):
          true
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): self == .swiftyCache
        default: false
        }
      }
  }
}
