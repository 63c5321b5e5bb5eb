// SPDX-License-Identifier: MIT

public import Foundation

/// Reads and writes that happen as if nothing else did meanwhile; see
/// `transaction(durability:_:)`.
///
/// **Concurrency.** Belongs to the closure that got it.
public struct DiskCacheTransaction<Key: Hashable & Sendable, Value: Sendable>: ~Copyable {
  let batch: DiskCacheBatch<Key, Value>
  /// What was read or written: a value, or nil for none.
  private var known: [Key: Value?] = [:]

  init(_ cache: DiskCache<Key, Value>) throws(LarderError) { batch = try DiskCacheBatch(cache) }

  /// Reads the value under a key, as the transaction's own writes left it. Does not count
  /// as a use.
  ///
  /// - Parameter key: The key.
  /// - Returns: The value; nil if there is none, or it has expired.
  /// - Throws: `.damaged`, `.decoding`, `.encoding` (of the key), `.closed`, `.io`.
  /// - Complexity: O(log n) the first time, and what decoding takes.
  public mutating func value(forKey key: Key) throws -> Value? {
    if let value = known[key] { return value }
    let found = try batch.cache.readVersioned(key)
    try batch.require(key, version: found?.version ?? 0)
    known.updateValue(found?.value, forKey: key)
    return found?.value
  }

  /// Stores a value under a key when the transaction ends.
  ///
  /// - Parameters:
  ///   - value: The value; nil removes what there is.
  ///   - key: The key.
  ///   - extendedData: Up to 64 KiB kept with the value; nil and empty for none.
  ///   - expiration: How long it lives; nil: as the cache says.
  /// - Throws: As ``DiskCacheBatch/set(_:forKey:extendedData:expiration:)``.
  /// - Complexity: O(bytes).
  public mutating func set(
    _ value: Value?, forKey key: Key, extendedData: Data? = nil, expiration: Expiration? = nil
  ) throws {
    try batch.set(value, forKey: key, extendedData: extendedData, expiration: expiration)
    known.updateValue(value, forKey: key)
  }

  /// Removes a key and its value when the transaction ends.
  ///
  /// - Parameter key: The key.
  /// - Throws: As ``DiskCacheBatch/remove(forKey:)``.
  /// - Complexity: O(bytes of the key).
  public mutating func remove(forKey key: Key) throws {
    try batch.remove(forKey: key)
    known.updateValue(nil, forKey: key)
  }

  func commit(_ durability: Durability?) throws(LarderError) -> UInt64? {
    try batch.commit(durability)
  }
}
