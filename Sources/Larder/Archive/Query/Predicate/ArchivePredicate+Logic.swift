// SPDX-License-Identifier: MIT

import Foundation

// What `&&`, `||` and `!` make of other tests, and properties that are true or false.

extension PredicateExpressions.Conjunction: ArchiveTestable {
  func condition<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> ArchiveCondition<Subject>? {
    guard let first = ArchivePredicate.condition(lhs, of: variable),
      let second = ArchivePredicate.condition(rhs, of: variable)
    else { return nil }
    return first && second
  }
}

extension PredicateExpressions.Disjunction: ArchiveTestable {
  func condition<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> ArchiveCondition<Subject>? {
    guard let first = ArchivePredicate.condition(lhs, of: variable),
      let second = ArchivePredicate.condition(rhs, of: variable)
    else { return nil }
    return first || second
  }
}

extension PredicateExpressions.Negation: ArchiveTestable {
  func condition<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> ArchiveCondition<Subject>? {
    ArchivePredicate.condition(wrapped, of: variable).map { !$0 }
  }
}

extension PredicateExpressions.KeyPath: ArchiveTestable {
  func condition<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> ArchiveCondition<Subject>? {
    guard let truth = self as? any PredicateExpression<Bool> else { return nil }
    return ArchivePredicate.operand(truth, of: variable)?
      .condition(ArchiveRanges(oneOf: [true])) { $0 }
  }
}

// MARK: - Members

extension PredicateExpressions.SequenceContains: ArchiveTestable {
  func condition<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> ArchiveCondition<Subject>? {
    if let operand = ArchivePredicate.operand(element, of: variable),
      let values = ArchivePredicate.constant(sequence)
    {
      let values = Array(values)
      return operand.condition(ArchiveRanges(oneOf: values)) { values.contains($0) }
    }
    guard let operand = ArchivePredicate.operand(sequence, of: variable),
      let member = ArchivePredicate.constant(element)
    else { return nil }
    return operand.condition(nil) { $0.contains(member) }
  }
}

extension PredicateExpressions.CollectionContainsCollection: ArchiveTestable {
  func condition<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> ArchiveCondition<Subject>? {
    guard let operand = ArchivePredicate.operand(base, of: variable),
      let part = ArchivePredicate.constant(other)
    else { return nil }
    return operand.condition(nil) { $0.contains(part) }
  }
}

extension PredicateExpressions.SequenceStartsWith: ArchiveTestable {
  func condition<Subject: Sendable>(
    of variable: PredicateExpressions.Variable<Subject>
  ) -> ArchiveCondition<Subject>? {
    guard let operand = ArchivePredicate.operand(base, of: variable),
      let beginning = ArchivePredicate.constant(prefix)
    else { return nil }
    let isText = Base.Output.self == String.self
    let text = isText ? (beginning as? String).map { ArchiveRanges.prefix($0) } : nil
    return operand.condition(text) { $0.starts(with: beginning) }
  }
}
