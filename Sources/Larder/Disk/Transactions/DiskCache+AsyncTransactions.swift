// SPDX-License-Identifier: MIT

public import Foundation

extension DiskCache {
  /// As the synchronous form, on a thread of the cache's own: reads and writes that happen
  /// as if nothing else did meanwhile, or not at all.
  ///
  /// - Parameters:
  ///   - durability: What the writes survive once the call returns; nil: as the
  ///     configuration said.
  ///   - body: Reads and writes; may be run several times. If it throws, nothing is
  ///     written.
  /// - Returns: What the closure returned when it was run last.
  /// - Throws: What the closure throws; `.conflict`, `.readOnly`, `.closed`, `.diskFull`,
  ///   `.io`, `.damaged`. Nothing was written then.
  /// - Complexity: O(bytes + keys read · log n) for each run.
  @discardableResult
  public func transaction<R: Sendable>(
    durability: Durability? = nil,
    _ body: @escaping @Sendable (inout DiskCacheTransaction<Key, Value>) throws -> R
  ) async throws -> R {
    try await executor.run { try self.transaction(durability: durability, body) }
  }

  /// As the synchronous form, on a thread of the cache's own: changes the value under a key
  /// in one step.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - expiration: How long the entry lives from now on; nil: as ``expiration`` says.
  ///   - durability: What the change survives once the call returns; nil: as the
  ///     configuration said.
  ///   - body: Gets the value, nil if there is none, and leaves what is to be stored, nil
  ///     for nothing. May be run several times. If it throws, nothing changes.
  /// - Returns: What the closure returned when it was run last.
  /// - Throws: As `transaction(durability:_:)`.
  /// - Complexity: O(log n + bytes) for each run, and a change of threads.
  @discardableResult
  public func update<R: Sendable>(
    forKey key: Key, expiration: Expiration? = nil, durability: Durability? = nil,
    _ body: @escaping @Sendable (inout Value?) throws -> R
  ) async throws -> R {
    try await executor.run {
      try self.update(forKey: key, expiration: expiration, durability: durability, body)
    }
  }

  /// As the synchronous form, on a thread of the cache's own: reads the value under a key
  /// with its version.
  ///
  /// - Parameter key: The key.
  /// - Returns: Value and version; nil if there is no value, or it has expired.
  /// - Throws: `.damaged`, `.decoding`, `.encoding` (of the key), `.closed`, `.io`.
  /// - Complexity: O(log n), and what decoding takes.
  public func versionedValue(
    forKey key: Key
  ) async throws -> (value: Value, version: UInt64)? {
    try await executor.run { try self.versionedValue(forKey: key) }
  }

  /// As the synchronous form, on a thread of the cache's own: stores a value if nobody has
  /// written to its key since.
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
  /// - Throws: `.encoding`, `.tooLarge`, `.readOnly`, `.closed`, `.diskFull`, `.io`,
  ///   `.damaged`.
  /// - Complexity: O(log n + bytes), and a change of threads.
  public func compareAndSet(
    _ value: Value?, forKey key: Key, version: UInt64?, extendedData: Data? = nil,
    expiration: Expiration? = nil, durability: Durability? = nil
  ) async throws -> Bool {
    try await executor.run {
      try self.compareAndSet(
        value, forKey: key, version: version, extendedData: extendedData, expiration: expiration,
        durability: durability)
    }
  }
}
