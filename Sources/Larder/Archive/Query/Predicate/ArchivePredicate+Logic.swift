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
    return ArchivePredicate.property(truth, of: variable).map {
      ArchiveEqualTest(path: $0, value: true, isEqual: true)
    }
  }
}

// MARK: - Members

extension PredicateExpressions.SequenceContains: ArchiveTestable {
  func test<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> (any ArchiveTest<Subject>)? {
    guard let path = ArchivePredicate.property(sequence, of: variable),
      let member = ArchivePredicate.constant(element)
    else { return nil }
    return ArchiveMemberTest(path: path, member: member)
  }
}

extension PredicateExpressions.CollectionContainsCollection: ArchiveTestable {
  func test<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> (any ArchiveTest<Subject>)? {
    guard let path = ArchivePredicate.property(base, of: variable),
      let part = ArchivePredicate.constant(other)
    else { return nil }
    return ArchivePartTest(path: path, part: part)
  }
}

// MARK: - Tests

private struct ArchiveLogicTest<Element: Sendable>: ArchiveTest {
  let first: any ArchiveTest<Element>
  let second: any ArchiveTest<Element>
  let isBoth: Bool

  var property: (keyPath: any PartialKeyPath<Element> & Sendable, range: ArchiveRange)? { nil }

  func isMet(_ element: Element) -> Bool {
    isBoth
      ? first.isMet(element) && second.isMet(element)
      : first.isMet(element) || second.isMet(element)
  }
}

private struct ArchiveNegatedTest<Element: Sendable>: ArchiveTest {
  let test: any ArchiveTest<Element>

  var property: (keyPath: any PartialKeyPath<Element> & Sendable, range: ArchiveRange)? { nil }

  func isMet(_ element: Element) -> Bool { !test.isMet(element) }
}

/// Sendable, because it is a part of a `Predicate`, which is.
private struct ArchiveMemberTest<Element: Sendable, Value: Sequence>: ArchiveTest,
  @unchecked Sendable
where Value.Element: Equatable {
  let path: any KeyPath<Element, Value> & Sendable
  let member: Value.Element

  var property: (keyPath: any PartialKeyPath<Element> & Sendable, range: ArchiveRange)? { nil }

  func isMet(_ element: Element) -> Bool { element[keyPath: path].contains(member) }
}

/// Sendable, because it is a part of a `Predicate`, which is.
private struct ArchivePartTest<Element: Sendable, Value: Collection, Part: Collection>: ArchiveTest,
  @unchecked Sendable
where Value.Element: Equatable, Part.Element == Value.Element {
  let path: any KeyPath<Element, Value> & Sendable
  let part: Part

  var property: (keyPath: any PartialKeyPath<Element> & Sendable, range: ArchiveRange)? { nil }

  func isMet(_ element: Element) -> Bool { element[keyPath: path].contains(part) }
}
