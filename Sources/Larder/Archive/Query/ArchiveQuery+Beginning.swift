// SPDX-License-Identifier: MIT

public import Foundation

/// What can be queried: an archive, or a transaction on it.
///
/// **Concurrency.** That of the archive or the transaction.
public protocol ArchiveQueryable<Element> {
  /// What is found.
  associatedtype Element: Identifiable & Sendable
  where Element.ID: Codable & Sendable & SendableMetatype

  /// A query of all elements.
  var query: ArchiveQuery<Element> { get }
}

extension Archive: ArchiveQueryable {}

extension ArchiveTransaction: ArchiveQueryable {}

// What a query begins with, so that it need not begin with `query`.

extension ArchiveQueryable {
  /// Begins a query with a condition on properties.
  ///
  /// ```swift
  /// books.where { $0.year > 1800 && $0.author != nil }
  /// ```
  ///
  /// - Parameter condition: Gets the properties of an element, and compares some.
  /// - Returns: A query of one stage. An index helps; see ``ArchiveCondition``.
  /// - Complexity: O(comparisons).
  @inlinable
  public func `where`(
    _ condition: (ArchiveProperties<Element>) throws -> ArchiveCondition<Element>
  ) rethrows -> ArchiveQuery<Element> {
    try query.where(condition)
  }

  /// Begins a query with a condition.
  ///
  /// ```swift
  /// books.where(\.year > 1800 && \.author != nil)
  /// ```
  ///
  /// - Parameter condition: Comparisons of key paths, or any other condition.
  /// - Returns: A query of one stage. An index helps; see ``ArchiveCondition``.
  /// - Complexity: O(comparisons).
  @inlinable
  public func `where`(_ condition: ArchiveCondition<Element>) -> ArchiveQuery<Element> {
    query.where(condition)
  }

  /// Begins a query with a predicate.
  ///
  /// - Parameter predicate: As `#Predicate` makes it. What it throws comes out of the query.
  /// - Returns: A query of one stage.
  /// - Complexity: O(size of the predicate).
  public func `where`(_ predicate: Predicate<Element>) -> ArchiveQuery<Element> {
    query.where(predicate)
  }

  /// Begins a query with a closure that finds elements.
  ///
  /// - Parameter isIncluded: Whether an element will do. What it throws comes out of the
  ///   query.
  /// - Returns: A query of one stage. No index helps with it.
  /// - Complexity: O(1).
  @inlinable
  public func filter(
    _ isIncluded: @escaping @Sendable (Element) throws -> Bool
  ) -> ArchiveQuery<Element> {
    query.filter(isIncluded)
  }

  /// Begins a query with the order of one property.
  ///
  /// - Parameters:
  ///   - property: Which one.
  ///   - order: In which direction; forward by default.
  /// - Returns: A query of one stage. An index of the property helps.
  /// - Complexity: O(1).
  @inlinable
  public func sorted<Value: Comparable & Sendable>(
    by property: any KeyPath<Element, Value> & Sendable, _ order: SortOrder = .forward
  ) -> ArchiveQuery<Element> {
    query.sorted(by: property, order)
  }

  /// Begins a query with the order of one optional property: nil comes first, unless in reverse.
  ///
  /// - Parameters:
  ///   - property: Which one.
  ///   - order: In which direction; forward by default.
  /// - Returns: A query of one stage. An index of the property helps.
  /// - Complexity: O(1).
  @inlinable
  public func sorted<Value: Comparable & Sendable>(
    by property: any KeyPath<Element, Value?> & Sendable, _ order: SortOrder = .forward
  ) -> ArchiveQuery<Element> {
    query.sorted(by: property, order)
  }

  /// Begins a query with the order of a property that is true or false: false comes first, unless
  /// in reverse.
  ///
  /// - Parameters:
  ///   - property: Which one.
  ///   - order: In which direction; forward by default.
  /// - Returns: A query of one stage. An index of the property helps.
  /// - Complexity: O(1).
  @inlinable
  public func sorted(
    by property: any KeyPath<Element, Bool> & Sendable, _ order: SortOrder = .forward
  ) -> ArchiveQuery<Element> {
    query.sorted(by: property, order)
  }

  /// Begins a query with the order of an optional property that is true or false: nil comes first,
  /// then false, unless in reverse.
  ///
  /// - Parameters:
  ///   - property: Which one.
  ///   - order: In which direction; forward by default.
  /// - Returns: A query of one stage. An index of the property helps.
  /// - Complexity: O(1).
  @inlinable
  public func sorted(
    by property: any KeyPath<Element, Bool?> & Sendable, _ order: SortOrder = .forward
  ) -> ArchiveQuery<Element> {
    query.sorted(by: property, order)
  }

  /// Begins a query with the order of a closure.
  ///
  /// - Parameter areInIncreasingOrder: As for the query's own.
  /// - Returns: A query of one stage. No index helps with it.
  /// - Complexity: O(1).
  public func sorted(
    by areInIncreasingOrder: @escaping @Sendable (Element, Element) -> Bool
  ) -> ArchiveQuery<Element> {
    query.sorted(by: areInIncreasingOrder)
  }

  /// Begins a query with the order of one of Foundation's descriptors.
  ///
  /// - Parameter descriptor: What to sort by.
  /// - Returns: A query of one stage.
  /// - Complexity: O(1).
  public func sorted(using descriptor: SortDescriptor<Element>) -> ArchiveQuery<Element> {
    query.sorted(using: descriptor)
  }

  /// Begins a query with the order of any comparator.
  ///
  /// - Parameter comparator: What compares two elements.
  /// - Returns: A query of one stage.
  /// - Complexity: O(1).
  public func sorted<Comparator: SortComparator & Sendable>(
    using comparator: Comparator
  ) -> ArchiveQuery<Element> where Comparator.Compared == Element {
    query.sorted(using: comparator)
  }

  /// Begins a query with the order of Foundation's descriptors.
  ///
  /// - Parameter descriptors: What to sort by.
  /// - Returns: A query of one stage.
  /// - Complexity: O(descriptors).
  public func sorted(using descriptors: [SortDescriptor<Element>]) -> ArchiveQuery<Element> {
    query.sorted(using: descriptors)
  }

  /// Begins a query with a limit: so many elements, in the order of the primary keys' bytes.
  ///
  /// - Parameter count: How many at most. 0 and less: none.
  /// - Returns: A query of one stage.
  /// - Complexity: O(1).
  @inlinable
  public func limit(_ count: Int) -> ArchiveQuery<Element> { query.limit(count) }

  /// Begins a query that leaves out so many elements, in the order of the primary keys' bytes.
  ///
  /// - Parameter count: How many. 0 and less: none.
  /// - Returns: A query of one stage.
  /// - Complexity: O(1).
  @inlinable
  public func skip(_ count: Int) -> ArchiveQuery<Element> { query.skip(count) }

  /// The first element, in the order of the primary keys' bytes.
  ///
  /// - Returns: The element; nil if there is none.
  /// - Throws: As `first()` of the query.
  /// - Complexity: O(log n), and what decoding takes.
  @inlinable
  public func first() throws -> Element? { try query.first() }

  /// As the synchronous form, on a thread of the archive's own: the first element.
  ///
  /// - Returns: The element; nil if there is none.
  /// - Throws: As `first()` of the query.
  /// - Complexity: As the synchronous form, and a change of threads.
  public func first() async throws -> Element? { try await query.first() }

  /// All elements, some at a time; see ``ArchiveQuery/pages(of:)``.
  ///
  /// - Parameter size: How many a page has, but for the last. Less than 1 counts as 1.
  /// - Returns: The pages.
  /// - Complexity: O(1).
  @inlinable
  public func pages(of size: Int) -> ArchivePages<Element> { query.pages(of: size) }
}
