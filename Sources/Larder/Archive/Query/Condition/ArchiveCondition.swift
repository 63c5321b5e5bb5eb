// SPDX-License-Identifier: MIT

/// What a property has to be for an element to pass a filter.
///
/// ```swift
/// archive.findWhere { $0.age(.greater(than: 17)).name(.contains("an")).email(.isNotNil()) }
/// ```
///
/// **Concurrency.** A value; safe to pass between threads. What it tests runs on the thread
/// that runs the query.
public struct ArchiveCondition<Value: Sendable>: Sendable {
  let isMet: @Sendable (Value) throws -> Bool
  /// Which values can meet it; nil if it cannot say.
  let ranges: ArchiveRanges?

  init(_ range: ArchiveRange?, _ isMet: @escaping @Sendable (Value) throws -> Bool) {
    self.init(range.map { ArchiveRanges($0) }, isMet)
  }

  init(
    _ ranges: ArchiveRanges? = nil, _ isMet: @escaping @Sendable (Value) throws -> Bool
  ) {
    self.ranges = ranges
    self.isMet = isMet
  }

  /// Whatever a closure says.
  ///
  /// - Parameter isValid: Whether the value will do. What it throws comes out of the query.
  /// - Returns: A condition. No index helps with it.
  /// - Complexity: O(1).
  public static func isValid(_ isValid: @escaping @Sendable (Value) throws -> Bool) -> Self {
    Self(nil as ArchiveRanges?, isValid)
  }

  /// No value is nil but that of an optional property.
  ///
  /// - Returns: A condition.
  /// - Complexity: O(1).
  @_disfavoredOverload
  public static func isNil() -> Self { Self(ArchiveRanges([])) { _ in false } }

  /// Every value but the nil of an optional property.
  ///
  /// - Returns: A condition.
  /// - Complexity: O(1).
  @_disfavoredOverload
  public static func isNotNil() -> Self { Self(ArchiveRange()) { _ in true } }

  /// No value is nil but that of an optional property.
  ///
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func isNil<Wrapped>() -> Self where Value == Wrapped? {
    Self(ArchiveRange(.equal, Value.none)) { $0.isNil }
  }

  /// Every value but the nil of an optional property.
  ///
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func isNotNil<Wrapped>() -> Self where Value == Wrapped? {
    Self(ArchiveRange.notNil) { !$0.isNil }
  }
}

// MARK: - Equality

extension ArchiveCondition where Value: Equatable {
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
    Self(ArchiveRanges(oneOf: [value])) { $0 == value }
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
    Self(ArchiveRanges(butFor: value)) { $0 != value }
  }

  /// One of some values.
  ///
  /// - Parameter values: What the property may equal; no value will do if there are none.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(values), also for each element.
  public static func isOne(of values: [Value]) -> Self {
    Self(ArchiveRanges(oneOf: values)) { values.contains($0) }
  }
}

// MARK: - Order

extension ArchiveCondition where Value: Comparable {
  /// Above a bound, which does not belong to it.
  ///
  /// - Parameter bound: The bound.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func greater(than bound: Value) -> Self {
    Self(ArchiveRange(.greater, bound)) { $0 > bound }
  }

  /// Below a bound, which does not belong to it.
  ///
  /// - Parameter bound: The bound.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func less(than bound: Value) -> Self {
    Self(ArchiveRange(.less, bound)) { $0 < bound }
  }

  /// From a bound on.
  ///
  /// - Parameter bound: The bound.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func greaterOrEqual(with bound: Value) -> Self {
    Self(ArchiveRange(.greaterOrEqual, bound)) { $0 >= bound }
  }

  /// Through a bound.
  ///
  /// - Parameter bound: The bound.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func lessOrEqual(with bound: Value) -> Self {
    Self(ArchiveRange(.lessOrEqual, bound)) { $0 <= bound }
  }

  /// From one bound through another.
  ///
  /// - Parameter range: The bounds.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func isIn(_ range: ClosedRange<Value>) -> Self {
    greaterOrEqual(with: range.lowerBound) && lessOrEqual(with: range.upperBound)
  }

  /// From one bound up to another, which does not belong to it.
  ///
  /// - Parameter range: The bounds.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  public static func isIn(_ range: Range<Value>) -> Self {
    greaterOrEqual(with: range.lowerBound) && less(than: range.upperBound)
  }
}

extension ArchiveCondition {
  /// Both.
  static func && (a: Self, b: Self) -> Self {
    let unknown = ArchiveRanges(ArchiveRange(isExact: false))
    let ranges = (a.ranges ?? unknown).intersection(b.ranges ?? unknown)
    return Self(ranges) { try a.isMet($0) && b.isMet($0) }
  }
}
