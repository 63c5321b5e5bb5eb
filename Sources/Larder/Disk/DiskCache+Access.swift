// SPDX-License-Identifier: MIT

public import Foundation
public import LarderCore
public import Synchronization

// What is inlined into programs: there it is specialised for their keys and values.
extension DiskCache {
  /// Reads the value under a key, which counts as a use.
  ///
  /// Nothing is written by it. `Data` of more than 20 KiB is not copied: it lies on the
  /// pages of the log, and stays good whatever happens to the entry.
  ///
  /// - Parameter key: The key.
  /// - Returns: The value; nil if there is none, or it has expired.
  /// - Throws: `.damaged` (there is one, but its bytes are not what was stored: it is
  ///   neither returned nor deleted), `.decoding`, `.encoding` (of the key), `.closed`, `.io`.
  /// - Complexity: O(log n + bytes), the latter for the checksum and for decoding. No disk
  ///   read if the system has the pages in memory.
  @inlinable
  public func value(forKey key: Key) throws -> Value? {
    try read(key, .use)
  }

  /// Reads the value under a key and leaves no trace: neither the order of use nor the
  /// statistics change.
  ///
  /// - Parameter key: The key.
  /// - Returns: The value; nil if there is none, or it has expired.
  /// - Throws: As `value(forKey:)`.
  /// - Complexity: As `value(forKey:)`.
  @inlinable
  public func peek(forKey key: Key) throws -> Value? {
    try read(key, .peek)
  }

  /// Whether there is a value under a key; leaves no trace.
  ///
  /// - Parameter key: The key.
  /// - Returns: False also if the value has expired.
  /// - Throws: `.encoding` (of the key), `.damaged`, `.closed`, `.io`.
  /// - Complexity: O(log n).
  @inlinable
  public func contains(_ key: Key) throws -> Bool {
    var isThere = false
    try keyCoder.borrow(key) { isThere = try store.contains($0) }
    return isThere
  }

  /// Stores a value under a key, in place of what was there.
  ///
  /// - Parameters:
  ///   - value: The value; nil removes what there is. It may be empty when encoded.
  ///   - key: The key.
  ///   - extendedData: Up to 64 KiB kept with the value, and read with it or without it;
  ///     nil and empty for none.
  ///   - expiration: How long it lives; nil: as ``expiration`` says.
  ///   - durability: What it survives once the call returns, and with it all that was
  ///     written before; nil: as the configuration said.
  /// - Throws: `.encoding`, `.tooLarge` (key or extended data), `.readOnly`, `.closed`;
  ///   `.diskFull` and `.io` of a new segment of the log, or of a checkpoint that had to
  ///   make room; `.damaged`. On failure nothing has changed, unless it was the sync of
  ///   `.power` that failed: then the write is there, and may not survive a power cut.
  /// - Complexity: O(bytes). No disk access unless a segment is full and no other one is
  ///   ready, or too much waits for a checkpoint. At a durability of `.power` one sync,
  ///   shared with concurrent callers.
  @inlinable
  public func set(
    _ value: Value?, forKey key: Key, extendedData: Data? = nil, expiration: Expiration? = nil,
    durability: Durability? = nil
  ) throws {
    try set(value, key, extendedData, expiration, durability, .use)
  }

  /// Removes a key and its value, if there is one.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - durability: What the removal survives once the call returns; nil: as the
  ///     configuration said.
  /// - Throws: As `set(_:forKey:extendedData:expiration:durability:)`.
  /// - Complexity: O(bytes of the key), as a write.
  @inlinable
  public func remove(forKey key: Key, durability: Durability? = nil) throws {
    try remove(key, durability)
  }
}

// MARK: - What they have in common

extension DiskCache {
  @inlinable
  func set(
    _ value: Value?, _ key: Key, _ extendedData: Data?, _ expiration: Expiration?,
    _ durability: Durability?, _ how: StoreReading
  ) throws {
    guard let value else { return try remove(key, durability, how) }
    var terms = terms(key, value, expiration, durability)
    terms.flags |= how.rawValue
    _ = try put(value, key, extendedData, terms)
  }

  @inlinable
  func read(_ key: Key, _ how: StoreReading) throws -> Value? {
    var value: Value?
    try keyCoder.borrow(key) { bytes in
      _ = try store.read(bytes, how) { entry in value = try decode(&entry) }
    }
    return value
  }

  @inlinable
  func decode(_ entry: inout StoreEntry) throws -> Value {
    if coder.isIdentity, entry.isLent, let data = entry.takeData() as? Value { return data }
    return try coder.decode(entry.value)
  }

  @inlinable
  func put(
    _ value: Value, _ key: Key, _ extendedData: Data?, _ terms: StoreTerms,
    _ indexes: [StoreIndexValue] = []
  ) throws -> UInt64 {
    var version: UInt64 = 0
    try keyCoder.borrow(key) { keyBytes in
      do {
        version = try coder.borrow(value) { bytes throws(LarderError) in
          executor.noteLength(bytes.count)
          guard let extendedData else {
            return try store.put(
              keyBytes, bytes, extended: UnsafeRawBufferPointer(start: nil, count: 0), terms: terms,
              indexes: indexes)
          }
          return try put(keyBytes, bytes, extendedData, terms, indexes)
        }
      } catch {
        throw encodingFailure(error)
      }
    }
    return version
  }

  /// Whether it is likely to take little time to encode the next value.
  @inlinable
  var encodesShortly: Bool { coder.isIdentity || executor.encodesShortly }

  @usableFromInline
  func encodingFailure(_ error: any Error) -> any Error { Coder<Value>.encodingFailure(error) }

  @usableFromInline
  func put(
    _ key: StoreKey, _ value: UnsafeRawBufferPointer, _ extendedData: Data,
    _ terms: StoreTerms, _ indexes: [StoreIndexValue]
  ) throws(LarderError) -> UInt64 {
    let result = extendedData.withUnsafeBytes { extended in
      Result { () throws(LarderError) in
        try store.put(key, value, extended: extended, terms: terms, indexes: indexes)
      }
    }
    return try result.get()
  }

  /// Whether a write of that durability, or of the cache's, is synced.
  @inlinable
  func waitsForDevice(_ durability: Durability?) -> Bool {
    (durability ?? self.durability) == .power
  }

  @inlinable
  func remove(_ key: Key, _ durability: Durability?, _ how: StoreReading = .use) throws {
    let isSynced = waitsForDevice(durability)
    try keyCoder.borrow(key) { try store.remove($0, isSynced: isSynced, how) }
  }

  @inlinable
  func terms(
    _ key: Key, _ value: Value, _ expiration: Expiration?, _ durability: Durability?
  ) -> StoreTerms {
    let expiration = lives.own(expiration, key, value)
    if expiration == nil, durability == nil {
      return StoreTerms(idle: defaultIdle.load(ordering: .relaxed), flags: defaultFlags)
    }
    return ownTerms(expiration, durability)
  }

  @usableFromInline
  func ownTerms(_ expiration: Expiration?, _ durability: Durability?) -> StoreTerms {
    let flags = durability.map(StoreTerms.flags) ?? defaultFlags
    guard let expiration else {
      return StoreTerms(idle: defaultIdle.load(ordering: .relaxed), flags: flags)
    }
    return StoreTerms(expiration, now: clock.nanoseconds, flags: flags)
  }
}
