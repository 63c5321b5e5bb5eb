// SPDX-License-Identifier: MIT

// An optional property is compared as its value is; nil is neither less nor greater than anything.

extension ArchiveProperty {
  /// Elements for which a closure says so.
  ///
  /// - Parameter isValid: Whether the value will do. What it throws comes out of the query.
  /// - Returns: A condition. No index helps with it.
  /// - Complexity: O(1).
  @inlinable
  public func satisfies(
    _ isValid: @escaping @Sendable (Value) throws -> Bool
  ) -> ArchiveCondition<Element> {
    condition(nil, isValid)
  }

  /// Elements whose property is nil.
  ///
  /// - Parameters:
  ///   - property: An optional property.
  ///   - none: nil.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  @_disfavoredOverload
  @inlinable
  public static func == <Wrapped>(
    property: Self, none: _OptionalNilComparisonType
  ) -> ArchiveCondition<Element> where Value == Wrapped? {
    property.condition(ArchiveRanges(.equal, Value.none)) { $0 == nil }
  }

  /// Elements whose property is not nil.
  ///
  /// - Parameters:
  ///   - property: An optional property.
  ///   - none: nil.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  @_disfavoredOverload
  @inlinable
  public static func != <Wrapped>(
    property: Self, none: _OptionalNilComparisonType
  ) -> ArchiveCondition<Element> where Value == Wrapped? {
    property.condition(ArchiveRanges.notNil) { $0 != nil }
  }
}

// MARK: - Equality

extension ArchiveProperty where Value: Equatable {
  /// Elements whose property has that value.
  ///
  /// - Parameters:
  ///   - property: The property.
  ///   - value: What it has to equal; nil is possible for an optional one.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  @inlinable
  public static func == (property: Self, value: Value) -> ArchiveCondition<Element> {
    property.condition(ArchiveRanges(oneOf: [value])) { $0 == value }
  }

  /// Elements whose property has any other value.
  ///
  /// - Parameters:
  ///   - property: The property.
  ///   - value: What it must not equal; nil is possible for an optional one.
  /// - Returns: A condition. An index helps if the value is nil, or with other bounds.
  /// - Complexity: O(1).
  @inlinable
  public static func != (property: Self, value: Value) -> ArchiveCondition<Element> {
    property.condition(ArchiveRanges(butFor: value)) { $0 != value }
  }

  /// Elements whose property has one of some values.
  ///
  /// - Parameter values: What the property may equal; no value will do if there are none.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(values), also for each element.
  @inlinable
  public func isOne(of values: [Value]) -> ArchiveCondition<Element> {
    condition(ArchiveRanges(oneOf: values)) { values.contains($0) }
  }
}

// MARK: - Order

extension ArchiveProperty where Value: Comparable {
  /// Elements whose property is below a bound.
  ///
  /// - Parameters:
  ///   - property: The property.
  ///   - bound: The bound, which does not belong to it.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  @inlinable
  public static func < (property: Self, bound: Value) -> ArchiveCondition<Element> {
    property.condition(ArchiveRanges(.less, bound)) { ArchiveComparison.isLess($0, bound) }
  }

  /// Elements whose property is a bound or below it.
  ///
  /// - Parameters:
  ///   - property: The property.
  ///   - bound: The bound.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  @inlinable
  public static func <= (property: Self, bound: Value) -> ArchiveCondition<Element> {
    property.condition(ArchiveRanges(.lessOrEqual, bound)) { ArchiveComparison.isAtMost($0, bound) }
  }

  /// Elements whose property is above a bound.
  ///
  /// - Parameters:
  ///   - property: The property.
  ///   - bound: The bound, which does not belong to it.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  @inlinable
  public static func > (property: Self, bound: Value) -> ArchiveCondition<Element> {
    property.condition(ArchiveRanges(.greater, bound)) { ArchiveComparison.isLess(bound, $0) }
  }

  /// Elements whose property is a bound or above it.
  ///
  /// - Parameters:
  ///   - property: The property.
  ///   - bound: The bound.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  @inlinable
  public static func >= (property: Self, bound: Value) -> ArchiveCondition<Element> {
    property.condition(ArchiveRanges(.greaterOrEqual, bound)) {
      ArchiveComparison.isAtMost(bound, $0)
    }
  }

  /// Elements whose property is in a range.
  ///
  /// - Parameter range: `1...3`, `1..<3`, `1...`, or any other one.
  /// - Returns: A condition. An index helps with the ranges of Swift's own.
  /// - Complexity: O(1).
  @inlinable
  public func within(
    _ range: some RangeExpression<Value> & Sendable
  ) -> ArchiveCondition<Element> {
    condition(ArchiveRanges(of: range)) { ArchiveComparison.contains(range, $0) }
  }
}

extension ArchiveProperty {
  /// Elements whose optional property is below a bound; nil is not.
  ///
  /// - Parameters:
  ///   - property: The property.
  ///   - bound: The bound, which does not belong to it.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  @inlinable
  public static func < <Wrapped: Comparable & Sendable>(
    property: Self, bound: Wrapped
  ) -> ArchiveCondition<Element> where Value == Wrapped? {
    property.condition(ArchiveRanges(.less, wrapped: bound)) {
      $0.map { ArchiveComparison.isLess($0, bound) } ?? false
    }
  }

  /// Elements whose optional property is a bound or below it; nil is not.
  ///
  /// - Parameters:
  ///   - property: The property.
  ///   - bound: The bound.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  @inlinable
  public static func <= <Wrapped: Comparable & Sendable>(
    property: Self, bound: Wrapped
  ) -> ArchiveCondition<Element> where Value == Wrapped? {
    property.condition(ArchiveRanges(.lessOrEqual, wrapped: bound)) {
      $0.map { ArchiveComparison.isAtMost($0, bound) } ?? false
    }
  }

  /// Elements whose optional property is above a bound; nil is not.
  ///
  /// - Parameters:
  ///   - property: The property.
  ///   - bound: The bound, which does not belong to it.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  @inlinable
  public static func > <Wrapped: Comparable & Sendable>(
    property: Self, bound: Wrapped
  ) -> ArchiveCondition<Element> where Value == Wrapped? {
    property.condition(ArchiveRanges(.greater, wrapped: bound)) {
      $0.map { ArchiveComparison.isLess(bound, $0) } ?? false
    }
  }

  /// Elements whose optional property is a bound or above it; nil is not.
  ///
  /// - Parameters:
  ///   - property: The property.
  ///   - bound: The bound.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  @inlinable
  public static func >= <Wrapped: Comparable & Sendable>(
    property: Self, bound: Wrapped
  ) -> ArchiveCondition<Element> where Value == Wrapped? {
    property.condition(ArchiveRanges(.greaterOrEqual, wrapped: bound)) {
      $0.map { ArchiveComparison.isAtMost(bound, $0) } ?? false
    }
  }

  /// Elements whose optional property is in a range; nil is not.
  ///
  /// - Parameter range: `1...3`, `1..<3`, `1...`, or any other one.
  /// - Returns: A condition. An index helps with the ranges of Swift's own.
  /// - Complexity: O(1).
  @inlinable
  public func within<Wrapped: Comparable & Sendable>(
    _ range: some RangeExpression<Wrapped> & Sendable
  ) -> ArchiveCondition<Element> where Value == Wrapped? {
    condition(ArchiveRanges(of: range)?.wrapped) {
      $0.map { ArchiveComparison.contains(range, $0) } ?? false
    }
  }
}
