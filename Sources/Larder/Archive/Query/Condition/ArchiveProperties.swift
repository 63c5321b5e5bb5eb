// SPDX-License-Identifier: MIT

/// The properties of an element, to be compared.
///
/// The closure of a query gets them, and makes an ``ArchiveCondition``:
///
/// ```swift
/// books.where { $0.year >= 1800 && $0.publisher.city == "Oslo" }
/// ```
///
/// A property that is true or false is a condition by itself.
///
/// **Concurrency.** A value; safe to pass between threads.
@dynamicMemberLookup
public struct ArchiveProperties<Element: Sendable>: Sendable {
  @inlinable
  init() {}

  /// A property to be compared.
  ///
  /// - Parameter keyPath: Which property of the element.
  /// - Returns: The property.
  /// - Complexity: O(1).
  @inlinable
  public subscript<Value: Sendable>(
    dynamicMember keyPath: any KeyPath<Element, Value> & Sendable
  ) -> ArchiveProperty<Element, Value> {
    ArchiveProperty(keyPath)
  }

  /// Elements whose property is true.
  ///
  /// - Parameter keyPath: Which property of the element.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  @_disfavoredOverload
  public subscript(
    dynamicMember keyPath: any KeyPath<Element, Bool> & Sendable
  ) -> ArchiveCondition<Element> {
    ArchiveProperty(keyPath) == true
  }

  /// A property that is called like something of this type's own, or given by a key path, such as
  /// `$0[\.publisher?.city]`.
  ///
  /// - Parameter keyPath: Which property of the element.
  /// - Returns: The property.
  /// - Complexity: O(1).
  @inlinable
  public subscript<Value: Sendable>(
    _ keyPath: any KeyPath<Element, Value> & Sendable
  ) -> ArchiveProperty<Element, Value> {
    ArchiveProperty(keyPath)
  }
}

extension ArchiveProperties where Element: Identifiable, Element.ID: Sendable {
  /// The primary key, which elements are found by without an index.
  @inlinable public var id: ArchiveProperty<Element, Element.ID> {
    ArchiveProperty(\Element.id) { $0.id }
  }
}

/// A property of an element, to be compared.
///
/// **Concurrency.** A value; safe to pass between threads.
@dynamicMemberLookup
public struct ArchiveProperty<Element: Sendable, Value: Sendable>: Sendable {
  @usableFromInline package let keyPath: any KeyPath<Element, Value> & Sendable
  @usableFromInline let read: @Sendable (Element) -> Value
  /// What the property that this one is a property of has to be.
  @usableFromInline var cases: (@Sendable ((Value) throws -> Bool) -> ArchiveHint?)?

  @inlinable
  package init(
    _ keyPath: any KeyPath<Element, Value> & Sendable,
    read: (@Sendable (Element) -> Value)? = nil
  ) {
    self.keyPath = keyPath
    self.read = read ?? ArchiveKeyPaths.reader(keyPath)
  }

  /// A property of the property.
  ///
  /// - Parameter inner: Which one.
  /// - Returns: The property.
  /// - Complexity: O(1).
  public subscript<Inner: Sendable>(
    dynamicMember inner: any KeyPath<Value, Inner> & Sendable
  ) -> ArchiveProperty<Element, Inner> {
    var property = ArchiveProperty<Element, Inner>(ArchiveKeyPaths.joined(keyPath, inner))
    if Value.self is any CaseIterable.Type {
      property.cases = { [keyPath] isMet in
        ArchiveHint(keyPath, ifCases: { try isMet($0[keyPath: inner]) })
      }
    }
    return property
  }

  /// Elements of which a property of the property is true, such as `isEmpty` of a collection.
  ///
  /// - Parameter inner: Which one.
  /// - Returns: A condition. An index helps.
  /// - Complexity: O(1).
  @_disfavoredOverload
  public subscript(
    dynamicMember inner: any KeyPath<Value, Bool> & Sendable
  ) -> ArchiveCondition<Element> {
    let property: ArchiveProperty<Element, Bool> = self[dynamicMember: inner]
    return property == true
  }

  /// Elements whose property meets something.
  ///
  /// - Parameter ranges: Where the values lie that meet it; nil if one cannot tell.
  @inlinable
  func condition(
    _ ranges: ArchiveRanges?, _ isMet: @escaping @Sendable (Value) throws -> Bool
  ) -> ArchiveCondition<Element> {
    let read = read
    let other = Value.self == Bool.self && ranges != nil ? hintOfOthers(isMet) : nil
    return ArchiveCondition(hint(ranges, isMet), other: other) { try isMet(read($0)) }
  }

  @inlinable
  func hint(_ ranges: ArchiveRanges?, _ isMet: (Value) throws -> Bool) -> ArchiveHint {
    let hint = ranges.map { ArchiveHint.values(keyPath, $0) } ?? .nothing
    return cases?(isMet).map { .all([hint, $0]) } ?? hint
  }

  /// What is so of all elements whose property is true or false and does not meet it.
  @usableFromInline
  func hintOfOthers(_ isMet: (Value) throws -> Bool) -> ArchiveHint? {
    guard let values = try? ([false, true] as? [Value])?.filter({ try !isMet($0) }) else {
      return nil
    }
    return hint(ArchiveRanges(oneOf: values)) { try !isMet($0) }
  }
}

extension ArchiveProperty {
  /// Elements whose property meets a condition on its value.
  package func meets(_ condition: ArchiveCondition<Value>) -> ArchiveCondition<Element> {
    let read = read
    let isMet = condition.isMet
    var (hint, negated) = (condition.hint.of(keyPath), condition.negatedHint.of(keyPath))
    if let cases = cases?(isMet) { hint = .all([hint, cases]) }
    if let cases = cases?({ try !isMet($0) }) { negated = .all([negated, cases]) }
    return ArchiveCondition(hint, other: negated) { try isMet(read($0)) }
  }
}

extension ArchiveHint {
  /// The same, of what is a property of something else.
  fileprivate func of(_ outer: AnyKeyPath) -> ArchiveHint {
    switch self {
    case .values(let inner, let ranges):
      outer.appending(path: inner).map { .values(ArchiveKeyPaths.assumeAnySendable($0), ranges) }
        ?? .nothing
    case .all(let hints): .all(hints.map { $0.of(outer) })
    case .any(let hints): .any(hints.map { $0.of(outer) })
    case .named, .nothing: .nothing
    }
  }
}
