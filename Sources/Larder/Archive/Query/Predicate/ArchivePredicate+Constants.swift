// SPDX-License-Identifier: MIT

import Foundation

// What does not use the element is the same for all elements: it is evaluated once, when the query
// is planned. Foundation traps where numbers overflow, which may be behind a `&&` that is never
// passed: that is left to it.

extension ArchivePredicate {
  /// The value of an expression in which no element plays a part; nil if one does.
  static func constant<Value>(_ expression: any PredicateExpression<Value>) -> Value? {
    guard let constant = expression as? any ArchiveConstant, constant.isConstant else {
      return nil
    }
    // What cannot be evaluated throws again, and for all to see, when Foundation does it.
    return try? expression.evaluate(PredicateBindings())
  }

  fileprivate static func isConstant(_ expressions: any PredicateExpression...) -> Bool {
    expressions.allSatisfy { ($0 as? any ArchiveConstant)?.isConstant ?? false }
  }

  /// Whether both are constant, and what is made of them fits.
  fileprivate static func fits<Value>(
    _ left: any PredicateExpression<Value>, _ right: any PredicateExpression<Value>,
    _ operation: ArchiveArithmetic
  ) -> Bool {
    guard let left = constant(left), let right = constant(right) else { return false }
    guard let number = left as? any FixedWidthInteger else { return true }
    return operation.fits(number, right)
  }
}

/// Something that may be the same for all elements.
private protocol ArchiveConstant {
  var isConstant: Bool { get }
}

/// What is done with two numbers.
private enum ArchiveArithmetic {
  case add, subtract, multiply, divide, remainder

  func fits<Number: FixedWidthInteger>(_ left: Number, _ right: Any) -> Bool {
    guard let right = right as? Number else { return false }
    return switch self {
    case .add: !left.addingReportingOverflow(right).overflow
    case .subtract: !left.subtractingReportingOverflow(right).overflow
    case .multiply: !left.multipliedReportingOverflow(by: right).overflow
    case .divide: !left.dividedReportingOverflow(by: right).overflow
    case .remainder: !left.remainderReportingOverflow(dividingBy: right).overflow
    }
  }
}

extension PredicateExpressions.Value: ArchiveConstant {
  fileprivate var isConstant: Bool { true }
}

extension PredicateExpressions.NilLiteral: ArchiveConstant {
  fileprivate var isConstant: Bool { true }
}

extension PredicateExpressions.KeyPath: ArchiveConstant {
  fileprivate var isConstant: Bool { ArchivePredicate.isConstant(root) }
}

extension PredicateExpressions.ForcedUnwrap: ArchiveConstant {
  fileprivate var isConstant: Bool { ArchivePredicate.isConstant(inner) }
}

extension PredicateExpressions.NilCoalesce: ArchiveConstant {
  fileprivate var isConstant: Bool { ArchivePredicate.isConstant(lhs, rhs) }
}

extension PredicateExpressions.Conditional: ArchiveConstant {
  fileprivate var isConstant: Bool { ArchivePredicate.isConstant(test, trueBranch, falseBranch) }
}

extension PredicateExpressions.CollectionIndexSubscript: ArchiveConstant {
  fileprivate var isConstant: Bool { ArchivePredicate.isConstant(wrapped, index) }
}

extension PredicateExpressions.DictionaryKeySubscript: ArchiveConstant {
  fileprivate var isConstant: Bool { ArchivePredicate.isConstant(wrapped, key) }
}

// MARK: - Truth values

extension PredicateExpressions.Equal: ArchiveConstant {
  fileprivate var isConstant: Bool { ArchivePredicate.isConstant(lhs, rhs) }
}

extension PredicateExpressions.NotEqual: ArchiveConstant {
  fileprivate var isConstant: Bool { ArchivePredicate.isConstant(lhs, rhs) }
}

extension PredicateExpressions.Comparison: ArchiveConstant {
  fileprivate var isConstant: Bool {
    // Of texts Foundation has another order.
    LHS.Output.self != String.self && ArchivePredicate.isConstant(lhs, rhs)
  }
}

extension PredicateExpressions.Negation: ArchiveConstant {
  fileprivate var isConstant: Bool { ArchivePredicate.isConstant(wrapped) }
}

// MARK: - Numbers

extension PredicateExpressions.UnaryMinus: ArchiveConstant {
  fileprivate var isConstant: Bool {
    guard let value = ArchivePredicate.constant(wrapped) else { return false }
    func hasOpposite<Number: FixedWidthInteger>(_ number: Number) -> Bool {
      ArchiveArithmetic.subtract.fits(Number.zero, number)
    }
    return (value as? any FixedWidthInteger).map { hasOpposite($0) } ?? true
  }
}

extension PredicateExpressions.Arithmetic: ArchiveConstant {
  fileprivate var isConstant: Bool {
    switch op {
    case .add: ArchivePredicate.fits(lhs, rhs, .add)
    case .subtract: ArchivePredicate.fits(lhs, rhs, .subtract)
    case .multiply: ArchivePredicate.fits(lhs, rhs, .multiply)
    @unknown default: false
    }
  }
}

extension PredicateExpressions.IntDivision: ArchiveConstant {
  fileprivate var isConstant: Bool { ArchivePredicate.fits(lhs, rhs, .divide) }
}

extension PredicateExpressions.IntRemainder: ArchiveConstant {
  fileprivate var isConstant: Bool { ArchivePredicate.fits(lhs, rhs, .remainder) }
}

extension PredicateExpressions.FloatDivision: ArchiveConstant {
  fileprivate var isConstant: Bool { ArchivePredicate.isConstant(lhs, rhs) }
}
