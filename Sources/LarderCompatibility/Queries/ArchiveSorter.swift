// SPDX-License-Identifier: MIT

public import Foundation
import Larder

/// In which direction elements are sorted.
///
/// **Concurrency.** A value; safe to pass between threads.
public enum ArchiveOrder: Sendable, Hashable, CaseIterable {
  /// The least first; nil before everything else, false before true.
  case ascending
  /// The greatest first, and nil last.
  case descending

  var foundation: SortOrder { self == .ascending ? .forward : .reverse }
}

/// Properties that elements are sorted by, each for those that the ones before leave alike.
///
/// A closure gets one without properties, and names them:
///
/// ```swift
/// archive.sorted { $0.age(.descending).name(.ascending) }
/// archive.sorted { $0.by.name(.ascending).by.manual(.ascending) { a, b in compare(a, b) } }
/// ```
///
/// **Concurrency.** A value; safe to pass between threads.
@dynamicMemberLookup
public struct ArchiveSorter<Element: Sendable>: Sendable {
  var keys: [ArchiveSortKey<Element>] = []

  /// The sorter itself, for who likes to read it.
  public var by: ArchiveSorter { self }

  /// A property that is going to get its direction.
  ///
  /// - Parameter keyPath: Which property of the element.
  /// - Returns: The property, to be called with a direction.
  /// - Complexity: O(1).
  public subscript<Value: Sendable>(
    dynamicMember keyPath: any KeyPath<Element, Value> & Sendable
  ) -> Property<Value> {
    Property(sorter: self, keyPath: keyPath)
  }

  /// A property that is called like something of the sorter's own, or given by a key path.
  ///
  /// - Parameter keyPath: Which property of the element.
  /// - Returns: The property, to be called with a direction.
  /// - Complexity: O(1).
  public subscript<Value: Sendable>(
    _ keyPath: any KeyPath<Element, Value> & Sendable
  ) -> Property<Value> {
    Property(sorter: self, keyPath: keyPath)
  }

  /// Sorts by a comparison of whole elements. No index helps with it.
  ///
  /// - Parameters:
  ///   - order: Ascending is as the closure says.
  ///   - compare: How the first element relates to the second. It has to be an order: what
  ///     it calls less for two, and for the second and a third, it must for the first and the
  ///     third.
  /// - Returns: The sorter, for further properties.
  /// - Complexity: O(1).
  public func manual(
    _ order: ArchiveOrder, by compare: @escaping @Sendable (Element, Element) -> ComparisonResult
  ) -> ArchiveSorter {
    adding(ArchiveSortKey(order: order.foundation, compare: compare))
  }

  func adding(_ key: ArchiveSortKey<Element>) -> ArchiveSorter {
    var sorter = self
    sorter.keys.append(key)
    return sorter
  }

  /// A property that is going to get its direction.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  @dynamicMemberLookup
  public struct Property<Value: Sendable>: Sendable {
    let sorter: ArchiveSorter
    let keyPath: any KeyPath<Element, Value> & Sendable

    /// A property of the property.
    ///
    /// - Parameter inner: Which one.
    /// - Returns: The property, to be called with a direction.
    /// - Complexity: O(1).
    public subscript<Inner: Sendable>(
      dynamicMember inner: any KeyPath<Value, Inner> & Sendable
    ) -> ArchiveSorter.Property<Inner> {
      ArchiveSorter.Property(
        sorter: sorter, keyPath: ArchiveProperty(keyPath)[dynamicMember: inner].keyPath)
    }
  }
}

extension ArchiveSorter where Element: Identifiable, Element.ID: Sendable {
  /// The primary key, in the order of which elements are found without an index.
  public var id: Property<Element.ID> { Property(sorter: self, keyPath: \Element.id) }
}

extension ArchiveSorter.Property {
  /// Sorts by the property.
  ///
  /// - Parameter order: In which direction.
  /// - Returns: The sorter, for further properties.
  /// - Complexity: O(1).
  public func callAsFunction(_ order: ArchiveOrder) -> ArchiveSorter<Element>
  where Value: Comparable {
    sorter.adding(ArchiveSortKey(keyPath, order: order.foundation))
  }

  /// Sorts by the optional property: nil comes first when ascending.
  ///
  /// - Parameter order: In which direction.
  /// - Returns: The sorter, for further properties.
  /// - Complexity: O(1).
  public func callAsFunction<Wrapped: Comparable & Sendable>(
    _ order: ArchiveOrder
  ) -> ArchiveSorter<Element> where Value == Wrapped? {
    sorter.adding(ArchiveSortKey(keyPath, order: order.foundation))
  }

  /// Sorts by the property: false comes first when ascending.
  ///
  /// - Parameter order: In which direction.
  /// - Returns: The sorter, for further properties.
  /// - Complexity: O(1).
  public func callAsFunction(_ order: ArchiveOrder) -> ArchiveSorter<Element>
  where Value == Bool {
    sorter.adding(ArchiveSortKey(keyPath, order: order.foundation))
  }

  /// Sorts by the optional property: nil comes first when ascending, then false.
  ///
  /// - Parameter order: In which direction.
  /// - Returns: The sorter, for further properties.
  /// - Complexity: O(1).
  public func callAsFunction(_ order: ArchiveOrder) -> ArchiveSorter<Element>
  where Value == Bool? {
    sorter.adding(ArchiveSortKey(keyPath, order: order.foundation))
  }
}
