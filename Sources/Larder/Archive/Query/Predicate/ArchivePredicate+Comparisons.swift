// SPDX-License-Identifier: MIT

import Foundation

/// An expression that is a condition, perhaps.
protocol ArchiveTestable {
  /// The condition; nil if there is something in it that is not understood.
  func condition<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> ArchiveCondition<Subject>?
}

extension PredicateExpressions.Equal: ArchiveTestable {
  func condition<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> ArchiveCondition<Subject>? {
    guard let (operand, value) = ArchivePredicate.sides(lhs, rhs, variable) else { return nil }
    return operand.condition(ArchiveRanges(oneOf: [value])) { $0 == value }
  }
}

extension PredicateExpressions.NotEqual: ArchiveTestable {
  func condition<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> ArchiveCondition<Subject>? {
    guard let (operand, value) = ArchivePredicate.sides(lhs, rhs, variable) else { return nil }
    return operand.condition(ArchiveRanges(butFor: value)) { $0 != value }
  }
}

extension PredicateExpressions.Comparison: ArchiveTestable {
  func condition<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> ArchiveCondition<Subject>? {
    guard let (operand, value) = ArchivePredicate.sides(lhs, rhs, variable) else { return nil }
    // With the constant on the left it is the other way round.
    let isMirrored = ArchivePredicate.constant(lhs) != nil
    func test(
      _ relation: ArchiveRange.Relation, _ isMet: @escaping (LHS.Output) -> Bool
    ) -> ArchiveCondition<Subject> {
      operand.condition(ArchiveRange(relation, value).map { ArchiveRanges($0) }, isMet: isMet)
    }
    switch (op, isMirrored) {
    case (.lessThan, false), (.greaterThan, true): return test(.less) { $0 < value }
    case (.lessThanOrEqual, false), (.greaterThanOrEqual, true):
      return test(.lessOrEqual) { $0 <= value }
    case (.greaterThan, false), (.lessThan, true): return test(.greater) { $0 > value }
    case (.greaterThanOrEqual, false), (.lessThanOrEqual, true):
      return test(.greaterOrEqual) { $0 >= value }
    @unknown default: return nil
    }
  }
}

extension PredicateExpressions.RangeExpressionContains: ArchiveTestable {
  func condition<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> ArchiveCondition<Subject>? {
    guard let operand = ArchivePredicate.operand(element, of: variable),
      let bounds = (range as? any ArchiveBounds)?.bounds(as: RangeExpression.Output.self)
    else { return nil }
    return operand.condition(ArchiveRanges(of: bounds)) { bounds.contains($0) }
  }
}

extension ArchivePredicate {
  /// What comes from an element and a constant, whatever the sides they are on.
  static func sides<Element: Sendable, Value>(
    _ a: any PredicateExpression<Value>, _ b: any PredicateExpression<Value>,
    _ variable: PredicateExpressions.Variable<Element>
  ) -> (ArchiveOperand<Element, Value>, Value)? {
    if let operand = operand(a, of: variable) { return constant(b).map { (operand, $0) } }
    if let operand = operand(b, of: variable) { return constant(a).map { (operand, $0) } }
    return nil
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

extension ArchiveRanges {
  /// Any value but one; nil if only a test can tell.
  @usableFromInline
  init?<Value: Equatable>(butFor value: Value) {
    if (value as? any ArchiveOptional)?.isNil == true {
      self.init(ArchiveRange.notNil)
    } else if let others = ArchiveRange(.equal, value).flatMap({ ArchiveRanges($0).complement }) {
      self = others
    } else {
      return nil
    }
  }

  /// The values of one of Swift's ranges; nil if only a test can tell.
  @inlinable
  init?<Bounds: RangeExpression>(of range: Bounds) {
    var bounds: ArchiveRange?
    if let range = range as? Range<Bounds.Bound> {
      bounds = ArchiveRange(.greaterOrEqual, range.lowerBound, .less, range.upperBound)
    } else if let range = range as? ClosedRange<Bounds.Bound> {
      bounds = ArchiveRange(.greaterOrEqual, range.lowerBound, .lessOrEqual, range.upperBound)
    } else if let range = range as? PartialRangeFrom<Bounds.Bound> {
      bounds = ArchiveRange(.greaterOrEqual, range.lowerBound)
    } else if let range = range as? PartialRangeUpTo<Bounds.Bound> {
      bounds = ArchiveRange(.less, range.upperBound)
    } else if let range = range as? PartialRangeThrough<Bounds.Bound> {
      bounds = ArchiveRange(.lessOrEqual, range.upperBound)
    }
    guard let bounds else { return nil }
    self.init(bounds)
  }
}
