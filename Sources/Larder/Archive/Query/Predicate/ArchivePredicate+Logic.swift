// SPDX-License-Identifier: MIT

import Foundation

// What `&&`, `||` and `!` make of other tests, and properties that are true or false.

extension PredicateExpressions.Conjunction: ArchiveTestable {
  func test<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> (any ArchiveTest<Subject>)? {
    guard let first = ArchivePredicate.test(lhs, of: variable),
      let second = ArchivePredicate.test(rhs, of: variable)
    else { return nil }
    return ArchiveLogicTest(first: first, second: second, isBoth: true)
  }
}

extension PredicateExpressions.Disjunction: ArchiveTestable {
  func test<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> (any ArchiveTest<Subject>)? {
    guard let first = ArchivePredicate.test(lhs, of: variable),
      let second = ArchivePredicate.test(rhs, of: variable)
    else { return nil }
    return ArchiveLogicTest(first: first, second: second, isBoth: false)
  }
}

extension PredicateExpressions.Negation: ArchiveTestable {
  func test<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> (any ArchiveTest<Subject>)? {
    ArchivePredicate.test(wrapped, of: variable).map { ArchiveNegatedTest(test: $0) }
  }
}

extension PredicateExpressions.KeyPath: ArchiveTestable {
  func test<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> (any ArchiveTest<Subject>)? {
    guard let truth = self as? any PredicateExpression<Bool> else { return nil }
    return ArchivePredicate.operand(truth, of: variable)?
      .test(ArchiveRanges(oneOf: [true]), true) { $0 }
  }
}

// MARK: - Members

extension PredicateExpressions.SequenceContains: ArchiveTestable {
  func test<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> (any ArchiveTest<Subject>)? {
    if let operand = ArchivePredicate.operand(element, of: variable),
      let values = ArchivePredicate.constant(sequence)
    {
      let values = Array(values)
      return operand.test(ArchiveRanges(oneOf: values)) { values.contains($0) }
    }
    guard let operand = ArchivePredicate.operand(sequence, of: variable),
      let member = ArchivePredicate.constant(element)
    else { return nil }
    return operand.test(nil) { $0.contains(member) }
  }
}

extension PredicateExpressions.CollectionContainsCollection: ArchiveTestable {
  func test<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> (any ArchiveTest<Subject>)? {
    guard let operand = ArchivePredicate.operand(base, of: variable),
      let part = ArchivePredicate.constant(other)
    else { return nil }
    return operand.test(nil) { $0.contains(part) }
  }
}

extension PredicateExpressions.SequenceStartsWith: ArchiveTestable {
  func test<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> (any ArchiveTest<Subject>)? {
    guard let operand = ArchivePredicate.operand(base, of: variable),
      let beginning = ArchivePredicate.constant(prefix)
    else { return nil }
    let isText = Base.Output.self == String.self
    let text = isText ? (beginning as? String).map { ArchiveRange.prefix($0) } : nil
    return operand.test(text.map { ArchiveRanges($0) }) { $0.starts(with: beginning) }
  }
}

// MARK: - Tests

private struct ArchiveLogicTest<Element: Sendable>: ArchiveTest {
  let first: any ArchiveTest<Element>
  let second: any ArchiveTest<Element>
  let isBoth: Bool

  var hint: ArchiveHint {
    isBoth ? .all([first.hint, second.hint]) : .either(first.hint, second.hint)
  }
  var negatedHint: ArchiveHint {
    isBoth
      ? .either(first.negatedHint, second.negatedHint)
      : .all([first.negatedHint, second.negatedHint])
  }

  func isMet(_ element: Element) -> Bool {
    isBoth
      ? first.isMet(element) && second.isMet(element)
      : first.isMet(element) || second.isMet(element)
  }
}

private struct ArchiveNegatedTest<Element: Sendable>: ArchiveTest {
  let test: any ArchiveTest<Element>

  var hint: ArchiveHint { test.negatedHint }
  var negatedHint: ArchiveHint { test.hint }

  func isMet(_ element: Element) -> Bool { !test.isMet(element) }
}
