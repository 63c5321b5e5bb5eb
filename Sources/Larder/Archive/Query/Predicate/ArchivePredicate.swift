// SPDX-License-Identifier: MIT

import Foundation

// What Foundation's `#Predicate` makes is a tree of generic expressions. Those that are
// understood here, comparisons of a property with a constant, members of a collection and what
// `&&`, `||` and `!` make of them, become terms as if they had been written as conditions:
// indexes help with them, and all is tested without the bindings that Foundation makes
// for each element. What is not understood of the parts that `&&` joins is evaluated by Foundation.

enum ArchivePredicate {
  /// The predicate as terms, each of which has to be met.
  static func terms<Element: Sendable>(_ predicate: Predicate<Element>) -> [ArchiveTerm<Element>] {
    terms(of: predicate.expression, predicate.variable)
  }

  private static func terms<Element: Sendable>(
    of expression: any PredicateExpression<Bool>,
    _ variable: PredicateExpressions.Variable<Element>
  ) -> [ArchiveTerm<Element>] {
    if let conjunction = expression as? any ArchiveConjunction {
      return conjunction.both.flatMap { terms(of: $0, variable) }
    }
    if let condition = condition(expression, of: variable) { return condition.terms }
    let part = ArchivePredicatePart(expression: expression, variable: variable)
    return [ArchiveTerm { try part.evaluate($0) }]
  }

  /// The expression as a condition; nil if it is not understood.
  static func condition<Element: Sendable>(
    _ expression: any PredicateExpression, of variable: PredicateExpressions.Variable<Element>
  ) -> ArchiveCondition<Element>? {
    (expression as? any ArchiveTestable)?.condition(of: variable)
  }

  /// The property that an expression is; nil if it is something else.
  static func property<Element: Sendable, Value>(
    _ expression: any PredicateExpression<Value>,
    of variable: PredicateExpressions.Variable<Element>
  ) -> (any KeyPath<Element, Value> & Sendable)? {
    guard let path = (expression as? any ArchiveKeyPath)?.keyPath(from: variable.key) else {
      return nil
    }
    return (path as? KeyPath<Element, Value>).map { ArchiveKeyPaths.assumeSendable($0) }
  }
}

/// A part of a predicate that Foundation evaluates. Sendable, because the predicate is.
private struct ArchivePredicatePart<Element: Sendable>: @unchecked Sendable {
  let expression: any PredicateExpression<Bool>
  let variable: PredicateExpressions.Variable<Element>

  func evaluate(_ element: Element) throws -> Bool {
    try expression.evaluate(PredicateBindings((variable, element)))
  }
}

// MARK: - What expressions are

/// Two expressions joined by `&&`.
protocol ArchiveConjunction {
  var both: [any PredicateExpression<Bool>] { get }
}

extension PredicateExpressions.Conjunction: ArchiveConjunction {
  var both: [any PredicateExpression<Bool>] { [lhs, rhs] }
}

/// A property of something.
protocol ArchiveKeyPath {
  /// The way from the variable to it; nil if it begins elsewhere.
  func keyPath(from variable: PredicateExpressions.VariableID) -> AnyKeyPath?
}

extension PredicateExpressions.KeyPath: ArchiveKeyPath {
  func keyPath(from variable: PredicateExpressions.VariableID) -> AnyKeyPath? {
    if let root = root as? PredicateExpressions.Variable<Root.Output> {
      return root.key == variable ? keyPath : nil
    }
    guard let way = (root as? any ArchiveKeyPath)?.keyPath(from: variable) else { return nil }
    return way.appending(path: keyPath)
  }
}
