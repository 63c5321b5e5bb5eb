// SPDX-License-Identifier: MIT

public import Foundation

/// What there is under a key that is loaded again: it is time to, or it has expired.
///
/// A load that takes it can ask whether it is still right, and renew it without making it again:
///
/// ```swift
/// let page = try await pages.value(forKey: url) { old in
///   let response = try await fetch(url, ifNoneMatch: old?.extendedData)
///   if let old, response.isNotModified { return old.unchanged(refreshAfter: response.maximumAge) }
///   return LoadedValue(
///     response.body, extendedData: response.etag, refreshAfter: response.maximumAge)
/// }
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
public struct OldValue<Value: Sendable>: Sendable {
  /// The value.
  public let value: Value
  /// What was stored with it; nil if there is nothing.
  public let extendedData: Data?
  /// How long it was given to live when it was written; nil: as the cache has it.
  public let expiration: Expiration?
  /// How long after it was written it was to be loaded again; nil: as the cache has it.
  public let refreshAfter: Duration?

  /// Describes what there is.
  ///
  /// For tests of loads that take it.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - extendedData: What was stored with it; nil for nothing.
  ///   - expiration: How long it was given to live; nil: as the cache has it.
  ///   - refreshAfter: After how long it was to be loaded again; nil: as the cache has it.
  /// - Complexity: O(1).
  public init(
    value: Value, extendedData: Data? = nil, expiration: Expiration? = nil,
    refreshAfter: Duration? = nil
  ) {
    self.value = value
    self.extendedData = extendedData
    self.expiration = expiration
    self.refreshAfter = refreshAfter
  }

  /// Says that the value is still right: it stays, and is as one that was written now.
  ///
  /// - Parameters:
  ///   - cost: What the entry weighs; nil: as the cache has it.
  ///   - extendedData: What is kept with the value from now on; nil: what was.
  ///   - expiration: How long it lives from now on; nil: as long as when it was written.
  ///   - refreshAfter: How long after now it is to be loaded again; nil: as when it was written.
  /// - Returns: What a load gives.
  /// - Complexity: O(1).
  public func unchanged(
    cost: Int? = nil, extendedData: Data? = nil, expiration: Expiration? = nil,
    refreshAfter: Duration? = nil
  ) -> LoadedValue<Value> {
    var loaded = LoadedValue(
      value, cost: cost, extendedData: extendedData ?? self.extendedData,
      expiration: expiration ?? self.expiration, refreshAfter: refreshAfter ?? self.refreshAfter)
    // Other data are written with the value.
    loaded.isUnchanged = extendedData == nil || extendedData == self.extendedData
    return loaded
  }
}

extension OldValue: Equatable where Value: Equatable {}
extension OldValue: Hashable where Value: Hashable {}
