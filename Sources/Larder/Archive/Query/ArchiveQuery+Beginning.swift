// SPDX-License-Identifier: MIT

public import Foundation

// What a query begins with, so that it need not begin with `query`.

extension Archive {
  /// Begins a query with conditions on properties; see
  /// ``ArchiveQuery/findWhere(_:)``.
  ///
  /// - Parameter conditions: Gets a filter without conditions, and adds some.
  /// - Returns: A query of one stage.
  /// - Complexity: O(1).
  @inlinable
  public func findWhere(
    _ conditions: (ArchiveFilter<Element>) -> ArchiveFilter<Element>
  ) -> ArchiveQuery<Element> {
    query.findWhere(conditions)
  }

  /// Begins a query with a closure that finds elements.
  ///
  /// - Parameter isIncluded: Whether an element will do. What it throws comes out of the
  ///   query.
  /// - Returns: A query of one stage.
  /// - Complexity: O(1).
  public func filter(
    _ isIncluded: @escaping @Sendable (Element) throws -> Bool
  ) -> ArchiveQuery<Element> {
    query.filter(isIncluded)
  }

  /// Begins a query with a predicate.
  ///
  /// - Parameter predicate: As `#Predicate` makes it. What it throws comes out of the query.
  /// - Returns: A query of one stage.
  /// - Complexity: O(size of the predicate).
  public func filter(_ predicate: Predicate<Element>) -> ArchiveQuery<Element> {
    query.filter(predicate)
  }

  /// Begins a query with an order; see ``ArchiveQuery/sorted(_:)``.
  ///
  /// - Parameter properties: Gets a sorter without properties, and adds some.
  /// - Returns: A query of one stage.
  /// - Complexity: O(1).
  @inlinable
  public func sorted(
    _ properties: (ArchiveSorter<Element>) -> ArchiveSorter<Element>
  ) -> ArchiveQuery<Element> {
    query.sorted(properties)
  }

  /// Begins a query with the order of one property.
  ///
  /// - Parameters:
  ///   - property: Which one.
  ///   - order: In which direction; ascending by default.
  /// - Returns: A query of one stage.
  /// - Complexity: O(1).
  @inlinable
  public func sorted<Value: Comparable & Sendable>(
    by property: any KeyPath<Element, Value> & Sendable, order: ArchiveOrder = .ascending
  ) -> ArchiveQuery<Element> {
    query.sorted(by: property, order: order)
  }

  /// Begins a query with the order of one optional property: nil comes first when ascending.
  ///
  /// - Parameters:
  ///   - property: Which one.
  ///   - order: In which direction; ascending by default.
  /// - Returns: A query of one stage.
  /// - Complexity: O(1).
  @inlinable
  public func sorted<Value: Comparable & Sendable>(
    by property: any KeyPath<Element, Value?> & Sendable, order: ArchiveOrder = .ascending
  ) -> ArchiveQuery<Element> {
    query.sorted(by: property, order: order)
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
  public func limitResults(by count: Int) -> ArchiveQuery<Element> {
    query.limitResults(by: count)
  }
}
