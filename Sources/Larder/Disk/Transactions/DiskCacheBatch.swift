// SPDX-License-Identifier: MIT

public import Foundation

/// Writes that happen together or not at all; see `batch(durability:_:)`.
///
/// **Concurrency.** Belongs to the closure that got it.
public struct DiskCacheBatch<Key: Hashable & Sendable, Value: Sendable>: ~Copyable {
  let cache: DiskCache<Key, Value>
  let writes: StoreBatch

  init(_ cache: DiskCache<Key, Value>) throws(LarderError) {
    self.cache = cache
    writes = try StoreBatch(cache.store)
  }

  /// Adds the storing of a value under a key.
  ///
  /// - Parameters:
  ///   - value: The value; nil removes what there is.
  ///   - key: The key. Of several writes to it in one batch the last counts.
  ///   - extendedData: Up to 64 KiB kept with the value; nil and empty for none.
  ///   - expiration: How long it lives; nil: as the cache says.
  /// - Throws: `.encoding`, `.tooLarge` (key, extended data, or a batch of several writes,
  ///   which fits into half of ``StoreConfiguration/journalCapacity``), `.readOnly`,
  ///   `.closed`.
  /// - Complexity: O(bytes). No disk access.
  public func set(
    _ value: Value?, forKey key: Key, extendedData: Data? = nil, expiration: Expiration? = nil
  ) throws {
    guard let value else { return try remove(forKey: key) }
    let terms = cache.terms(key, value, expiration, nil).unsynced
    try cache.keyCoder.borrow(key) { keyBytes in
      try (extendedData ?? Data()).withUnsafeBytes { extended in
        do {
          _ = try cache.coder.borrow(value) { bytes throws(LarderError) in
            try writes.put(keyBytes, bytes, extended: extended, terms: terms)
            return 0
          }
        } catch {
          throw Coder<Value>.encodingFailure(error)
        }
      }
    }
  }

  /// Adds the removal of a key and its value.
  ///
  /// - Parameter key: The key.
  /// - Throws: `.encoding`, `.tooLarge`, `.readOnly`, `.closed`.
  /// - Complexity: O(bytes of the key).
  public func remove(forKey key: Key) throws {
    try cache.keyCoder.borrow(key) { try writes.remove($0) }
  }

  /// Makes the commit depend on the key having that version; 0: on there being none.
  func require(_ key: Key, version: UInt64) throws {
    try cache.keyCoder.borrow(key) { try writes.require($0, version: version) }
  }

  func commit(_ durability: Durability?) throws(LarderError) -> UInt64? {
    try writes.commit(isSynced: (durability ?? cache.durability) == .power)
  }
}
