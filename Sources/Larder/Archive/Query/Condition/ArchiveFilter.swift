// SPDX-License-Identifier: MIT

/// Conditions on the properties of an element, all of which it has to meet.
///
/// A closure gets one without conditions, and names properties:
///
/// ```swift
/// archive.findWhere { $0.age(.greaterOrEqual(with: 18)).address.city(.isEqual(with: "Oslo")) }
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
@dynamicMemberLookup
public struct ArchiveFilter<Element: Sendable>: Sendable {
  var terms: [ArchiveTerm<Element>] = []

  /// A property that is going to get its condition.
  ///
  /// - Parameter keyPath: Which property of the element.
  /// - Returns: The property, to be called with a condition.
  /// - Complexity: O(1).
  public subscript<Value: Sendable>(
    dynamicMember keyPath: any KeyPath<Element, Value> & Sendable
  ) -> Property<Value> {
    Property(filter: self, keyPath: keyPath)
  }

  /// A property that is called like something of the filter's own, or given by a key path.
  ///
  /// - Parameter keyPath: Which property of the element.
  /// - Returns: The property, to be called with a condition.
  /// - Complexity: O(1).
  public subscript<Value: Sendable>(
    _ keyPath: any KeyPath<Element, Value> & Sendable
  ) -> Property<Value> {
    Property(filter: self, keyPath: keyPath)
  }

  /// A property that is going to get its condition.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  @dynamicMemberLookup
  public struct Property<Value: Sendable>: Sendable {
    fileprivate let filter: ArchiveFilter
    fileprivate let keyPath: any KeyPath<Element, Value> & Sendable
    /// What the property that this one is a property of has to be.
    fileprivate var cases: (@Sendable ((Value) throws -> Bool) -> ArchiveHint?)?

    /// Adds a condition to the filter.
    ///
    /// - Parameter condition: What the property has to be.
    /// - Returns: The filter, for further properties.
    /// - Complexity: O(1).
    public func callAsFunction(_ condition: ArchiveCondition<Value>) -> ArchiveFilter {
      var filter = filter
      var term = ArchiveTerm(keyPath, condition)
      if let cases = cases?(condition.isMet) { term.hint = .all([term.hint, cases]) }
      filter.terms.append(term)
      return filter
    }

    /// A property of the property.
    ///
    /// - Parameter inner: Which one.
    /// - Returns: The property, to be called with a condition.
    /// - Complexity: O(1).
    public subscript<Inner: Sendable>(
      dynamicMember inner: any KeyPath<Value, Inner> & Sendable
    ) -> ArchiveFilter.Property<Inner> {
      var property = ArchiveFilter.Property<Inner>(
        filter: filter, keyPath: ArchiveKeyPaths.joined(keyPath, inner))
      if Value.self is any CaseIterable.Type {
        property.cases = { [keyPath] isMet in
          ArchiveHint(keyPath, ifCases: { try isMet($0[keyPath: inner]) })
        }
      }
      return property
    }
  }
}

extension ArchiveFilter where Element: Identifiable, Element.ID: Sendable {
  /// The primary key, which elements are found by without an index.
  public var id: Property<Element.ID> { Property(filter: self, keyPath: \Element.id) }
}

/// One thing that has to be so for an element to pass.
struct ArchiveTerm<Element: Sendable>: Sendable {
  /// What is so of all elements that pass.
  var hint = ArchiveHint.nothing
  let isMet: @Sendable (Element) throws -> Bool

  init(_ isMet: @escaping @Sendable (Element) throws -> Bool) { self.isMet = isMet }

  init<Value: Sendable>(
    _ keyPath: any KeyPath<Element, Value> & Sendable, _ condition: ArchiveCondition<Value>
  ) {
    if let ranges = condition.ranges { hint = .values(keyPath, ranges) }
    let isMet = condition.isMet
    let read = ArchiveKeyPaths.reader(keyPath)
    self.isMet = { try isMet(read($0)) }
  }
}

extension ArchiveTerm {
  /// Whether all terms are met, as one closure: terms themselves are large.
  static func all(_ terms: [ArchiveTerm]) -> @Sendable (Element) throws -> Bool {
    if terms.isEmpty { return { _ in true } }
    if terms.count == 1 { return terms[0].isMet }
    let tests = terms.map(\.isMet)
    return { element in
      for test in tests where try !test(element) { return false }
      return true
    }
  }
}
