// SPDX-License-Identifier: MIT

// Key paths compared as they are: `books.where(\.year > 1800 && \.author == "Ada")`.

/// Elements whose property has that value.
///
/// - Parameters:
///   - property: The property.
///   - value: What it has to equal; nil is possible for an optional one.
/// - Returns: A condition. An index helps.
/// - Complexity: O(1).
@inlinable
public func == <Element: Sendable, Value: Equatable & Sendable>(
  property: any KeyPath<Element, Value> & Sendable, value: Value
) -> ArchiveCondition<Element> {
  ArchiveProperty(property) == value
}

/// Elements whose property has any other value.
///
/// - Parameters:
///   - property: The property.
///   - value: What it must not equal; nil is possible for an optional one.
/// - Returns: A condition. An index helps.
/// - Complexity: O(1).
@inlinable
public func != <Element: Sendable, Value: Equatable & Sendable>(
  property: any KeyPath<Element, Value> & Sendable, value: Value
) -> ArchiveCondition<Element> {
  ArchiveProperty(property) != value
}

/// Elements whose property is below a bound.
///
/// - Parameters:
///   - property: The property.
///   - value: The bound, which does not belong to it.
/// - Returns: A condition. An index helps.
/// - Complexity: O(1).
@inlinable
public func < <Element: Sendable, Value: Comparable & Sendable>(
  property: any KeyPath<Element, Value> & Sendable, value: Value
) -> ArchiveCondition<Element> {
  ArchiveProperty(property) < value
}

/// Elements whose optional property is below a bound; nil is not.
///
/// - Parameters:
///   - property: The property.
///   - value: The bound, which does not belong to it.
/// - Returns: A condition. An index helps.
/// - Complexity: O(1).
@inlinable
public func < <Element: Sendable, Value: Comparable & Sendable>(
  property: any KeyPath<Element, Value?> & Sendable, value: Value
) -> ArchiveCondition<Element> {
  ArchiveProperty(property) < value
}

/// Elements whose property is a bound or below it.
///
/// - Parameters:
///   - property: The property.
///   - value: The bound.
/// - Returns: A condition. An index helps.
/// - Complexity: O(1).
@inlinable
public func <= <Element: Sendable, Value: Comparable & Sendable>(
  property: any KeyPath<Element, Value> & Sendable, value: Value
) -> ArchiveCondition<Element> {
  ArchiveProperty(property) <= value
}

/// Elements whose optional property is a bound or below it; nil is not.
///
/// - Parameters:
///   - property: The property.
///   - value: The bound.
/// - Returns: A condition. An index helps.
/// - Complexity: O(1).
@inlinable
public func <= <Element: Sendable, Value: Comparable & Sendable>(
  property: any KeyPath<Element, Value?> & Sendable, value: Value
) -> ArchiveCondition<Element> {
  ArchiveProperty(property) <= value
}

/// Elements whose property is above a bound.
///
/// - Parameters:
///   - property: The property.
///   - value: The bound, which does not belong to it.
/// - Returns: A condition. An index helps.
/// - Complexity: O(1).
@inlinable
public func > <Element: Sendable, Value: Comparable & Sendable>(
  property: any KeyPath<Element, Value> & Sendable, value: Value
) -> ArchiveCondition<Element> {
  ArchiveProperty(property) > value
}

/// Elements whose optional property is above a bound; nil is not.
///
/// - Parameters:
///   - property: The property.
///   - value: The bound, which does not belong to it.
/// - Returns: A condition. An index helps.
/// - Complexity: O(1).
@inlinable
public func > <Element: Sendable, Value: Comparable & Sendable>(
  property: any KeyPath<Element, Value?> & Sendable, value: Value
) -> ArchiveCondition<Element> {
  ArchiveProperty(property) > value
}

/// Elements whose property is a bound or above it.
///
/// - Parameters:
///   - property: The property.
///   - value: The bound.
/// - Returns: A condition. An index helps.
/// - Complexity: O(1).
@inlinable
public func >= <Element: Sendable, Value: Comparable & Sendable>(
  property: any KeyPath<Element, Value> & Sendable, value: Value
) -> ArchiveCondition<Element> {
  ArchiveProperty(property) >= value
}

/// Elements whose optional property is a bound or above it; nil is not.
///
/// - Parameters:
///   - property: The property.
///   - value: The bound.
/// - Returns: A condition. An index helps.
/// - Complexity: O(1).
@inlinable
public func >= <Element: Sendable, Value: Comparable & Sendable>(
  property: any KeyPath<Element, Value?> & Sendable, value: Value
) -> ArchiveCondition<Element> {
  ArchiveProperty(property) >= value
}
