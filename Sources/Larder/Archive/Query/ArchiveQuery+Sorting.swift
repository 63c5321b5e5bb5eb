// SPDX-License-Identifier: MIT

public import Foundation

extension ArchiveQuery {
  /// Sorts by one property. What is alike stays in the order that it had: of several sorts the last
  /// one counts most.
  ///
  /// ```swift
  /// books.query.sorted(by: \.year, .reverse).sorted(by: \.author)  // by author, then by year
  /// ```
  ///
  /// - Parameters:
  ///   - property: Which one.
  ///   - order: In which direction; forward by default.
  /// - Returns: The query, longer by a stage. An index of the property helps.
  /// - Complexity: O(1).
  @inlinable
  public func sorted<Value: Comparable & Sendable>(
    by property: any KeyPath<Element, Value> & Sendable, _ order: SortOrder = .forward
  ) -> ArchiveQuery {
    sorted(by: [ArchiveSortKey(property, order: order)])
  }

  /// Sorts by one optional property: nil comes first, unless in reverse.
  ///
  /// - Parameters:
  ///   - property: Which one.
  ///   - order: In which direction; forward by default.
  /// - Returns: The query, longer by a stage. An index of the property helps.
  /// - Complexity: O(1).
  @inlinable
  public func sorted<Value: Comparable & Sendable>(
    by property: any KeyPath<Element, Value?> & Sendable, _ order: SortOrder = .forward
  ) -> ArchiveQuery {
    sorted(by: [ArchiveSortKey(property, order: order)])
  }

  /// Sorts by a property that is true or false: false comes first, unless in reverse.
  ///
  /// - Parameters:
  ///   - property: Which one.
  ///   - order: In which direction; forward by default.
  /// - Returns: The query, longer by a stage. An index of the property helps.
  /// - Complexity: O(1).
  @inlinable
  public func sorted(
    by property: any KeyPath<Element, Bool> & Sendable, _ order: SortOrder = .forward
  ) -> ArchiveQuery {
    sorted(by: [ArchiveSortKey(property, order: order)])
  }

  /// Sorts by an optional property: nil comes first, then false, unless in reverse.
  ///
  /// - Parameters:
  ///   - property: Which one.
  ///   - order: In which direction; forward by default.
  /// - Returns: The query, longer by a stage. An index of the property helps.
  /// - Complexity: O(1).
  @inlinable
  public func sorted(
    by property: any KeyPath<Element, Bool?> & Sendable, _ order: SortOrder = .forward
  ) -> ArchiveQuery {
    sorted(by: [ArchiveSortKey(property, order: order)])
  }

  /// Sorts by a closure.
  ///
  /// - Parameter areInIncreasingOrder: Whether the first element belongs before the second.
  ///   It has to be a strict order: for no two elements both ways, and for none and itself.
  /// - Returns: The query, longer by a stage. No index helps with it.
  /// - Complexity: O(1).
  public func sorted(
    by areInIncreasingOrder: @escaping @Sendable (Element, Element) -> Bool
  ) -> ArchiveQuery {
    let key = ArchiveSortKey<Element>(order: .forward) { a, b in
      if areInIncreasingOrder(a, b) { return .orderedAscending }
      return areInIncreasingOrder(b, a) ? .orderedDescending : .orderedSame
    }
    return sorted(by: [key])
  }

  /// Sorts as Foundation's descriptors say, each for the elements that those before leave
  /// alike.
  ///
  /// - Parameter descriptors: What to sort by; the order stays as it is if there are none.
  /// - Returns: The query, longer by a stage. An index of the first property helps, unless
  ///   the descriptor has a comparator of its own for texts.
  /// - Complexity: O(descriptors).
  public func sorted(using descriptors: [SortDescriptor<Element>]) -> ArchiveQuery {
    sorted(by: descriptors.map { descriptor in key(descriptor) { $0.order(of: descriptor) } })
  }

  /// Sorts as one of Foundation's descriptors says.
  ///
  /// - Parameter descriptor: What to sort by.
  /// - Returns: The query, longer by a stage. An index of the property helps, unless the
  ///   descriptor has a comparator of its own for texts.
  /// - Complexity: O(1).
  public func sorted(using descriptor: SortDescriptor<Element>) -> ArchiveQuery {
    sorted(using: [descriptor])
  }

  /// Sorts by any comparator of Foundation's, or one of your own.
  ///
  /// - Parameter comparator: What compares two elements, `KeyPathComparator(\.age)` for
  ///   example.
  /// - Returns: The query, longer by a stage. An index helps with a `KeyPathComparator` of its
  ///   property that has no comparator of its own, unless it is one of texts.
  /// - Complexity: O(1).
  public func sorted<Comparator: SortComparator & Sendable>(
    using comparator: Comparator
  ) -> ArchiveQuery where Comparator.Compared == Element {
    let key = key(comparator) { comparators in
      (comparator as? KeyPathComparator<Element>).flatMap { comparators.order(of: $0) }
    }
    return sorted(by: [key])
  }

  /// Sorts by keys, each for the elements that those before leave alike.
  ///
  /// What a sort right before it has to say about alike elements becomes part of it, so that an
  /// index of several properties helps with both.
  @inlinable
  package func sorted(by keys: [ArchiveSortKey<Element>]) -> ArchiveQuery {
    guard case .sort(let before)? = stages.last else { return adding(.sort(keys)) }
    var query = self
    query.stages[stages.count - 1] = .sort(keys + before)
    return query
  }

  /// What sorts as a comparator does; with the property of the index that has its order.
  private func key<Comparator: SortComparator & Sendable>(
    _ comparator: Comparator, _ order: (ArchiveIndexComparators<Element>) -> SortOrder?
  ) -> ArchiveSortKey<Element> where Comparator.Compared == Element {
    for comparators in archive.indexes.lazy.flatMap(\.comparators) {
      guard let order = order(comparators) else { continue }
      var key = ArchiveSortKey<Element>(order: order) { a, b in
        // The comparator has its own direction.
        order == .forward ? comparator.compare(a, b) : comparator.compare(b, a)
      }
      key.keyPath = comparators.keyPath
      return key
    }
    return ArchiveSortKey(order: .forward) { comparator.compare($0, $1) }
  }
}
