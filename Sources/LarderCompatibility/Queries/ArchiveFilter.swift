// SPDX-License-Identifier: MIT

import Larder

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
  var conditions: [ArchiveCondition<Element>] = []

  /// A property that is going to get its condition.
  ///
  /// - Parameter keyPath: Which property of the element.
  /// - Returns: The property, to be called with a condition.
  /// - Complexity: O(1).
  public subscript<Value: Sendable>(
    dynamicMember keyPath: any KeyPath<Element, Value> & Sendable
  ) -> Property<Value> {
    Property(filter: self, property: ArchiveProperty(keyPath))
  }

  /// A property that is called like something of the filter's own, or given by a key path.
  ///
  /// - Parameter keyPath: Which property of the element.
  /// - Returns: The property, to be called with a condition.
  /// - Complexity: O(1).
  public subscript<Value: Sendable>(
    _ keyPath: any KeyPath<Element, Value> & Sendable
  ) -> Property<Value> {
    Property(filter: self, property: ArchiveProperty(keyPath))
  }

  /// A property that is going to get its condition.
  ///
  /// **Concurrency.** A value; safe to pass between threads.
  @dynamicMemberLookup
  public struct Property<Value: Sendable>: Sendable {
    fileprivate let filter: ArchiveFilter
    fileprivate let property: ArchiveProperty<Element, Value>

    /// Adds a condition to the filter.
    ///
    /// - Parameter condition: What the property has to be.
    /// - Returns: The filter, for further properties.
    /// - Complexity: O(1).
    public func callAsFunction(_ condition: ArchiveFilterCondition<Value>) -> ArchiveFilter {
      var filter = filter
      filter.conditions.append(property.meets(condition.condition))
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
      ArchiveFilter.Property<Inner>(filter: filter, property: property[dynamicMember: inner])
    }
  }
}

extension ArchiveFilter where Element: Identifiable, Element.ID: Sendable {
  /// The primary key, which elements are found by without an index.
  public var id: Property<Element.ID> {
    Property(filter: self, property: ArchiveProperty(\Element.id))
  }
}
