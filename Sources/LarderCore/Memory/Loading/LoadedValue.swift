// SPDX-License-Identifier: MIT

public import Foundation

/// What a load gives that knows more than the value: what it costs, how long it lives, what is kept
/// with it, and whether it is kept at all.
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
  /// What is kept with the value, for the next load of it: an `ETag`, for example. nil for nothing.
  public var extendedData: Data?
  /// How long it lives; nil: as the cache has it.
  public var expiration: Expiration?
  /// How long after now it is to be loaded again; nil: as
  /// ``MemoryCacheConfiguration/refreshAfter`` says.
  ///
  /// In a ``MemoryCache`` by itself that has to be set for this to count.
  public var refreshAfter: Duration?
  /// Whether it is stored. If not, only the callers that waited get it, and what was stored
  /// under the key before is removed.
  public var isStored: Bool
  /// Whether the value is the one that there was, whose life begins again.
  package var isUnchanged = false
  /// Whether the load does not know of extended data: then what there was stays.
  package var keepsExtendedData = false

  /// Describes what was loaded.
  ///
  /// - Parameters:
  ///   - value: What was loaded.
  ///   - cost: What the entry weighs; nil: as the cache has it.
  ///   - extendedData: What is kept with the value; nil for nothing.
  ///   - expiration: How long it lives; nil: as the cache has it.
  ///   - refreshAfter: How long after now it is to be loaded again; nil: as the cache has it.
  ///   - isStored: Whether it is stored; if not, only the callers that waited get it.
  /// - Complexity: O(1).
  public init(
    _ value: Value, cost: Int? = nil, extendedData: Data? = nil, expiration: Expiration? = nil,
    refreshAfter: Duration? = nil, isStored: Bool = true
  ) {
    self.value = value
    self.cost = cost
    self.extendedData = extendedData
    self.expiration = expiration
    self.refreshAfter = refreshAfter
    self.isStored = isStored
  }

  /// Of a load that gives a value and no more.
  @usableFromInline
  package init(bare value: Value, cost: Int?, expiration: Expiration?) {
    self.init(value, cost: cost, expiration: expiration)
    keepsExtendedData = true
  }

  /// The same as what was found where there may be nothing.
  package var found: LoadedValue<Value?> {
    var found = LoadedValue<Value?>(
      value, cost: cost, extendedData: extendedData, expiration: expiration,
      refreshAfter: refreshAfter, isStored: isStored)
    found.isUnchanged = isUnchanged
    found.keepsExtendedData = keepsExtendedData
    return found
  }
}

extension LoadedValue: Equatable where Value: Equatable {}
extension LoadedValue: Hashable where Value: Hashable {}

extension MemoryCompany {
  init(of loaded: LoadedValue<some Sendable>) {
    self.init(
      refreshAfter: loaded.refreshAfter, expiration: loaded.expiration,
      extendedData: loaded.extendedData,
      isUnchanged: loaded.isUnchanged)
  }
}
