// SPDX-License-Identifier: MIT

public import Foundation

/// One thing that elements are sorted by.
@usableFromInline
package struct ArchiveSortKey<Element: Sendable>: Sendable {
  /// The property, if an index of it has the order that is wanted.
  @usableFromInline var keyPath: (any PartialKeyPath<Element> & Sendable)?
  @usableFromInline let order: SortOrder
  /// In ascending order.
  @usableFromInline let compareAscending: @Sendable (Element, Element) -> ComparisonResult

  @inlinable
  package init(
    order: SortOrder,
    compare: @escaping @Sendable (Element, Element) -> ComparisonResult
  ) {
    self.order = order
    compareAscending = compare
  }

  @inlinable
  init<Value: Sendable>(
    _ keyPath: any KeyPath<Element, Value> & Sendable, order: SortOrder,
    compare: @escaping @Sendable (Value, Value) -> ComparisonResult
  ) {
    self.keyPath = keyPath
    self.order = order
    let read = ArchiveKeyPaths.reader(keyPath)
    compareAscending = { compare(read($0), read($1)) }
  }

  @inlinable
  package init<Value: Comparable & Sendable>(
    _ keyPath: any KeyPath<Element, Value> & Sendable, order: SortOrder
  ) {
    self.init(keyPath, order: order) { ArchiveComparison.compare($0, $1) }
  }

  /// nil comes first.
  @inlinable
  package init<Value: Comparable & Sendable>(
    _ keyPath: any KeyPath<Element, Value?> & Sendable, order: SortOrder
  ) {
    self.init(keyPath, order: order) { ArchiveComparison.compareOptional($0, $1) }
  }

  /// false comes first.
  @inlinable
  package init(_ keyPath: any KeyPath<Element, Bool> & Sendable, order: SortOrder) {
    self.init(keyPath, order: order) { ArchiveComparison.compare($0 ? 1 : 0, $1 ? 1 : 0) }
  }

  /// nil comes first, then false.
  @inlinable
  package init(_ keyPath: any KeyPath<Element, Bool?> & Sendable, order: SortOrder) {
    self.init(keyPath, order: order) {
      ArchiveComparison.compareOptional($0.map { $0 ? 1 : 0 }, $1.map { $0 ? 1 : 0 })
    }
  }

  func compare(_ a: Element, _ b: Element) -> ComparisonResult {
    switch order {
    case .forward: compareAscending(a, b)
    case .reverse: compareAscending(b, a)
    }
  }
}

/// Comparisons that are an order whatever they are given.
@usableFromInline
enum ArchiveComparison {
  /// What is neither less nor equal nor greater (not-a-number) comes behind everything else,
  /// as it does in an index.
  @inlinable
  static func compare<Value: Comparable>(_ a: Value, _ b: Value) -> ComparisonResult {
    if a < b { return .orderedAscending }
    if b < a { return .orderedDescending }
    if a == b { return .orderedSame }
    let isAOutside = !(a == a)
    let isBOutside = !(b == b)
    if isAOutside == isBOutside { return .orderedSame }
    return isAOutside ? .orderedDescending : .orderedAscending
  }

  /// nil comes before everything else, as it does in an index.
  @inlinable
  static func compareOptional<Value: Comparable>(_ a: Value?, _ b: Value?) -> ComparisonResult {
    switch (a, b) {
    case (nil, nil): .orderedSame
    case (nil, _): .orderedAscending
    case (_, nil): .orderedDescending
    case (let a?, let b?): compare(a, b)
    }
  }
}
