// SPDX-License-Identifier: MIT

import Larder

// Optional properties are compared as their values are; nil meets none of these.

extension ArchiveFilterCondition {
  /// Above a bound, which does not belong to it; nil is not.
  ///
  /// - Parameter bound: The bound.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func greater<Wrapped: Comparable & Sendable>(than bound: Wrapped) -> Self
  where Value == Wrapped? {
    Self { $0 > bound }
  }

  /// Below a bound, which does not belong to it; nil is not.
  ///
  /// - Parameter bound: The bound.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func less<Wrapped: Comparable & Sendable>(than bound: Wrapped) -> Self
  where Value == Wrapped? {
    Self { $0 < bound }
  }

  /// From a bound on; nil is not.
  ///
  /// - Parameter bound: The bound.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func greaterOrEqual<Wrapped: Comparable & Sendable>(with bound: Wrapped) -> Self
  where Value == Wrapped? {
    Self { $0 >= bound }
  }

  /// Through a bound; nil is not.
  ///
  /// - Parameter bound: The bound.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func lessOrEqual<Wrapped: Comparable & Sendable>(with bound: Wrapped) -> Self
  where Value == Wrapped? {
    Self { $0 <= bound }
  }

  /// From one bound through another; nil is not.
  ///
  /// - Parameter range: The bounds.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func isIn<Wrapped: Comparable & Sendable>(_ range: ClosedRange<Wrapped>) -> Self
  where Value == Wrapped? {
    Self { $0.within(range) }
  }

  /// From one bound up to another, which does not belong to it; nil is not.
  ///
  /// - Parameter range: The bounds.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func isIn<Wrapped: Comparable & Sendable>(_ range: Range<Wrapped>) -> Self
  where Value == Wrapped? {
    Self { $0.within(range) }
  }
}
