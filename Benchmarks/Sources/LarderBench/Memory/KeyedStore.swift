// SPDX-License-Identifier: MIT
import Foundation
import LarderCore
import Synchronization

/// What the loops of this area call: ours and the rivals alike. The loops are generic and in this
/// module, so the compiler makes one of its own for each store and inlines into it what it can.
protocol KeyedStore<Key, Value>: Sendable {
  associatedtype Key: Hashable & Sendable
  associatedtype Value: Sendable

  func read(_ key: Key) -> Value?
  func put(_ value: Value, under key: Key)
}

extension MemoryCache: KeyedStore {
  @inline(__always) func read(_ key: Key) -> Value? { value(forKey: key) }
  @inline(__always) func put(_ value: Value, under key: Key) { set(value, forKey: key) }
}

/// The rival: the standard library's dictionary behind the standard library's lock, as one writes
/// it who needs a cache and no limits.
final class LockedDictionary<Key: Hashable & Sendable, Value: Sendable>: KeyedStore {
  private let entries = Mutex<[Key: Value]>([:])

  init(capacity: Int = 0) {
    if capacity > 0 { entries.withLock { $0.reserveCapacity(capacity) } }
  }

  @inline(__always) func read(_ key: Key) -> Value? { entries.withLock { $0[key] } }

  @inline(__always) func put(_ value: Value, under key: Key) {
    entries.withLock { $0[key] = value }
  }
}

/// Foundation's cache, with the boxes that it demands made for each call, as its callers have to.
final class FoundationCache: KeyedStore {
  // Foundation documents it as safe for threads, and does not say so in its type everywhere.
  nonisolated(unsafe) private let cache = NSCache<NSNumber, NSNumber>()

  func read(_ key: Int) -> Int? { cache.object(forKey: NSNumber(value: key))?.intValue }

  func put(_ value: Int, under key: Int) {
    cache.setObject(NSNumber(value: value), forKey: NSNumber(value: key))
  }
}

extension Rival {
  static let lockedDictionary = Rival(
    name: "Dictionary + Mutex",
    settings: """
      a Dictionary inside Synchronization.Mutex in a final class, withLock { $0[key] }, \
      specialised for its types; it has no limit, order, expiry or statistics
      """)

  static let foundationCache = Rival(
    name: "NSCache",
    settings: "NSCache<NSNumber, NSNumber> without limits, numbers boxed for each call")
}
