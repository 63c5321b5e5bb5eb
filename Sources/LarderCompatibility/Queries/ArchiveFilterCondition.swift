// SPDX-License-Identifier: MIT

import Larder

/// What a property has to be for an element to pass a filter.
///
/// ```swift
/// archive.findWhere { $0.age(.greater(than: 17)).name(.contains("an")).email(.isNotNil()) }
/// ```
///
/// **Concurrency.** A value; safe to pass between threads. What it tests runs on the thread
/// that runs the query.
public struct ArchiveFilterCondition<Value: Sendable>: Sendable {
  /// On the value itself.
  let condition: ArchiveCondition<Value>

  private init(_ condition: ArchiveCondition<Value>) { self.condition = condition }

  init(_ make: (ArchiveProperty<Value, Value>) -> ArchiveCondition<Value>) {
    self.init(make(ArchiveProperty(\.self)))
  }

  /// Whatever a closure says.
  ///
  /// - Parameter isValid: Whether the value will do. What it throws comes out of the query.
  /// - Returns: A condition. No index helps with it.
  /// - Complexity: O(1).
  public static func isValid(_ isValid: @escaping @Sendable (Value) throws -> Bool) -> Self {
    Self { $0.satisfies(isValid) }
  }

  /// No value is nil but that of an optional property.
  ///
  /// - Returns: A condition.
  /// - Complexity: O(1).
  @_disfavoredOverload
  public static func isNil() -> Self { Self { $0.satisfies { _ in false } } }

  /// Every value but the nil of an optional property.
  ///
  /// - Returns: A condition.
  /// - Complexity: O(1).
  @_disfavoredOverload
  public static func isNotNil() -> Self { Self { $0.satisfies { _ in true } } }

  /// No value is nil but that of an optional property.
  ///
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func isNil<Wrapped>() -> Self where Value == Wrapped? {
    Self { $0 == nil }
  }

  /// Every value but the nil of an optional property.
  ///
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func isNotNil<Wrapped>() -> Self where Value == Wrapped? {
    Self { $0 != nil }
  }
}

// MARK: - Equality

extension ArchiveFilterCondition where Value: Equatable {
  /// The value itself.
  ///
  /// - Parameter value: What the property has to equal; nil is possible for an optional one.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func isEqual(with value: Value) -> Self { isEqual(value) }

  /// The value itself.
  ///
  /// - Parameter value: What the property has to equal; nil is possible for an optional one.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func isEqual(_ value: Value) -> Self {
    Self { $0 == value }
  }

  /// Any value but one.
  ///
  /// - Parameter value: What the property must not equal; nil is possible for an optional one.
  /// - Returns: A condition. An index helps if the value is nil, or with other bounds.
  /// - Complexity: O(1).
  public static func isNotEqual(with value: Value) -> Self { isNotEqual(value) }

  /// Any value but one.
  ///
  /// - Parameter value: What the property must not equal; nil is possible for an optional one.
  /// - Returns: A condition. An index helps if the value is nil, or with other bounds.
  /// - Complexity: O(1).
  public static func isNotEqual(_ value: Value) -> Self {
    Self { $0 != value }
  }

  /// One of some values.
  ///
  /// - Parameter values: What the property may equal; no value will do if there are none.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(values), also for each element.
  public static func isOne(of values: [Value]) -> Self {
    Self { $0.isOne(of: values) }
  }
}

// MARK: - Order

extension ArchiveFilterCondition where Value: Comparable {
  /// Above a bound, which does not belong to it.
  ///
  /// - Parameter bound: The bound.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func greater(than bound: Value) -> Self {
    Self { $0 > bound }
  }

  /// Below a bound, which does not belong to it.
  ///
  /// - Parameter bound: The bound.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func less(than bound: Value) -> Self {
    Self { $0 < bound }
  }

  /// From a bound on.
  ///
  /// - Parameter bound: The bound.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func greaterOrEqual(with bound: Value) -> Self {
    Self { $0 >= bound }
  }

  /// Through a bound.
  ///
  /// - Parameter bound: The bound.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func lessOrEqual(with bound: Value) -> Self {
    Self { $0 <= bound }
  }

  /// From one bound through another.
  ///
  /// - Parameter range: The bounds.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func isIn(_ range: ClosedRange<Value>) -> Self {
    Self { $0.within(range) }
  }

  /// From one bound up to another, which does not belong to it.
  ///
  /// - Parameter range: The bounds.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func isIn(_ range: Range<Value>) -> Self {
    Self { $0.within(range) }
  }
}
