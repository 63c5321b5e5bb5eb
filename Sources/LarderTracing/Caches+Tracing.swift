// SPDX-License-Identifier: MIT

#if Tracing
  public import Larder
  public import LarderCore
  public import Tracing

  extension MemoryCache {
    /// Reads the value under a key; if there is none, loads and stores it within a span.
    ///
    /// ```swift
    /// let user = try await users.value(forKey: id, tracing: "load user") {
    ///   try await server.user(id)
    /// }
    /// ```
    ///
    /// The span is a child of that of the caller which started the load, and has the load's
    /// failure. A value that is there, and a caller that waits for the load of another one, have
    /// none. Never is the key part of a span.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - operation: The span's name.
    ///   - cost: As of `value(forKey:cost:expiration:orLoad:)`.
    ///   - expiration: As there.
    ///   - load: Makes the value.
    /// - Returns: The value that was there or was loaded.
    /// - Throws: As `value(forKey:cost:expiration:orLoad:)`.
    /// - Complexity: As `value(forKey:cost:expiration:orLoad:)`.
    @inlinable
    public nonisolated(nonsending) func value(
      forKey key: Key, tracing operation: String, cost: Int? = nil, expiration: Expiration? = nil,
      orLoad load: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
      try await value(forKey: key, cost: cost, expiration: expiration) {
        try await withSpan(operation, ofKind: .client) { _ in try await load() }
      }
    }
  }

  extension Cache {
    /// Reads the value under a key; if neither memory nor a tier has one, loads and stores it
    /// within a span.
    ///
    /// ```swift
    /// let user = try await users.value(forKey: id, tracing: "load user") {
    ///   try await server.user(id)
    /// }
    /// ```
    ///
    /// The span is a child of that of the caller which started the load, and has the load's
    /// failure. A value that is there, and a caller that waits for the load of another one, have
    /// none. Never is the key part of a span.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - operation: The span's name.
    ///   - cost: As of `value(forKey:cost:expiration:orLoad:)`.
    ///   - expiration: As there.
    ///   - load: Makes the value.
    /// - Returns: The value that was there or was loaded.
    /// - Throws: As `value(forKey:cost:expiration:orLoad:)`.
    /// - Complexity: As `value(forKey:cost:expiration:orLoad:)`.
    @inlinable
    public nonisolated(nonsending) func value(
      forKey key: Key, tracing operation: String, cost: Int? = nil, expiration: Expiration? = nil,
      orLoad load: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
      try await value(forKey: key, cost: cost, expiration: expiration) {
        try await withSpan(operation, ofKind: .client) { _ in try await load() }
      }
    }
  }
#endif
