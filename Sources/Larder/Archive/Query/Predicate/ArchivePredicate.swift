// SPDX-License-Identifier: MIT

import Foundation

// What Foundation's `#Predicate` makes is a tree of generic expressions. Those that are
// understood here, comparisons of a property with a constant, members of a collection and what
// `&&`, `||` and `!` make of them, become terms as if they had been written as conditions:
// indexes help with them, and all is tested without the bindings that Foundation makes
// for each element. If any part is not understood, Foundation evaluates the predicate; the parts
// that are still choose an index.

enum ArchivePredicate {
  /// The predicate as terms, each of which has to be met.
  static func terms<Element: Sendable>(_ predicate: Predicate<Element>) -> [ArchiveTerm<Element>] {
    let variable = predicate.variable
    let parts = parts(of: predicate.expression, variable)
    let found = parts.compactMap { $0 }
    if found.count == parts.count { return found.flatMap(\.terms) }
    // They only choose an index: the last term has the say.
    var terms = found.map { ArchiveTerm<Element>($0.hint) { _ in true } }
    terms.append(ArchiveTerm { try predicate.evaluate($0) })
    return terms
  }

  /// What `&&` joins; nil for what is not understood.
  private static func parts<Element: Sendable>(
    of expression: any PredicateExpression,
    _ variable: PredicateExpressions.Variable<Element>
  ) -> [ArchiveCondition<Element>?] {
    if let conjunction = expression as? any ArchiveConjunction {
      return conjunction.both.flatMap { parts(of: $0, variable) }
    }
    return [condition(expression, of: variable)]
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

  /// The value of an expression in which no element plays a part; nil if one does.
  static func constant<Value>(_ expression: any PredicateExpression<Value>) -> Value? {
    guard let constant = expression as? any ArchiveConstant, constant.isConstant else {
      return nil
    }
    // What cannot be evaluated throws again, and for all to see, when Foundation does it.
    return try? expression.evaluate(PredicateBindings())
  }
}

// MARK: - What expressions are

/// Two expressions joined by `&&`.
protocol ArchiveConjunction {
  var both: [any PredicateExpression] { get }
}

extension PredicateExpressions.Conjunction: ArchiveConjunction {
  var both: [any PredicateExpression] { [lhs, rhs] }
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

/// Something that may be the same for all elements.
private protocol ArchiveConstant {
  var isConstant: Bool { get }
}

extension PredicateExpressions.Value: ArchiveConstant {
  fileprivate var isConstant: Bool { true }
}

extension PredicateExpressions.NilLiteral: ArchiveConstant {
  fileprivate var isConstant: Bool { true }
}

extension PredicateExpressions.KeyPath: ArchiveConstant {
  fileprivate var isConstant: Bool { (root as? any ArchiveConstant)?.isConstant ?? false }
}

extension PredicateExpressions.UnaryMinus: ArchiveConstant {
  fileprivate var isConstant: Bool { (wrapped as? any ArchiveConstant)?.isConstant ?? false }
}

extension PredicateExpressions.ForcedUnwrap: ArchiveConstant {
  fileprivate var isConstant: Bool { (inner as? any ArchiveConstant)?.isConstant ?? false }
}
