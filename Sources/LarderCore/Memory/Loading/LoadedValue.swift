// SPDX-License-Identifier: MIT

/// What a load gives that knows more than the value: what it costs, how long it lives, and
/// whether it is kept at all.
///
/// ```swift
/// let page = try await pages.value(forKey: url) {
///   let response = try await fetch(url)
///   return LoadedValue(
///     response.body, expiration: .after(response.maximumAge),
///     isStored: !response.mustNotBeStored)
/// }
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct LoadedValue<Value: Sendable>: Sendable {
  /// What was loaded.
  public var value: Value
  /// What the entry weighs; nil: as the cache has it.
  public var cost: Int?
  /// How long it lives; nil: as the cache has it.
  public var expiration: Expiration?
  /// Whether it is stored. If not, only the callers that waited get it, and what was stored
  /// under the key before is removed.
  public var isStored: Bool

  /// Describes what was loaded.
  ///
  /// - Parameters:
  ///   - value: What was loaded.
  ///   - cost: What the entry weighs; nil: as the cache has it.
  ///   - expiration: How long it lives; nil: as the cache has it.
  ///   - isStored: Whether it is stored; if not, only the callers that waited get it.
  /// - Complexity: O(1).
  @inlinable
  public init(
    _ value: Value, cost: Int? = nil, expiration: Expiration? = nil, isStored: Bool = true
  ) {
    self.value = value
    self.cost = cost
    self.expiration = expiration
    self.isStored = isStored
  }

  /// The same as what was found where there may be nothing.
  @inlinable
  package var found: LoadedValue<Value?> {
    LoadedValue<Value?>(value, cost: cost, expiration: expiration, isStored: isStored)
  }
}

extension LoadedValue: Equatable where Value: Equatable {}
extension LoadedValue: Hashable where Value: Hashable {}
