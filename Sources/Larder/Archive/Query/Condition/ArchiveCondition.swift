// SPDX-License-Identifier: MIT

/// What an element has to meet to be found.
///
/// Comparisons of properties make conditions, and `&&`, `||` and `!` make conditions of others:
///
/// ```swift
/// books.where { $0.year > 1800 && ($0.author == nil || $0.title.hasPrefix("A")) }
/// books.where(\.year > 1800 && \.author != nil)
/// ```
///
/// The planner sees all of it, as it does of a `#Predicate`: every comparison of an indexed
/// property, or of the primary key, may choose what is read. Operators on key paths and
/// ``ArchiveProperties`` make the same conditions.
///
/// **Concurrency.** A value; safe to pass between threads. What it tests runs on the thread that
/// runs the query.
public struct ArchiveCondition<Element: Sendable>: Sendable {
  /// All of them have to be met.
  @usableFromInline let terms: [ArchiveTerm<Element>]
  /// What is so of all elements that do not meet the condition; nil: what follows from the terms.
  @usableFromInline let other: ArchiveHint?

  @inlinable
  init(terms: [ArchiveTerm<Element>], other: ArchiveHint?) {
    self.terms = terms
    self.other = other
  }

  @inlinable
  init(
    _ hint: ArchiveHint, other: ArchiveHint? = nil,
    _ isMet: @escaping @Sendable (Element) throws -> Bool
  ) {
    self.init(terms: [ArchiveTerm(hint, isMet)], other: other)
  }

  /// What is so of all elements that meet the condition, and of those that do not.
  var hint: ArchiveHint { terms.count == 1 ? terms[0].hint : .all(terms.map(\.hint)) }
  var negatedHint: ArchiveHint { other ?? hint.negated }

  /// Whether an element meets it.
  var isMet: @Sendable (Element) throws -> Bool { ArchiveTerm.all(terms) }

  /// Elements that meet both conditions.
  ///
  /// - Parameters:
  ///   - left: A condition.
  ///   - right: Another one, which is only tested if the first is met.
  /// - Returns: A condition. An index of either side helps, or one of both.
  /// - Complexity: O(comparisons).
  @inlinable
  public static func && (left: Self, right: Self) -> Self {
    let follows = left.other == nil && right.other == nil
    return Self(
      terms: left.terms + right.terms, other: follows ? nil : left.eitherNegated(right))
  }

  /// Elements that meet one of the conditions, or both.
  ///
  /// - Parameters:
  ///   - left: A condition.
  ///   - right: Another one, which is only tested if the first is not met.
  /// - Returns: A condition. Indexes help if there is one for each side.
  /// - Complexity: O(comparisons).
  public static func || (left: Self, right: Self) -> Self {
    let (first, second) = (left.isMet, right.isMet)
    let other = ArchiveHint.all([left.negatedHint, right.negatedHint])
    return Self(.either(left.hint, right.hint), other: other) { try first($0) || second($0) }
  }

  /// Elements that do not meet the condition.
  ///
  /// - Parameter condition: A condition.
  /// - Returns: A condition. An index helps with what is opposed to a comparison.
  /// - Complexity: O(comparisons).
  public static prefix func ! (condition: Self) -> Self {
    let isMet = condition.isMet
    return Self(condition.negatedHint, other: condition.hint) { try !isMet($0) }
  }

  @usableFromInline
  func eitherNegated(_ other: Self) -> ArchiveHint {
    .either(negatedHint, other.negatedHint)
  }
}
