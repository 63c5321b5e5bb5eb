// SPDX-License-Identifier: MIT

/// Why a value is no longer in a cache.
///
/// A struct and not an enum, so that a later version can add causes without
/// breaking a `switch` of yours; give every `switch` a `default`.
///
/// **Concurrency.** A value; safe to pass between threads.
public struct RemovalCause: Sendable, Hashable, CustomStringConvertible, CaseIterable {
  private enum Value: String, CaseIterable {
    case removed, replaced, expired, evictedForCount, evictedForCost
  }

  private let value: Value

  private init(_ value: Value) { self.value = value }

  /// The caller removed it.
  public static let removed = RemovalCause(.removed)
  /// The caller stored another value under its key.
  public static let replaced = RemovalCause(.replaced)
  /// Its time was over.
  public static let expired = RemovalCause(.expired)
  /// There were more entries than the limit allows.
  public static let evictedForCount = RemovalCause(.evictedForCount)
  /// The entries cost more than the limit allows, or this one alone did.
  public static let evictedForCost = RemovalCause(.evictedForCost)

  /// Every cause there is.
  public static var allCases: [RemovalCause] { Value.allCases.map(RemovalCause.init) }

  /// Whether a limit was the reason.
  ///
  /// - Complexity: O(1).
  public var isEviction: Bool { value == .evictedForCount || value == .evictedForCost }

  /// The cause's name, as in `evictedForCount`.
  public var description: String { value.rawValue }
}
