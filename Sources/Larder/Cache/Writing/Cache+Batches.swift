// SPDX-License-Identifier: MIT

public import LarderCore

extension Cache {
  // MARK: - Blocking

  /// Reads the values under many keys, as `value(forKey:)` does one after the other.
  ///
  /// - Parameter keys: The keys.
  /// - Returns: What there is; a key without a value is missing.
  /// - Throws: As `value(forKey:)`.
  /// - Complexity: That of `value(forKey:)` for each.
  @inlinable
  public func values(forKeys keys: some Sequence<Key>) throws -> [Key: Value] {
    var values: [Key: Value] = [:]
    for key in keys {
      if let value = try value(forKey: key) { values[key] = value }
    }
    return values
  }

  /// Stores many values, as `set(_:forKey:cost:extendedData:expiration:durability:)` does
  /// one after the other.
  ///
  /// - Parameters:
  ///   - entries: Keys and values, of a dictionary for example. Of two values under one key
  ///     the later stays.
  ///   - cost: What each entry weighs; nil: what the memory's configuration says.
  ///   - expiration: How long each lives; nil: as each tier has it.
  /// - Throws: As `set`; what comes before in the sequence is stored then, what comes
  ///   behind is not.
  /// - Complexity: That of `set` for each.
  @inlinable
  public func set(
    _ entries: some Sequence<(key: Key, value: Value)>, cost: Int? = nil,
    expiration: Expiration? = nil
  ) throws {
    for (key, value) in entries {
      try set(value, forKey: key, cost: cost, expiration: expiration)
    }
  }

  /// Removes many keys and their values, as `remove(forKey:)` does one after the other.
  ///
  /// - Parameter keys: The keys.
  /// - Throws: As `remove(forKey:)`; those that come before in the sequence are removed
  ///   then.
  /// - Complexity: That of `remove(forKey:)` for each.
  @inlinable
  public func remove(forKeys keys: some Sequence<Key>) throws {
    for key in keys { try erase(key) }
  }

  // MARK: - Suspending

  /// Reads the values under many keys, as `value(forKey:)` does one after the other.
  ///
  /// - Parameter keys: The keys.
  /// - Returns: What there is; a key without a value is missing.
  /// - Throws: As `value(forKey:)`.
  /// - Complexity: That of `value(forKey:)` for each.
  public nonisolated(nonsending) func values(
    forKeys keys: some Sequence<Key>
  ) async throws -> [Key: Value] {
    var values: [Key: Value] = [:]
    for key in keys {
      if let value = try await value(forKey: key) { values[key] = value }
    }
    return values
  }

  /// Stores many values, as `set(_:forKey:cost:extendedData:expiration:durability:)` does
  /// one after the other.
  ///
  /// - Parameters:
  ///   - entries: Keys and values, of a dictionary for example. Of two values under one key
  ///     the later stays.
  ///   - cost: What each entry weighs; nil: what the memory's configuration says.
  ///   - expiration: How long each lives; nil: as each tier has it.
  /// - Throws: As `set`; what comes before in the sequence is stored then, what comes
  ///   behind is not.
  /// - Complexity: That of `set` for each.
  public nonisolated(nonsending) func set(
    _ entries: some Sequence<(key: Key, value: Value)>, cost: Int? = nil,
    expiration: Expiration? = nil
  ) async throws {
    for (key, value) in entries {
      try await write(Entry(value: value, cost: cost, expiration: expiration), key)
    }
  }

  /// Removes many keys and their values, as `remove(forKey:)` does one after the other.
  ///
  /// - Parameter keys: The keys.
  /// - Throws: As `remove(forKey:)`; those that come before in the sequence are removed
  ///   then.
  /// - Complexity: That of `remove(forKey:)` for each.
  public nonisolated(nonsending) func remove(forKeys keys: some Sequence<Key>) async throws {
    for key in keys { try await write(nil, key) }
  }
}
