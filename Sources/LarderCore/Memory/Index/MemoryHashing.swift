// SPDX-License-Identifier: MIT

/// Hashes keys with numbers that differ from cache to cache, so that nobody can
/// prepare keys that collide.
@usableFromInline
package struct MemoryHashing: Sendable {
  @usableFromInline let seed: UInt64
  /// Odd.
  @usableFromInline let factor: UInt64

  package init() {
    seed = .random(in: .min ... .max)
    factor = .random(in: .min ... .max) | 1
  }

  /// A product of 128 bits, folded: all of `bits` reach all of the hash.
  @inlinable @inline(__always)
  func mix(_ bits: UInt64) -> UInt64 {
    let product = (bits ^ seed).multipliedFullWidth(by: factor)
    return product.high ^ product.low
  }

  /// The comparisons of types are decided when the method is specialised.
  @inlinable @inline(__always)
  package func hash<Key: Hashable>(_ key: Key) -> UInt64 {
    if Key.self == Int.self {
      return mix(UInt64(truncatingIfNeeded: unsafeBitCast(key, to: Int.self)))
    }
    if Key.self == UInt.self {
      return mix(UInt64(truncatingIfNeeded: unsafeBitCast(key, to: UInt.self)))
    }
    if Key.self == UInt64.self { return mix(unsafeBitCast(key, to: UInt64.self)) }
    if Key.self == Int64.self {
      return mix(UInt64(bitPattern: unsafeBitCast(key, to: Int64.self)))
    }
    if Key.self == UInt32.self {
      return mix(UInt64(truncatingIfNeeded: unsafeBitCast(key, to: UInt32.self)))
    }
    if Key.self == Int32.self {
      return mix(UInt64(truncatingIfNeeded: unsafeBitCast(key, to: Int32.self)))
    }
    // A type's own `hashValue` may be poor.
    return mix(UInt64(truncatingIfNeeded: key.hashValue))
  }
}
