// SPDX-License-Identifier: MIT

public import Foundation

/// What one tier of a cache hands to another.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct CacheTierEntry<Value: Sendable>: Sendable {
  /// What is stored.
  public var value: Value
  /// What it weighs for the memory's limit of cost; nil if nobody said.
  public var cost: Int?
  /// What is kept with it; nil if there is nothing.
  public var extendedData: Data?
  /// How long it lives from now on. Read: what is left, `Expiration.never` for
  /// ever. To be written: nil for what the tier does by default.
  public var expiration: Expiration?
  /// How long after it was written it is to be loaded again; nil, the default: as the cache says.
  public var refreshAfter: Duration?
  /// How long ago it was written; nil, the default: as far as the tier knows, now.
  public var age: Duration?
  /// To be written, and without an expiration: when the caller wrote it, from which the tier's own
  /// counts; nil for now. Write-back hands entries over later than they were written.
  ///
  /// Read from a tier that confirms copies: when it was asked.
  public var writtenAt: Date?
  /// Which write it is of, if a tier can confirm copies by that; else nil, the default. To be
  /// written: the version that the tier is to store it under; nil for one of the tier's own.
  public var version: CacheTierVersion?
  /// Read from a disk: whether the tier below has to confirm it before it is used.
  @usableFromInline var isUnconfirmed = false
  /// Read: how long it was given to live when it was written, or nothing, if the tier knows that;
  /// else nil.
  @usableFromInline package var ownExpiration: Expiration??
  /// To be written: whether the value is the one that the cache read.
  @usableFromInline package var isUnchanged = false

  /// Makes an entry.
  ///
  /// - Parameters:
  ///   - value: What is stored.
  ///   - cost: What it weighs; nil if nobody said.
  ///   - extendedData: What is kept with it; nil for nothing.
  ///   - expiration: How long it lives from now on; nil for what the tier does by
  ///     default.
  /// - Complexity: O(1).
  @inlinable
  public init(
    value: Value, cost: Int? = nil, extendedData: Data? = nil, expiration: Expiration? = nil
  ) {
    self.value = value
    self.cost = cost
    self.extendedData = extendedData
    self.expiration = expiration
  }
}

extension CacheTierEntry: Equatable where Value: Equatable {}
extension CacheTierEntry: Hashable where Value: Hashable {}
