// SPDX-License-Identifier: MIT

public import Foundation
public import Larder

// Queries as Vellum writes them.

extension Archive {
  /// Begins a query: lets elements through that meet conditions, all of them.
  ///
  /// - Parameter conditions: Gets a filter without conditions, and adds some.
  /// - Returns: A query of one stage.
  /// - Complexity: O(1).
  public func findWhere(
    _ conditions: (ArchiveFilter<Element>) -> ArchiveFilter<Element>
  ) -> ArchiveQuery<Element> {
    conditions(ArchiveFilter()).conditions.reduce(query) { $0.where($1) }
  }

  /// Begins a query: sorts by properties, each for the elements that those before leave alike.
  ///
  /// - Parameter properties: Gets a sorter without properties, and adds some.
  /// - Returns: A query of one stage.
  /// - Complexity: O(1).
  public func sorted(
    _ properties: (ArchiveSorter<Element>) -> ArchiveSorter<Element>
  ) -> ArchiveQuery<Element> {
    query.sorted(by: properties(ArchiveSorter()).keys)
  }

  /// Begins a query: sorts by one property.
  ///
  /// - Parameters:
  ///   - property: Which one.
  ///   - order: In which direction.
  /// - Returns: A query of one stage.
  /// - Complexity: O(1).
  public func sorted<Value: Comparable & Sendable>(
    by property: any KeyPath<Element, Value> & Sendable, order: ArchiveOrder
  ) -> ArchiveQuery<Element> {
    query.sorted(by: property, order.foundation)
  }

  /// Begins a query: sorts by one optional property: nil comes first when ascending.
  ///
  /// - Parameters:
  ///   - property: Which one.
  ///   - order: In which direction.
  /// - Returns: A query of one stage.
  /// - Complexity: O(1).
  public func sorted<Value: Comparable & Sendable>(
    by property: any KeyPath<Element, Value?> & Sendable, order: ArchiveOrder
  ) -> ArchiveQuery<Element> {
    query.sorted(by: property, order.foundation)
  }

  /// Begins a query: lets so many elements through.
  ///
  /// - Parameter count: How many at most. 0 and less: none.
  /// - Returns: A query of one stage.
  /// - Complexity: O(1).
  public func limitResults(by count: Int) -> ArchiveQuery<Element> {
    query.limit(count)
  }

  /// Begins a query: lets elements through for which a predicate holds.
  ///
  /// - Parameter predicate: As `#Predicate` makes it.
  /// - Returns: A query of one stage.
  /// - Complexity: O(size of the predicate).
  public func filter(_ predicate: Predicate<Element>) -> ArchiveQuery<Element> {
    query.where(predicate)
  }
}

extension ArchiveQuery {
  /// Lets elements through that meet conditions, all of them.
  ///
  /// - Parameter conditions: Gets a filter without conditions, and adds some.
  /// - Returns: The query, longer by a stage.
  /// - Complexity: O(1).
  public func findWhere(
    _ conditions: (ArchiveFilter<Element>) -> ArchiveFilter<Element>
  ) -> ArchiveQuery<Element> {
    conditions(ArchiveFilter()).conditions.reduce(self) { $0.where($1) }
  }

  /// Sorts by properties, each for the elements that those before leave alike.
  ///
  /// - Parameter properties: Gets a sorter without properties, and adds some.
  /// - Returns: The query, longer by a stage.
  /// - Complexity: O(1).
  public func sorted(
    _ properties: (ArchiveSorter<Element>) -> ArchiveSorter<Element>
  ) -> ArchiveQuery<Element> {
    self.sorted(by: properties(ArchiveSorter()).keys)
  }

  /// Sorts by one property.
  ///
  /// - Parameters:
  ///   - property: Which one.
  ///   - order: In which direction.
  /// - Returns: The query, longer by a stage.
  /// - Complexity: O(1).
  public func sorted<Value: Comparable & Sendable>(
    by property: any KeyPath<Element, Value> & Sendable, order: ArchiveOrder
  ) -> ArchiveQuery<Element> {
    self.sorted(by: property, order.foundation)
  }

  /// Sorts by one optional property: nil comes first when ascending.
  ///
  /// - Parameters:
  ///   - property: Which one.
  ///   - order: In which direction.
  /// - Returns: The query, longer by a stage.
  /// - Complexity: O(1).
  public func sorted<Value: Comparable & Sendable>(
    by property: any KeyPath<Element, Value?> & Sendable, order: ArchiveOrder
  ) -> ArchiveQuery<Element> {
    self.sorted(by: property, order.foundation)
  }

  /// Lets so many elements through.
  ///
  /// - Parameter count: How many at most. 0 and less: none.
  /// - Returns: The query, longer by a stage.
  /// - Complexity: O(1).
  public func limitResults(by count: Int) -> ArchiveQuery<Element> {
    self.limit(count)
  }

  /// Lets elements through for which a predicate holds.
  ///
  /// - Parameter predicate: As `#Predicate` makes it.
  /// - Returns: The query, longer by a stage.
  /// - Complexity: O(size of the predicate).
  public func filter(_ predicate: Predicate<Element>) -> ArchiveQuery<Element> {
    self.where(predicate)
  }

  /// Runs the query.
  ///
  /// - Returns: The results, in their order; possibly none.
  /// - Throws: As `results()`.
  /// - Complexity: As `results()`.
  @inlinable
  public func getResults() throws -> [Element] { try results() }

  /// As the synchronous form, on a thread of the archive's own: runs the query.
  ///
  /// - Returns: The results, in their order; possibly none.
  /// - Throws: As `results()`.
  /// - Complexity: As `results()`.
  @inlinable
  public func getResults() async throws -> [Element] { try await results() }

  /// Runs the query until there is a result.
  ///
  /// - Returns: The result; nil if there is none.
  /// - Throws: As `first()`.
  /// - Complexity: As `first()`.
  @inlinable
  public func firstResult() throws -> Element? { try first() }

  /// As the synchronous form, on a thread of the archive's own:
  /// runs the query until there is a result.
  ///
  /// - Returns: The result; nil if there is none.
  /// - Throws: As `first()`.
  /// - Complexity: As `first()`.
  public func firstResult() async throws -> Element? { try await first() }

  /// Runs the query for its last result.
  ///
  /// - Returns: The result; nil if there is none.
  /// - Throws: As `last()`.
  /// - Complexity: As `last()`.
  public func lastResult() throws -> Element? { try last() }

  /// As the synchronous form, on a thread of the archive's own: runs the query for its last result.
  ///
  /// - Returns: The result; nil if there is none.
  /// - Throws: As `last()`.
  /// - Complexity: As `last()`.
  public func lastResult() async throws -> Element? { try await last() }
}
