// SPDX-License-Identifier: MIT

public import Foundation
public import LarderCore

extension DiskCache {
  /// Reads the value under a key, which counts as a use: at once if it is in memory and short, and
  /// else on a thread of the cache's own.
  ///
  /// - Parameter key: The key.
  /// - Returns: The value; nil if there is none, or it has expired.
  /// - Throws: `.damaged` (there is one, but its bytes are not what was stored: it is
  ///   neither returned nor deleted), `.decoding`, `.encoding` (of the key), `.closed`, `.io`.
  /// - Complexity: O(log n) and what decoding takes; a change of threads where a device or a lock
  ///   may have to be waited for, and of more than 16 KiB.
  public nonisolated(nonsending) func value(forKey key: Key) async throws -> Value? {
    try await executor.read { try self.read(key, $0) }
  }

  /// Reads the value under a key and leaves no trace, as the awaited `value(forKey:)`.
  ///
  /// - Parameter key: The key.
  /// - Returns: The value; nil if there is none, or it has expired.
  /// - Throws: As `value(forKey:)`.
  /// - Complexity: As the awaited `value(forKey:)`.
  public nonisolated(nonsending) func peek(forKey key: Key) async throws -> Value? {
    try await executor.read { try self.read(key, $0.union(.peek)) }
  }

  /// Whether there is a value under a key; leaves no trace.
  ///
  /// - Parameter key: The key.
  /// - Returns: False also if the value has expired.
  /// - Throws: `.encoding` (of the key), `.damaged`, `.closed`, `.io`.
  /// - Complexity: O(log n), and a change of threads where a device or a lock may have to be waited
  ///   for.
  public nonisolated(nonsending) func contains(_ key: Key) async throws -> Bool {
    try await executor.read { how in
      if how.isEmpty { return try self.contains(key) }
      var isThere = false
      try self.keyCoder.borrow(key) { isThere = try self.store.contains($0, how) }
      return isThere
    }
  }

  /// Stores a value under a key, in place of what was there, on a thread of the cache's
  /// own, where it is also encoded.
  ///
  /// - Parameters:
  ///   - value: The value; nil removes what there is. It may be empty when encoded.
  ///   - key: The key.
  ///   - extendedData: Up to 64 KiB kept with the value; nil and empty for none.
  ///   - expiration: How long it lives; nil: as ``expiration`` says.
  ///   - durability: What it survives once the call returns; nil: as the configuration
  ///     said.
  /// - Throws: `.encoding`, `.tooLarge` (key or extended data), `.readOnly`, `.closed`,
  ///   `.diskFull`, `.io`, `.damaged`. On failure nothing has changed,
  ///   unless it was the sync of `.power` that failed: then the write is there, and may not
  ///   survive a power cut.
  /// - Complexity: O(bytes), and a change of threads.
  public func set(
    _ value: Value?, forKey key: Key, extendedData: Data? = nil, expiration: Expiration? = nil,
    durability: Durability? = nil
  ) async throws {
    try await executor.run {
      try self.set(
        value, forKey: key, extendedData: extendedData, expiration: expiration,
        durability: durability)
    }
  }

  /// Removes a key and its value, if there is one, on a thread of the cache's own.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - durability: What the removal survives once the call returns; nil: as the
  ///     configuration said.
  /// - Throws: `.encoding` (of the key), `.tooLarge`, `.readOnly`, `.closed`, `.diskFull`,
  ///   `.io`, `.damaged`.
  /// - Complexity: O(bytes of the key), and a change of threads.
  public func remove(forKey key: Key, durability: Durability? = nil) async throws {
    try await executor.run { try self.remove(forKey: key, durability: durability) }
  }
}
