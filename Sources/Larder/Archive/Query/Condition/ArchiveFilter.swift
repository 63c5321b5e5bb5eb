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
  @usableFromInline var terms: [ArchiveTerm<Element>] = []

  @inlinable
  init() {}

  /// A property that is going to get its condition.
  ///
  /// - Parameter keyPath: Which property of the element.
  /// - Returns: The property, to be called with a condition.
  /// - Complexity: O(1).
  @inlinable
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
  @inlinable
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
    @usableFromInline let filter: ArchiveFilter
    @usableFromInline let keyPath: any KeyPath<Element, Value> & Sendable
    @usableFromInline let read: @Sendable (Element) -> Value
    /// What the property that this one is a property of has to be.
    @usableFromInline var cases: (@Sendable ((Value) throws -> Bool) -> ArchiveHint?)?

    @inlinable
    init(
      filter: ArchiveFilter, keyPath: any KeyPath<Element, Value> & Sendable,
      read: (@Sendable (Element) -> Value)? = nil
    ) {
      self.filter = filter
      self.keyPath = keyPath
      self.read = read ?? ArchiveKeyPaths.reader(keyPath)
    }

    /// Adds a condition to the filter.
    ///
    /// - Parameter condition: What the property has to be.
    /// - Returns: The filter, for further properties.
    /// - Complexity: O(1).
    @inlinable
    public func callAsFunction(_ condition: ArchiveCondition<Value>) -> ArchiveFilter {
      var filter = filter
      var term = ArchiveTerm(keyPath, condition, read)
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
  @inlinable public var id: Property<Element.ID> {
    Property(filter: self, keyPath: \Element.id) { $0.id }
  }
}

/// One thing that has to be so for an element to pass.
@usableFromInline
struct ArchiveTerm<Element: Sendable>: Sendable {
  /// What is so of all elements that pass.
  @usableFromInline var hint: ArchiveHint
  @usableFromInline let isMet: @Sendable (Element) throws -> Bool

  @inlinable
  init(_ isMet: @escaping @Sendable (Element) throws -> Bool) {
    hint = .nothing
    self.isMet = isMet
  }

  @inlinable
  init<Value: Sendable>(
    _ keyPath: any KeyPath<Element, Value> & Sendable, _ condition: ArchiveCondition<Value>,
    _ read: @escaping @Sendable (Element) -> Value
  ) {
    hint = condition.ranges.map { .values(keyPath, $0) } ?? .nothing
    let isMet = condition.isMet
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
