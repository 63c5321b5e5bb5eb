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
      _ relation: ArchiveRanges.Relation, _ isMet: @escaping (LHS.Output) -> Bool
    ) -> ArchiveCondition<Subject> {
      operand.condition(ArchiveRanges(relation, value), isMet: isMet)
    }
    switch (op, isMirrored) {
    case (.lessThan, false), (.greaterThan, true):
      return test(.less) { ArchiveComparison.isLess($0, value) }
    case (.lessThanOrEqual, false), (.greaterThanOrEqual, true):
      return test(.lessOrEqual) { ArchiveComparison.isAtMost($0, value) }
    case (.greaterThan, false), (.lessThan, true):
      return test(.greater) { ArchiveComparison.isLess(value, $0) }
    case (.greaterThanOrEqual, false), (.lessThanOrEqual, true):
      return test(.greaterOrEqual) { ArchiveComparison.isAtMost(value, $0) }
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
    return operand.condition(ArchiveRanges(of: bounds)) { ArchiveComparison.contains(bounds, $0) }
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
