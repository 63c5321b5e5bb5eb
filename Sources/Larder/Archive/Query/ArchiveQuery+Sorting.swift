// SPDX-License-Identifier: MIT

public import Foundation

extension ArchiveQuery {
  /// Sorts by properties, each for the elements that those before leave alike.
  ///
  /// - Parameter properties: Gets a sorter without properties, and adds some.
  /// - Returns: The query, longer by a stage. An index of the first property helps.
  /// - Complexity: O(1).
  public func sorted(
    _ properties: (ArchiveSorter<Element>) -> ArchiveSorter<Element>
  ) -> ArchiveQuery {
    adding(.sort(properties(ArchiveSorter()).keys))
  }

  /// Sorts by one property.
  ///
  /// - Parameters:
  ///   - property: Which one.
  ///   - order: In which direction; ascending by default.
  /// - Returns: The query, longer by a stage. An index of the property helps.
  /// - Complexity: O(1).
  public func sorted<Value: Comparable & Sendable>(
    by property: any KeyPath<Element, Value> & Sendable, order: ArchiveOrder = .ascending
  ) -> ArchiveQuery {
    sorted { $0[property](order) }
  }

  /// Sorts by one optional property: nil comes first when ascending.
  ///
  /// - Parameters:
  ///   - property: Which one.
  ///   - order: In which direction; ascending by default.
  /// - Returns: The query, longer by a stage. An index of the property helps.
  /// - Complexity: O(1).
  public func sorted<Value: Comparable & Sendable>(
    by property: any KeyPath<Element, Value?> & Sendable, order: ArchiveOrder = .ascending
  ) -> ArchiveQuery {
    sorted { $0[property](order) }
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
    sorted {
      $0.manual(.ascending) { a, b in
        if areInIncreasingOrder(a, b) { return .orderedAscending }
        return areInIncreasingOrder(b, a) ? .orderedDescending : .orderedSame
      }
    }
  }

  /// Sorts as Foundation's descriptors say, each for the elements that those before leave
  /// alike.
  ///
  /// - Parameter descriptors: What to sort by; the order stays as it is if there are none.
  /// - Returns: The query, longer by a stage. An index of the first property helps, unless
  ///   the descriptor has a comparator of its own for texts.
  /// - Complexity: O(descriptors).
  public func sorted(using descriptors: [SortDescriptor<Element>]) -> ArchiveQuery {
    adding(
      .sort(
        descriptors.map { descriptor in
          key(descriptor) { $0.order(of: descriptor) }
        }))
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
    return adding(.sort([key]))
  }

  /// What sorts as a comparator does; with the property of the index that has its order.
  private func key<Comparator: SortComparator & Sendable>(
    _ comparator: Comparator, _ order: (ArchiveIndexComparators<Element>) -> ArchiveOrder?
  ) -> ArchiveSortKey<Element> where Comparator.Compared == Element {
    for comparators in archive.indexes.lazy.flatMap(\.comparators) {
      guard let order = order(comparators) else { continue }
      var key = ArchiveSortKey<Element>(order: order) { a, b in
        // The comparator has its own direction.
        order == .ascending ? comparator.compare(a, b) : comparator.compare(b, a)
      }
      key.keyPath = comparators.keyPath
      return key
    }
    return ArchiveSortKey(order: .ascending) { comparator.compare($0, $1) }
  }
}
