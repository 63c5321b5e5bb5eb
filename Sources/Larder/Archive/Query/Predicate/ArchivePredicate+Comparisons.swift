// SPDX-License-Identifier: MIT

import Foundation

/// An expression that can be tested without Foundation, perhaps.
protocol ArchiveTestable {
  /// The test; nil if there is something in it that is not understood.
  func test<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> (any ArchiveTest<Subject>)?
}

extension PredicateExpressions.Equal: ArchiveTestable {
  func test<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> (any ArchiveTest<Subject>)? {
    guard let (property, value) = ArchivePredicate.sides(lhs, rhs, variable) else { return nil }
    return ArchiveEqualTest(path: property, value: value, isEqual: true)
  }
}

extension PredicateExpressions.NotEqual: ArchiveTestable {
  func test<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> (any ArchiveTest<Subject>)? {
    guard let (property, value) = ArchivePredicate.sides(lhs, rhs, variable) else { return nil }
    return ArchiveEqualTest(path: property, value: value, isEqual: false)
  }
}

extension PredicateExpressions.Comparison: ArchiveTestable {
  func test<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> (any ArchiveTest<Subject>)? {
    var relation: ArchiveRange.Relation =
      switch op {
      case .lessThan: .less
      case .lessThanOrEqual: .lessOrEqual
      case .greaterThan: .greater
      case .greaterThanOrEqual: .greaterOrEqual
      @unknown default: .equal
      }
    if relation == .equal { return nil }
    guard let (property, value) = ArchivePredicate.sides(lhs, rhs, variable) else { return nil }
    // With the constant on the left it is the other way round.
    if ArchivePredicate.constant(lhs) != nil { relation = relation.mirrored }
    return ArchiveOrderTest(path: property, value: value, relation: relation)
  }
}

extension PredicateExpressions.RangeExpressionContains: ArchiveTestable {
  func test<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> (any ArchiveTest<Subject>)? {
    guard let property = ArchivePredicate.property(element, of: variable),
      let bounds = (range as? any ArchiveBounds)?.bounds(as: RangeExpression.Output.self)
    else { return nil }
    return ArchiveRangeTest(path: property, range: bounds)
  }
}

extension ArchivePredicate {
  /// A property and a constant, whatever the sides they are on.
  static func sides<Element: Sendable, Value>(
    _ a: any PredicateExpression<Value>, _ b: any PredicateExpression<Value>,
    _ variable: PredicateExpressions.Variable<Element>
  ) -> (any KeyPath<Element, Value> & Sendable, Value)? {
    if let property = property(a, of: variable) { return constant(b).map { (property, $0) } }
    if let property = property(b, of: variable) { return constant(a).map { (property, $0) } }
    return nil
  }
}

extension ArchiveRange.Relation {
  var mirrored: Self {
    switch self {
    case .equal: .equal
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    case .greater: .less
    case .greaterOrEqual: .lessOrEqual
    }
  }
}

// MARK: - Ranges

/// An expression that is a range.
private protocol ArchiveBounds {
  func bounds<Range>(as type: Range.Type) -> Range?
}

extension PredicateExpressions.Value: ArchiveBounds {
  fileprivate func bounds<Range>(as type: Range.Type) -> Range? { value as? Range }
}

extension PredicateExpressions.Range: ArchiveBounds {
  fileprivate func bounds<Range>(as type: Range.Type) -> Range? {
    guard let lower = ArchivePredicate.constant(lower),
      let upper = ArchivePredicate.constant(upper),
      lower <= upper
    else { return nil }
    return (lower..<upper) as? Range
  }
}

extension PredicateExpressions.ClosedRange: ArchiveBounds {
  fileprivate func bounds<Range>(as type: Range.Type) -> Range? {
    guard let lower = ArchivePredicate.constant(lower),
      let upper = ArchivePredicate.constant(upper),
      lower <= upper
    else { return nil }
    return (lower...upper) as? Range
  }
}

// MARK: - Tests

/// Sendable, because it is a part of a `Predicate`, which is.
struct ArchiveEqualTest<Element: Sendable, Value: Equatable>: ArchiveTest,
  @unchecked Sendable
{
  let path: any KeyPath<Element, Value> & Sendable
  let value: Value
  let isEqual: Bool

  var property: (keyPath: any PartialKeyPath<Element> & Sendable, range: ArchiveRange)? {
    let range =
      isEqual
      ? ArchiveRange(.equal, value)
      : (value as? any ArchiveOptional)?.isNil == true ? ArchiveRange.notNil : nil
    return range.map { (path, $0) }
  }

  func isMet(_ element: Element) -> Bool { (element[keyPath: path] == value) == isEqual }
}

/// Sendable, because it is a part of a `Predicate`, which is.
private struct ArchiveOrderTest<Element: Sendable, Value: Comparable>: ArchiveTest,
  @unchecked Sendable
{
  let path: any KeyPath<Element, Value> & Sendable
  let value: Value
  let relation: ArchiveRange.Relation

  var property: (keyPath: any PartialKeyPath<Element> & Sendable, range: ArchiveRange)? {
    ArchiveRange(relation, value).map { (path, $0) }
  }

  func isMet(_ element: Element) -> Bool {
    let found = element[keyPath: path]
    return switch relation {
    case .equal: found == value
    case .less: found < value
    case .lessOrEqual: found <= value
    case .greater: found > value
    case .greaterOrEqual: found >= value
    }
  }
}

/// Sendable, because it is a part of a `Predicate`, which is.
private struct ArchiveRangeTest<Element: Sendable, Bounds: RangeExpression>: ArchiveTest,
  @unchecked Sendable
{
  let path: any KeyPath<Element, Bounds.Bound> & Sendable
  let range: Bounds

  var property: (keyPath: any PartialKeyPath<Element> & Sendable, range: ArchiveRange)? {
    var bounds: ArchiveRange?
    if let range = range as? Range<Bounds.Bound> {
      bounds = ArchiveRange(.greaterOrEqual, range.lowerBound)
      ArchiveRange(.less, range.upperBound).map { bounds?.formIntersection($0) }
    } else if let range = range as? ClosedRange<Bounds.Bound> {
      bounds = ArchiveRange(.greaterOrEqual, range.lowerBound)
      ArchiveRange(.lessOrEqual, range.upperBound).map { bounds?.formIntersection($0) }
    } else if let range = range as? PartialRangeFrom<Bounds.Bound> {
      bounds = ArchiveRange(.greaterOrEqual, range.lowerBound)
    } else if let range = range as? PartialRangeUpTo<Bounds.Bound> {
      bounds = ArchiveRange(.less, range.upperBound)
    } else if let range = range as? PartialRangeThrough<Bounds.Bound> {
      bounds = ArchiveRange(.lessOrEqual, range.upperBound)
    }
    return bounds.map { (path, $0) }
  }

  func isMet(_ element: Element) -> Bool { range.contains(element[keyPath: path]) }
}
