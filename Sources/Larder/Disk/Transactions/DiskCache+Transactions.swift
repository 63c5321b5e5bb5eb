// SPDX-License-Identifier: MIT

public import Foundation
import LarderCore

extension DiskCache {
  /// Reads and writes that happen as if nothing else did meanwhile, or not at all.
  ///
  /// Nothing is locked. What was read is compared when the closure has returned; if any of
  /// it has been written by others since, the closure is run again.
  ///
  /// ```swift
  /// try cache.transaction { transaction in
  ///   let balance = try transaction.value(forKey: payer) ?? 0
  ///   try transaction.set(balance - amount, forKey: payer)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - durability: What the writes survive once the call returns; nil: as the
  ///     configuration said.
  ///   - body: Reads and writes; may be run several times. If it throws, nothing is
  ///     written.
  /// - Returns: What the closure returned when it was run last.
  /// - Throws: What the closure throws; `.conflict` if others were faster a thousand times;
  ///   `.readOnly`, `.closed`, `.diskFull`, `.io`, `.damaged`. Nothing was written then.
  /// - Complexity: O(bytes + keys read · log n) for each run.
  @discardableResult
  public func transaction<R>(
    durability: Durability? = nil,
    _ body: (inout DiskCacheTransaction<Key, Value>) throws -> R
  ) throws -> R {
    for _ in 0..<1000 {
      var transaction = try DiskCacheTransaction(self)
      let result = try body(&transaction)
      if try transaction.commit(durability) != nil { return result }
    }
    throw LarderError(
      .conflict,
      "A transaction on \(path) was run 1000 times, and each time others wrote what it read.")
  }

  /// Changes the value under a key in one step: nobody changes it meanwhile.
  ///
  /// ```swift
  /// try counts.update(forKey: word) { $0 = ($0 ?? 0) + 1 }
  /// ```
  ///
  /// Extended data stays as it is.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - expiration: How long the entry lives from now on; nil: as ``expiration`` says.
  ///   - durability: What the change survives once the call returns; nil: as the
  ///     configuration said.
  ///   - body: Gets the value, nil if there is none, or it has expired, and leaves what is
  ///     to be stored, nil for nothing. May be run several times. If it throws, nothing
  ///     changes.
  /// - Returns: What the closure returned when it was run last.
  /// - Throws: As `transaction(durability:_:)`.
  /// - Complexity: O(log n + bytes) for each run.
  @discardableResult
  public func update<R>(
    forKey key: Key, expiration: Expiration? = nil, durability: Durability? = nil,
    _ body: (inout Value?) throws -> R
  ) throws -> R {
    try transaction(durability: durability) { transaction in
      let found = try readVersioned(key)
      var value = found?.value
      let result = try body(&value)
      try transaction.batch.require(key, version: found?.version ?? 0)
      try transaction.batch.set(
        value, forKey: key, extendedData: found?.extendedData, expiration: expiration)
      return result
    }
  }

  /// Reads the value under a key with its version, for
  /// `compareAndSet(_:forKey:version:extendedData:expiration:durability:)`. Leaves
  /// no trace.
  ///
  /// - Parameter key: The key.
  /// - Returns: Value and version; nil if there is no value, or it has expired.
  /// - Throws: As `value(forKey:)`.
  /// - Complexity: O(log n), and what decoding takes.
  public func versionedValue(forKey key: Key) throws -> (value: Value, version: UInt64)? {
    try readVersioned(key).map { ($0.value, $0.version) }
  }

  /// Stores a value if nobody has written to its key since.
  ///
  /// - Parameters:
  ///   - value: The value; nil removes what there is.
  ///   - key: The key.
  ///   - version: What `versionedValue(forKey:)` or `info(forKey:)` gave; nil if there
  ///     was no value.
  ///   - extendedData: Up to 64 KiB kept with the value; nil and empty for none.
  ///   - expiration: How long it lives; nil: as ``expiration`` says.
  ///   - durability: What it survives once the call returns; nil: as the configuration
  ///     said.
  /// - Returns: Whether it was stored; if not, nothing has changed.
  /// - Throws: As `set(_:forKey:extendedData:expiration:durability:)`.
  /// - Complexity: O(log n + bytes).
  public func compareAndSet(
    _ value: Value?, forKey key: Key, version: UInt64?, extendedData: Data? = nil,
    expiration: Expiration? = nil, durability: Durability? = nil
  ) throws -> Bool {
    let batch = try DiskCacheBatch(self)
    try batch.require(key, version: version ?? 0)
    try batch.set(value, forKey: key, extendedData: extendedData, expiration: expiration)
    return try batch.commit(durability) != nil
  }

  /// A value with all that a change of it wants to know.
  func readVersioned(
    _ key: Key
  ) throws -> (value: Value, version: UInt64, extendedData: Data?)? {
    var found: (Value, UInt64, Data?)?
    try keyCoder.borrow(key) { bytes in
      _ = try store.read(bytes, .peek) { entry in
        let extended = entry.extended.isEmpty ? nil : Data(copied: entry.extended)
        let version = entry.sequence
        found = (try decode(&entry), version, extended)
      }
    }
    return found
  }
}

extension DiskCache where Value: Equatable {
  /// Stores a value if there is a certain one now.
  ///
  /// - Parameters:
  ///   - value: The value; nil removes what there is.
  ///   - key: The key.
  ///   - expected: What must be there; nil: no value.
  ///   - expiration: How long it lives; nil: as ``expiration`` says.
  ///   - durability: What it survives once the call returns; nil: as the configuration
  ///     said.
  /// - Returns: Whether it was stored; if not, nothing has changed.
  /// - Throws: As `transaction(durability:_:)`.
  /// - Complexity: O(log n + bytes).
  public func compareAndSet(
    _ value: Value?, forKey key: Key, expected: Value?, expiration: Expiration? = nil,
    durability: Durability? = nil
  ) throws -> Bool {
    while true {
      let found = try readVersioned(key)
      if found?.value != expected { return false }
      if try compareAndSet(
        value, forKey: key, version: found?.version, extendedData: found?.extendedData,
        expiration: expiration, durability: durability)
      {
        return true
      }
    }
  }
}
